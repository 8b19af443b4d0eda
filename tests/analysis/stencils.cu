// SPDX-License-Identifier: Apache-2.0
// Larger kernels, as simulations have them: lattices in one index, many neighbours, many periodic wraps.
// launch lattice grid 24 1 1 block 64 1 1 args p:6144 p:6144 i32:8 i32:6 i32:4 i32:8
// launch boltzmann grid 2 3 3 block 8 2 2 args p:36480 p:36480 i32:16 i32:6 i32:5
// launch staggered grid 3 5 1 block 16 4 1 args p:8192 p:8192 p:8192 p:8192 p:8192 p:8192 i32:36 i32:18 f64:0.5 f64:2
// launch high_order grid 2 3 2 block 16 4 4 args p:65536 p:65536 i32:30 i32:12 i32:8 f32:1 f32:2 f32:3 f32:4
// launch matrix grid 2 2 1 block 8 8 1 args p:1024 p:1024 p:1024 i32:16
// launch restrict_grid grid 1 2 1 block 16 8 1 args p:8192 p:8192 i32:15 i32:13
// launch flat_3d grid 5 1 1 block 64 1 1 args p:4096 p:4096 i32:9 i32:7 i32:5

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL lattice(float *out, const float *in, int nx, int ny, int nz, int nt)
{
    int i = INDEX;
    if (i >= nx * ny * nz * nt) return;
    int x = i % nx, y = i / nx % ny, z = i / (nx * ny) % nz, t = i / (nx * ny * nz);
    int east = (x + 1) % nx - x, north = (y + 1) % ny - y, up = (z + 1) % nz - z, next = (t + 1) % nt - t;
    int west = (x + nx - 1) % nx - x, south = y == 0 ? ny - 1 : -1, down = z > 0 ? -1 : nz - 1;
    out[i] = in[i + east] + in[i + west] + in[i + north * nx] + in[i + south * nx] + in[i + up * nx * ny] +
             in[i + down * nx * ny] + in[i + next * nx * ny * nz];
}

KERNEL boltzmann(float *out, const float *in, int nx, int ny, int nz)
{
    const int cx[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    const int cy[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    const int cz[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    float f[19], sum = 0;
#pragma unroll
    for (int q = 0; q < 19; q++) {
        int sx = (x - cx[q] + nx) % nx, sy = (y - cy[q] + ny) % ny, sz = (z - cz[q] + nz) % nz;
        f[q] = in[((q * nz + sz) * ny + sy) * nx + sx];
        sum += f[q];
    }
#pragma unroll
    for (int q = 0; q < 19; q++) out[((q * nz + z) * ny + y) * nx + x] = f[q] - 0.05f * (f[q] - sum / 19);
}

KERNEL staggered(double *cu, double *cv, double *z, const double *p, const double *u, const double *v, int nx, int ny,
                 double fsdx, double fsdy)
{
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int ip = i + 1 == nx ? 0 : i + 1, jp = j + 1 == ny ? 0 : j + 1;
    int here = j * nx + i, east = j * nx + ip, north = jp * nx + i, both = jp * nx + ip;
    cu[east] = 0.5 * (p[east] + p[here]) * u[east];
    cv[north] = 0.5 * (p[north] + p[here]) * v[north];
    z[both] = (fsdx * (v[both] - v[north]) - fsdy * (u[both] - u[east])) / (p[here] + p[east] + p[both] + p[north]);
}

KERNEL high_order(float *out, const float *in, int nx, int ny, int nz, float c0, float c1, float c2, float c3)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 3 || y < 3 || z < 3 || x >= nx - 3 || y >= ny - 3 || z >= nz - 3) return;
    size_t row = nx, plane = row * ny, i = z * plane + y * row + x;
    float sum = c0 * in[i];
    const float c[3] = {c1, c2, c3};
#pragma unroll
    for (int k = 1; k <= 3; k++)
        sum += c[k - 1] * (in[i - k] + in[i + k] + in[i - k * row] + in[i + k * row] + in[i - k * plane] + in[i + k * plane]);
    out[i] = sum;
}

KERNEL matrix(float *c, const float *a, const float *b, int n)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

KERNEL restrict_grid(float *coarse, const float *fine, int nx, int ny)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y, width = 2 * nx + 1;
    if (x >= nx || y >= ny) return;
    int i = (2 * y + 1) * width + 2 * x + 1;
    coarse[y * nx + x] = 0.25f * (fine[i - 1] + fine[i + 1] + fine[i - width] + fine[i + width]);
}

KERNEL flat_3d(float *out, const float *in, int nx, int ny, int nz)
{
    int i = INDEX, x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    if (z >= nz) return;
    float sum = 0;
    if (x > 0) sum += in[i - 1];
    if (x < nx - 1) sum += in[i + 1];
    if (y > 0) sum += in[i - nx];
    if (y < ny - 1) sum += in[i + nx];
    if (z > 0) sum += in[i - nx * ny];
    if (z < nz - 1) sum += in[i + nx * ny];
    out[i] = sum;
}

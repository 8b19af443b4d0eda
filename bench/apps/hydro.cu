/* SPDX-License-Identifier: Apache-2.0 */
// 2-D compressible hydrodynamics on a staggered grid
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CUDA_CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define H 2
#define IDX(i, j) ((j) * pitch + (i))
#define BX 32
#define BY 4

__global__ void ideal_gas(int nx, int ny, int pitch, const double *density, const double *energy, double *pressure, double *soundspeed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        double v = 1.0 / density[IDX(i, j)];
        double p = (1.4 - 1.0) * density[IDX(i, j)] * energy[IDX(i, j)];
        double pbye = (1.4 - 1.0) * density[IDX(i, j)];
        double pbyv = -density[IDX(i, j)] * p * v;
        double ss2 = v * v * (p * pbye - pbyv);
        pressure[IDX(i, j)] = p;
        soundspeed[IDX(i, j)] = sqrt(ss2);
    }
}

__global__ void viscosity_kernel(int nx, int ny, int pitch, double dx, double dy, const double *density, const double *xvel, const double *yvel, double *visc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        double ug = (xvel[IDX(i + 1, j)] + xvel[IDX(i + 1, j + 1)]) - (xvel[IDX(i, j)] + xvel[IDX(i, j + 1)]);
        double vg = (yvel[IDX(i, j + 1)] + yvel[IDX(i + 1, j + 1)]) - (yvel[IDX(i, j)] + yvel[IDX(i + 1, j)]);
        double div = dx * ug + dy * vg;
        double q = 0.0;
        if (div < 0.0)
            q = 2.0 * density[IDX(i, j)] * div * div * 0.01;
        visc[IDX(i, j)] = q;
    }
}

__global__ void calc_dt(int nx, int ny, int pitch, double dx, const double *ss, const double *visc, const double *density, const double *xvel, const double *yvel, double *block_min)
{
    __shared__ double s[BX * BY];
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    int t = threadIdx.y * BX + threadIdx.x;
    s[t] = 1e10;
    if (i < nx + H && j < ny + H) {
        double cc = sqrt(ss[IDX(i, j)] * ss[IDX(i, j)] + 2.0 * visc[IDX(i, j)] / density[IDX(i, j)]);
        double u = fmax(fabs(xvel[IDX(i, j)]), fabs(yvel[IDX(i, j)]));
        s[t] = 0.5 * dx / (cc + u + 1e-10);
    }
    __syncthreads();
    for (int o = BX * BY / 2; o > 0; o >>= 1) {
        if (t < o)
            s[t] = fmin(s[t], s[t + o]);
        __syncthreads();
    }
    if (t == 0)
        block_min[blockIdx.y * gridDim.x + blockIdx.x] = s[0];
}

__global__ void reduce_min(int n, const double *in, double *out)
{
    __shared__ double s[256];
    double m = 1e10;
    for (int i = threadIdx.x; i < n; i += 256)
        m = fmin(m, in[i]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (threadIdx.x < o)
            s[threadIdx.x] = fmin(s[threadIdx.x], s[threadIdx.x + o]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = s[0];
}

__global__ void pdv_kernel(int nx, int ny, int pitch, double dt, double vol, const double *xvel, const double *yvel, const double *density0, double *density1, const double *energy0, double *energy1, const double *pressure, const double *visc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        double l = 0.25 * dt * (xvel[IDX(i, j)] + xvel[IDX(i, j + 1)]);
        double r = 0.25 * dt * (xvel[IDX(i + 1, j)] + xvel[IDX(i + 1, j + 1)]);
        double b = 0.25 * dt * (yvel[IDX(i, j)] + yvel[IDX(i + 1, j)]);
        double t = 0.25 * dt * (yvel[IDX(i, j + 1)] + yvel[IDX(i + 1, j + 1)]);
        double total = r - l + t - b;
        double volume_change = vol / (vol + total);
        double e = (pressure[IDX(i, j)] + visc[IDX(i, j)]) / density0[IDX(i, j)] * total / vol;
        energy1[IDX(i, j)] = energy0[IDX(i, j)] - e;
        density1[IDX(i, j)] = density0[IDX(i, j)] * volume_change;
    }
}

__global__ void accelerate_kernel(int nx, int ny, int pitch, double dt, const double *density, const double *pressure, const double *visc, double *xvel, double *yvel)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H + 1 && j < ny + H + 1) {
        double m = 0.25 * (density[IDX(i, j)] + density[IDX(i - 1, j)] + density[IDX(i, j - 1)] + density[IDX(i - 1, j - 1)]);
        double s = 0.5 * dt / m;
        double px = (pressure[IDX(i, j)] - pressure[IDX(i - 1, j)]) + (pressure[IDX(i, j - 1)] - pressure[IDX(i - 1, j - 1)]);
        double py = (pressure[IDX(i, j)] - pressure[IDX(i, j - 1)]) + (pressure[IDX(i - 1, j)] - pressure[IDX(i - 1, j - 1)]);
        double qx = (visc[IDX(i, j)] - visc[IDX(i - 1, j)]) + (visc[IDX(i, j - 1)] - visc[IDX(i - 1, j - 1)]);
        double qy = (visc[IDX(i, j)] - visc[IDX(i, j - 1)]) + (visc[IDX(i - 1, j)] - visc[IDX(i - 1, j - 1)]);
        xvel[IDX(i, j)] -= s * (px + qx);
        yvel[IDX(i, j)] -= s * (py + qy);
    }
}

__global__ void flux_calc(int nx, int ny, int pitch, double dt, const double *xvel, const double *yvel, double *fx, double *fy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H + 1 && j < ny + H + 1) {
        fx[IDX(i, j)] = 0.5 * dt * (xvel[IDX(i, j)] + xvel[IDX(i, j + 1)]);
        fy[IDX(i, j)] = 0.5 * dt * (yvel[IDX(i, j)] + yvel[IDX(i + 1, j)]);
    }
}

__global__ void advec_x_flux(int nx, int ny, int pitch, const double *vol_flux, const double *density, const double *energy, double *mass_flux, double *ener_flux)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H + 1 && j < ny + H) {
        int up, dn, don;
        if (vol_flux[IDX(i, j)] > 0.0) {
            up = i - 2; don = i - 1; dn = i;
        } else {
            up = min(i + 1, nx + H + 1); don = i; dn = i - 1;
        }
        double d1 = density[IDX(don, j)] - density[IDX(up, j)];
        double d2 = density[IDX(dn, j)] - density[IDX(don, j)];
        double lim = d1 * d2 > 0.0 ? fmin(fabs(d1), fabs(d2)) * copysign(0.5, d2) : 0.0;
        double m = vol_flux[IDX(i, j)] * (density[IDX(don, j)] + lim);
        mass_flux[IDX(i, j)] = m;
        ener_flux[IDX(i, j)] = m * energy[IDX(don, j)];
    }
}

__global__ void advec_x_update(int nx, int ny, int pitch, double vol, const double *vol_flux, const double *mass_flux, const double *ener_flux, double *density, double *energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        double pre = density[IDX(i, j)] * vol;
        double post = pre + mass_flux[IDX(i, j)] - mass_flux[IDX(i + 1, j)];
        double e = (energy[IDX(i, j)] * pre + ener_flux[IDX(i, j)] - ener_flux[IDX(i + 1, j)]) / post;
        double v = vol + vol_flux[IDX(i, j)] - vol_flux[IDX(i + 1, j)];
        density[IDX(i, j)] = post / v;
        energy[IDX(i, j)] = e;
    }
}

__global__ void advec_y_flux(int nx, int ny, int pitch, const double *vol_flux, const double *density, const double *energy, double *mass_flux, double *ener_flux)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H + 1) {
        int up, dn, don;
        if (vol_flux[IDX(i, j)] > 0.0) {
            up = j - 2; don = j - 1; dn = j;
        } else {
            up = min(j + 1, ny + H + 1); don = j; dn = j - 1;
        }
        double d1 = density[IDX(i, don)] - density[IDX(i, up)];
        double d2 = density[IDX(i, dn)] - density[IDX(i, don)];
        double lim = d1 * d2 > 0.0 ? fmin(fabs(d1), fabs(d2)) * copysign(0.5, d2) : 0.0;
        double m = vol_flux[IDX(i, j)] * (density[IDX(i, don)] + lim);
        mass_flux[IDX(i, j)] = m;
        ener_flux[IDX(i, j)] = m * energy[IDX(i, don)];
    }
}

__global__ void advec_y_update(int nx, int ny, int pitch, double vol, const double *vol_flux, const double *mass_flux, const double *ener_flux, double *density, double *energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        double pre = density[IDX(i, j)] * vol;
        double post = pre + mass_flux[IDX(i, j)] - mass_flux[IDX(i, j + 1)];
        double e = (energy[IDX(i, j)] * pre + ener_flux[IDX(i, j)] - ener_flux[IDX(i, j + 1)]) / post;
        double v = vol + vol_flux[IDX(i, j)] - vol_flux[IDX(i, j + 1)];
        density[IDX(i, j)] = post / v;
        energy[IDX(i, j)] = e;
    }
}

__global__ void reset_field(int nx, int ny, int pitch, const double *d1, double *d0, const double *e1, double *e0)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + H;
    int j = blockIdx.y * blockDim.y + threadIdx.y + H;
    if (i < nx + H && j < ny + H) {
        d0[IDX(i, j)] = d1[IDX(i, j)];
        e0[IDX(i, j)] = e1[IDX(i, j)];
    }
}

__global__ void update_halo_left(int nx, int ny, int pitch, int depth, double sign, double *f)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny + 2 * H)
        for (int k = 0; k < depth; k++)
            f[IDX(H - 1 - k, j)] = sign * f[IDX(H + k, j)];
}
__global__ void update_halo_right(int nx, int ny, int pitch, int depth, double sign, double *f)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny + 2 * H)
        for (int k = 0; k < depth; k++)
            f[IDX(nx + H + k, j)] = sign * f[IDX(nx + H - 1 - k, j)];
}
__global__ void update_halo_bottom(int nx, int ny, int pitch, int depth, double sign, double *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx + 2 * H)
        for (int k = 0; k < depth; k++)
            f[IDX(i, H - 1 - k)] = sign * f[IDX(i, H + k)];
}
__global__ void update_halo_top(int nx, int ny, int pitch, int depth, double sign, double *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx + 2 * H)
        for (int k = 0; k < depth; k++)
            f[IDX(i, ny + H + k)] = sign * f[IDX(i, ny + H - 1 - k)];
}

static int nx = 256, ny = 256, pitch;
static void halo(double *f, double sx, double sy)
{
    update_halo_left<<<(ny + 2 * H + 127) / 128, 128>>>(nx, ny, pitch, H, sx, f);
    update_halo_right<<<(ny + 2 * H + 127) / 128, 128>>>(nx, ny, pitch, H, sx, f);
    update_halo_bottom<<<(nx + 2 * H + 127) / 128, 128>>>(nx, ny, pitch, H, sy, f);
    update_halo_top<<<(nx + 2 * H + 127) / 128, 128>>>(nx, ny, pitch, H, sy, f);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10;
    if (argc > 2) nx = ny = atoi(argv[2]);
    pitch = nx + 2 * H + 1;
    size_t cells = (size_t)pitch * (ny + 2 * H + 1), bytes = cells * sizeof(double);
    double *f[14];
    for (auto &p : f) { CUDA_CHECK(cudaMalloc(&p, bytes)); CUDA_CHECK(cudaMemset(p, 0, bytes)); }
    double *d0 = f[0], *d1 = f[1], *e0 = f[2], *e1 = f[3], *p = f[4], *ss = f[5], *q = f[6], *u = f[7], *v = f[8], *vfx = f[9], *vfy = f[10], *mf = f[11], *ef = f[12];
    double *h = (double *)malloc(bytes), *hd = (double *)malloc(bytes);
    for (int j = 0; j < ny + 2 * H + 1; j++)
        for (int i = 0; i < pitch; i++) {
            bool in = i < nx / 3 && j < ny / 3;
            hd[IDX(i, j)] = in ? 1.0 : 0.2;
            h[IDX(i, j)] = in ? 2.5 : 1.0;
        }
    CUDA_CHECK(cudaMemcpy(d0, hd, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d1, hd, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(e0, h, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(e1, h, bytes, cudaMemcpyHostToDevice));
    dim3 block(BX, BY), grid((nx + 1 + BX - 1) / BX, (ny + 1 + BY - 1) / BY);
    double *bm, *dmin;
    CUDA_CHECK(cudaMalloc(&bm, grid.x * grid.y * sizeof(double)));
    CUDA_CHECK(cudaMalloc(&dmin, sizeof(double)));
    double dx = 10.0 / nx, vol = dx * dx, time = 0;
    for (int s = 0; s < steps; s++) {
        ideal_gas<<<grid, block>>>(nx, ny, pitch, d0, e0, p, ss);
        halo(p, 1, 1); halo(d0, 1, 1); halo(e0, 1, 1);
        viscosity_kernel<<<grid, block>>>(nx, ny, pitch, dx, dx, d0, u, v, q);
        halo(q, 1, 1);
        calc_dt<<<grid, block>>>(nx, ny, pitch, dx, ss, q, d0, u, v, bm);
        reduce_min<<<1, 256>>>(grid.x * grid.y, bm, dmin);
        double dt;
        CUDA_CHECK(cudaMemcpy(&dt, dmin, sizeof dt, cudaMemcpyDeviceToHost));
        dt = fmin(dt, 0.04) * dx;
        accelerate_kernel<<<grid, block>>>(nx, ny, pitch, dt / vol, d0, p, q, u, v);
        halo(u, -1, 1); halo(v, 1, -1);
        pdv_kernel<<<grid, block>>>(nx, ny, pitch, dt, vol, u, v, d0, d1, e0, e1, p, q);
        flux_calc<<<grid, block>>>(nx, ny, pitch, dt, u, v, vfx, vfy);
        halo(d1, 1, 1); halo(e1, 1, 1);
        advec_x_flux<<<grid, block>>>(nx, ny, pitch, vfx, d1, e1, mf, ef);
        advec_x_update<<<grid, block>>>(nx, ny, pitch, vol, vfx, mf, ef, d1, e1);
        halo(d1, 1, 1); halo(e1, 1, 1);
        advec_y_flux<<<grid, block>>>(nx, ny, pitch, vfy, d1, e1, mf, ef);
        advec_y_update<<<grid, block>>>(nx, ny, pitch, vol, vfy, mf, ef, d1, e1);
        reset_field<<<grid, block>>>(nx, ny, pitch, d1, d0, e1, e0);
        time += dt;
    }
    CUDA_CHECK(cudaMemcpy(h, e0, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(hd, d0, bytes, cudaMemcpyDeviceToHost));
    double se = 0, sd = 0;
    for (size_t i = 0; i < cells; i++) { se += h[i]; sd += hd[i]; }
    printf("time %.17g mass %.17g energy %.17g\n", time, sd, se);
    return 0;
}

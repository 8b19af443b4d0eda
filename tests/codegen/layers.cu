/* SPDX-License-Identifier: Apache-2.0
 * Fields of a few components, and what is computed once for all of them: a thread a component beside a thread a point.
 * layers.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o layers.ptx layers.cu                                              */
#define X      (blockIdx.x * blockDim.x + threadIdx.x)
#define Y      (blockIdx.y * blockDim.y + threadIdx.y)
#define Z      (blockIdx.z * blockDim.z + threadIdx.z)
#define NUMBER (blockIdx.x * blockDim.x + threadIdx.x)

/* Arrays of components, of which each has ny rows of `row`. */
#define AT(f, c, y, x, row) f[((c)*ny + (y)) * (row) + (x)]

/* --- a grid for x, y, and the component --- */

/* One thread writes four components, between the points of a row. */
__device__ __forceinline__ void flux_of(float *f, const float *s, int x, int y, int nx, int ny)
{
    float a = AT(s, 0, y, x, nx + 2) + AT(s, 0, y, x + 1, nx + 2), b = AT(s, 1, y, x, nx + 2);
    float c = AT(s, 2, y, x + 1, nx + 2), d = AT(s, 3, y, x, nx + 2) - AT(s, 3, y, x + 1, nx + 2);
    AT(f, 0, y, x, nx + 1) = a;
    AT(f, 1, y, x, nx + 1) = a + b;
    AT(f, 2, y, x, nx + 1) = a - c;
    AT(f, 3, y, x, nx + 1) = d;
}

extern "C" __global__ void fluxes(float *f, const float *s, int nx, int ny)
{
    int x = X, y = Y;
    if (x <= nx && y < ny) flux_of(f, s, x, y, nx, ny);
}

extern "C" __global__ void differences(float *t, const float *f, int nx, int ny)
{
    int x = X, y = Y, c = Z;
    if (x < nx && y < ny) AT(t, c, y, x, nx) = AT(f, c, y, x + 1, nx + 1) - AT(f, c, y, x, nx + 1);
}

extern "C" __global__ void apply(float *o, const float *s, const float *t, int nx, int ny)
{
    int x = X, y = Y, c = Z;
    if (x < nx && y < ny) AT(o, c, y, x + 1, nx + 2) = AT(s, c, y, x + 1, nx + 2) + AT(t, c, y, x, nx);
}

/* One value for all components, from a neighbour's */
extern "C" __global__ void total(float *m, const float *t, int nx, int ny)
{
    int x = X, y = Y;
    if (x >= nx || y >= ny) return;
    int w = x ? x - 1 : 0;
    m[y * nx + x] = AT(t, 0, y, x, nx) + AT(t, 1, y, w, nx) - AT(t, 2, y, x, nx);
}

extern "C" __global__ void share(float *t, const float *m, int nx, int ny)
{
    int x = X, y = Y, c = Z;
    if (x >= nx || y >= ny) return;
    int n = y ? y - 1 : ny - 1;
    AT(t, c, y, x, nx) = m[y * nx + x] + m[n * nx + x] + (float)c;
}

/* What another component has, the last one's being the first's, one point further on. */
extern "C" __global__ void next_of(float *o, const float *t, int nx, int ny, int layers)
{
    int x = X, y = Y, c = Z;
    if (x + 1 >= nx || y >= ny || c >= layers) return;
    int d = c + 1 == layers ? 0 : c + 1;
    AT(o, c, y, x, nx) = AT(t, d, y, x + 1, nx) - AT(t, c, y, x, nx);
}

/* Of one component, in place: no thread has the others'. */
extern "C" __global__ void first_of(float *t, int nx, int ny)
{
    int x = X, y = Y;
    if (x < nx && y < ny) AT(t, 0, y, x, nx) = AT(t, 0, y, x, nx) + AT(t, 2, y, x, nx);
}

/* Some points of all components have it. */
extern "C" __global__ void total_where(float *m, const float *t, int nx, int ny)
{
    int x = X, y = Y;
    if (x < nx && y < ny && AT(t, 1, y, x, nx) > 0) m[y * nx + x] = AT(t, 0, y, x, nx) + AT(t, 1, y, x, nx);
}

/* --- the same of a line of threads --- */
extern "C" __global__ void line_fluxes(float *f, const float *s, int nx, int ny)
{
    int i = NUMBER;
    if (i < (nx + 1) * ny) flux_of(f, s, i % (nx + 1), i / (nx + 1), nx, ny);
}

extern "C" __global__ void line_differences(float *t, const float *f, int nx, int ny)
{
    int i = NUMBER, x = i % nx, y = i / nx % ny, c = i / (nx * ny);
    if (i < 4 * nx * ny) AT(t, c, y, x, nx) = AT(f, c, y, x + 1, nx + 1) - AT(f, c, y, x, nx + 1);
}

/* Between the rows of a component: whoever has a thread a component jumps after whole layers alone. */
extern "C" __global__ void line_risings(float *f, const float *s, int nx, int ny)
{
    int i = NUMBER, x = i % nx, y = i / nx, plane = nx * (ny + 1);
    if (y > ny) return;
    float a = AT(s, 0, y, x + 1, nx + 2), b = AT(s, 1, y, x + 1, nx + 2);
    f[i] = a - b;
    f[plane + i] = a;
    f[2 * plane + i] = b;
    f[3 * plane + i] = a + b;
}

extern "C" __global__ void line_climbs(float *t, const float *f, int nx, int ny)
{
    int i = NUMBER, c = i / (nx * ny), plane = nx * (ny + 1), here = c * plane + i % (nx * ny);
    if (i < 4 * nx * ny) t[i] = f[here + nx] - f[here];
}

extern "C" __global__ void line_apply(float *o, const float *s, const float *t, int nx, int ny)
{
    int i = NUMBER, x = i % nx, y = i / nx % ny, c = i / (nx * ny);
    if (i < 4 * nx * ny) AT(o, c, y, x + 1, nx + 2) = AT(s, c, y, x + 1, nx + 2) + AT(t, c, y, x, nx);
}

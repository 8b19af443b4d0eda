/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose threads read what other threads of the kernel before wrote. stencils.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o stencils.ptx stencils.cu                                          */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define X INDEX
#define Y (blockIdx.y * blockDim.y + threadIdx.y)
#define Z (blockIdx.z * blockDim.z + threadIdx.z)

/* --- one dimension: interior, clamped, periodic --- */
extern "C" __global__ void scale(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * 1.5f;
}

extern "C" __global__ void middle(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i > 0 && i < n - 1) y[i] = x[i - 1] - x[i + 1];
}

extern "C" __global__ void clamped(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    int w = i < 3 ? 0 : i - 3, e = i + 2 < n ? i + 2 : n - 1;
    y[i] = x[w] + x[e];
}

extern "C" __global__ void periodic(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    int w = i == 0 ? n - 1 : i - 1, e = i == n - 1 ? 0 : i + 1;
    y[i] = x[w] - 0.5f * x[e];
}

extern "C" __global__ void in_place(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] + 1.0f;
}

extern "C" __global__ void mirror(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] + x[n - 1 - i];
}

extern "C" __global__ void every_second(float *y, const float *x, int n)
{
    int i = INDEX;
    if (2 * i + 1 < n) y[i] = x[2 * i] + x[2 * i + 1];
}

/* Where x is negative, y keeps what it had. */
extern "C" __global__ void where_positive(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n && x[i] > 0) y[i] = x[i];
}

extern "C" __global__ void two_halves(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    if (i < n / 2)
        y[i] = x[i] + 1.0f;
    else
        y[i] = x[i] - 1.0f;
}

/* Data decide of two stores, which write one element in the first thread alone. */
extern "C" __global__ void two_places(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    if (x[i] > 0) y[i] = x[i];
    if (x[i] < 0.5f) y[i ? n + i : 0] = x[i] * 0.25f;
}

extern "C" __global__ void places_beside(float *z, const float *y, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float sum = 0;
    if (i == 0) sum = y[0];
    if (i > 0 && i < n - 1) sum = y[i + 1] - y[n + i + 1];
    z[i] = sum;
}

extern "C" __global__ void count(int *x, const float *y, int n)
{
    int i = INDEX;
    if (i < n && y[i] > 0) atomicAdd(&x[i / 8], 1);
}

extern "C" __global__ void neighbours(int *y, const int *x, int n)
{
    int i = INDEX;
    if (i > 0 && i < n) y[i] = x[i] - x[i - 1];
}

/* Sets the edge of what `middle` leaves out. */
extern "C" __global__ void edges(float *y, int n)
{
    int i = INDEX;
    if (i == 0) y[0] = 0.25f;
    if (i == 1) y[n - 1] = 0.75f;
}

/* --- two and three dimensions --- */
extern "C" __global__ void across(double *t, const double *a, int n, int m)
{
    int x = X, y = Y;
    if (x < 1 || x >= n - 1 || y >= m) return;
    t[y * n + x] = (a[y * n + x - 1] + 2 * a[y * n + x] + a[y * n + x + 1]) * 0.25;
}

extern "C" __global__ void down(double *b, const double *t, int n, int m)
{
    int x = X, y = Y;
    if (x >= n || y < 1 || y >= m - 1) return;
    b[y * n + x] = (t[(y - 1) * n + x] + 2 * t[y * n + x] + t[(y + 1) * n + x]) * 0.25;
}

extern "C" __global__ void fluxes(double *f, double *g, const double *u, int n, int m)
{
    int x = X, y = Y;
    if (x >= n || y >= m) return;
    int w = x == 0 ? n - 1 : x - 1, s = y == 0 ? m - 1 : y - 1;
    f[y * n + x] = u[y * n + x] * u[y * n + w];
    g[y * n + x] = u[y * n + x] - u[s * n + x];
}

extern "C" __global__ void update(double *v, const double *f, const double *g, const double *u, int n, int m)
{
    int x = X, y = Y;
    if (x >= n || y >= m) return;
    int e = x == n - 1 ? 0 : x + 1, o = y == m - 1 ? 0 : y + 1;
    v[y * n + x] = u[y * n + x] + 0.1 * (f[y * n + e] - f[y * n + x] + g[o * n + x] - g[o * n + e]);
}

extern "C" __global__ void square(float *b, const float *a, int n)
{
    int x = X, y = Y, z = Z;
    if (x < n && y < n && z < n) b[(z * n + y) * n + x] = a[(z * n + y) * n + x] * a[(z * n + y) * n + x];
}

extern "C" __global__ void seven_points(float *b, const float *a, int n)
{
    int x = X, y = Y, z = Z, i = (z * n + y) * n + x;
    if (x < 1 || x >= n - 1 || y < 1 || y >= n - 1 || z < 1 || z >= n - 1) return;
    b[i] = a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] + a[i + n * n] - 6 * a[i];
}

extern "C" __global__ void nearly_clamped(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i > 0 ? i - 1 : 0] + x[i < n - 1 ? i + 1 : n - 1];
}

extern "C" __global__ void modular(float *y, const float *x, unsigned n)
{
    unsigned i = INDEX;
    if (i < n) y[i] = x[(i + 1) % n] - x[(i + n - 1) % n];
}

extern "C" __global__ void relax(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] + 0.5f * y[i];
}

/* A store through a generic address goes to a local array, as unoptimised code does it. */
extern "C" __global__ void scrambled(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float part[8];
    for (int k = 0; k < 8; k++) part[k] = x[i] * k;
    float *generic;
    asm volatile("mov.u64 %0, %1;" : "=l"(generic) : "l"(part));
    asm volatile("st.f32 [%0], %1;" ::"l"(generic + (i & 7)), "f"(9.0f) : "memory");
    y[i] = part[(i >> 3) & 7] + part[i & 7];
}

extern "C" __global__ void twice(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    y[i] = x[i];
    asm volatile("" ::: "memory");
    if (i > 5) y[i] = x[i] * x[i];
}

/* --- what overwrites --- */
extern "C" __global__ void write_and_read(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i >= n) return;
    y[i] = x[i] + 2.0f;
    asm volatile("" ::: "memory");
    y[i] = y[i] * 0.5f;
}

extern "C" __global__ void add_all(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) atomicAdd(&y[i], x[i]);
}

/* The same by other threads, which lie far from what they write. */
extern "C" __global__ void edges_by_others(float *y, int n)
{
    int i = INDEX;
    if (i == 5) y[0] = 0.25f;
    if (i == 6) y[n - 1] = 0.75f;
}

/* Away from the edges the device's approximation is of a constant, which an assembler may compute itself. */
extern "C" __global__ void approximated(float *y, const float *x, const float *edge, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float factor = 0.3f, sum, power;
    if (i < 1 || i >= n - 1) {
        factor = edge[i];
        sum = x[i];
    } else {
        sum = x[i - 1] + x[i + 1];
    }
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(factor));
    y[i] = sum * power;
}

/* Periodic along y; nothing that could be contracted. */
extern "C" __global__ void around(double *b, const double *t, int n, int m)
{
    int x = X, y = Y;
    if (x >= n || y >= m) return;
    int s = y == 0 ? m - 1 : y - 1, o = y == m - 1 ? 0 : y + 1;
    b[y * n + x] = t[s * n + x] + t[o * n + x] - t[y * n + x];
}

/* --- neighbours that the data choose --- */
extern "C" __global__ void upwind(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i > 0 && i < n - 1) y[i] = x[i] * x[x[i] > 0.0f ? i - 1 : i + 1];
}

extern "C" __global__ void limited(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < 2 || i >= n - 1) return;
    int up, donor, down;
    float speed = x[i];
    if (speed > 0.25f) {
        up = i - 2;
        donor = i - 1;
        down = i;
    } else {
        up = min(i + 1, n - 1);
        donor = i;
        down = i - 1;
    }
    float slope = x[donor] - x[up], next = x[down] - x[donor];
    y[i] = speed * (slope * next > 0.0f ? x[donor] + fminf(slope, next) : x[donor]);
}

extern "C" __global__ void levels_upwind(float *y, const float *x, int n, int levels)
{
    int i = INDEX;
    if (i < 1 || i >= n - 1) return;
    for (int k = 0; k < levels; k++) {
        float speed = x[k * n + i];
        y[k * n + i] = speed - x[k * n + (speed > 0.5f ? i - 1 : i)];
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
// direction-split MHD-like / shallow water, MUSCL: the same kernels for x and y through strides, and a transposed y pass
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
const int NG = 3;
struct Vars { double *h, *hu, *hv; };

__global__ void to_prim(Vars q, Vars p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { double r = 1.0 / q.h[i]; p.h[i] = q.h[i]; p.hu[i] = q.hu[i] * r; p.hv[i] = q.hv[i] * r; }
}
__device__ double minmod(double a, double b) { return a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b; }
__global__ void slopes(const double *w, double *dw, int n1, int n2, int s1, int s2)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
    if (a < 1 || a >= n1 - 1 || b >= n2) return;
    int c = a * s1 + b * s2;
    dw[c] = minmod(w[c] - w[c - s1], w[c + s1] - w[c]);
}
__global__ void riemann(Vars p, Vars d, Vars f, int n1, int n2, int s1, int s2, double *un, double *ut, double *dun, double *dut)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
    if (a < 2 || a >= n1 - 1 || b >= n2) return;
    int c = a * s1 + b * s2, l = c - s1;
    double hl = p.h[l] + 0.5 * d.h[l], hr = p.h[c] - 0.5 * d.h[c];
    double ul = un[l] + 0.5 * dun[l], ur = un[c] - 0.5 * dun[c], vl = ut[l] + 0.5 * dut[l], vr = ut[c] - 0.5 * dut[c];
    double cl = sqrt(9.81 * hl), cr = sqrt(9.81 * hr), s = fmax(fabs(ul) + cl, fabs(ur) + cr);
    f.h[c] = 0.5 * (hl * ul + hr * ur) - 0.5 * s * (hr - hl);
    f.hu[c] = 0.5 * (hl * ul * ul + 4.905 * hl * hl + hr * ur * ur + 4.905 * hr * hr) - 0.5 * s * (hr * ur - hl * ul);
    f.hv[c] = 0.5 * (hl * ul * vl + hr * ur * vr) - 0.5 * s * (hr * vr - hl * vl);
}
__global__ void advance(double *h, double *qn, double *qt, Vars f, int n1, int n2, int s1, int s2, double lam)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
    if (a < NG || a >= n1 - NG || b < NG || b >= n2 - NG) return;
    int c = a * s1 + b * s2;
    h[c] -= lam * (f.h[c + s1] - f.h[c]);
    qn[c] -= lam * (f.hu[c + s1] - f.hu[c]);
    qt[c] -= lam * (f.hv[c + s1] - f.hv[c]);
}
__global__ void transpose3(const double *in, double *out, int w, int h)
{
    __shared__ double tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void periodic(Vars q, int n1, int n2, int s1, int s2)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x, g = threadIdx.y;
    if (b >= n2) return;
    int lo = g * s1 + b * s2, los = (n1 - 2 * NG + g) * s1 + b * s2, hi = (n1 - NG + g) * s1 + b * s2, his = (NG + g) * s1 + b * s2;
    q.h[lo] = q.h[los]; q.hu[lo] = q.hu[los]; q.hv[lo] = q.hv[los];
    q.h[hi] = q.h[his]; q.hu[hi] = q.hu[his]; q.hv[hi] = q.hv[his];
}
static Vars alloc(size_t n) { Vars v; cudaMalloc(&v.h, n * 8); cudaMalloc(&v.hu, n * 8); cudaMalloc(&v.hv, n * 8); cudaMemset(v.h, 0, n * 8); cudaMemset(v.hu, 0, n * 8); cudaMemset(v.hv, 0, n * 8); return v; }
static void sweep(Vars q, Vars p, Vars d, Vars f, int n1, int n2, int s1, int s2, bool swap, double lam)
{
    dim3 b(s1 == 1 ? 32 : 8, s1 == 1 ? 8 : 32), g((n1 + b.x - 1) / b.x, (n2 + b.y - 1) / b.y);
    periodic<<<(n2 + 63) / 64, dim3(64, NG)>>>(q, n1, n2, s1, s2);
    to_prim<<<(n1 * n2 + 255) / 256, 256>>>(q, p, n1 * n2);
    slopes<<<g, b>>>(p.h, d.h, n1, n2, s1, s2); slopes<<<g, b>>>(p.hu, d.hu, n1, n2, s1, s2); slopes<<<g, b>>>(p.hv, d.hv, n1, n2, s1, s2);
    riemann<<<g, b>>>(p, d, f, n1, n2, s1, s2, swap ? p.hv : p.hu, swap ? p.hu : p.hv, swap ? d.hv : d.hu, swap ? d.hu : d.hv);
    advance<<<g, b>>>(q.h, swap ? q.hv : q.hu, swap ? q.hu : q.hv, f, n1, n2, s1, s2, lam);
}
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 6, m = argc > 2 ? atoi(argv[2]) : 192, n = m + 2 * NG; size_t cells = (size_t)n * n;
    Vars q = alloc(cells), p = alloc(cells), d = alloc(cells), f = alloc(cells), qt = alloc(cells);
    double *h = (double *)malloc(cells * 8);
    for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) h[j * n + i] = 1 + 0.3 * exp(-((i - n / 2) * (i - n / 2) + (j - n / 3) * (j - n / 3)) / 200.0);
    cudaMemcpy(q.h, h, cells * 8, cudaMemcpyHostToDevice);
    dim3 tb(16, 16), tg((n + 15) / 16, (n + 15) / 16);
    for (int s = 0; s < steps; s++) {
        sweep(q, p, d, f, n, n, 1, n, false, 0.05);
        if (s % 2 == 0)
            sweep(q, p, d, f, n, n, n, 1, true, 0.05);
        else { // transposed, as the other code path
            transpose3<<<tg, tb>>>(q.h, qt.h, n, n); transpose3<<<tg, tb>>>(q.hu, qt.hu, n, n); transpose3<<<tg, tb>>>(q.hv, qt.hv, n, n);
            sweep(qt, p, d, f, n, n, 1, n, true, 0.05);
            transpose3<<<tg, tb>>>(qt.h, q.h, n, n); transpose3<<<tg, tb>>>(qt.hu, q.hu, n, n); transpose3<<<tg, tb>>>(qt.hv, q.hv, n, n);
        }
    }
    double c = 0; double *src[3] = {q.h, q.hu, q.hv};
    for (int v = 0; v < 3; v++) { cudaMemcpy(h, src[v], cells * 8, cudaMemcpyDeviceToHost); for (size_t i = 0; i < cells; i++) c += h[i] * (v + 1) * (1 + i % 3); }
    printf("checksum %.17g\n", c);
}

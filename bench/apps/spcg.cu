/* SPDX-License-Identifier: Apache-2.0 */
// Sparse CG with CSR matrices and Jacobi preconditioner
#include <cstdio>
#include <vector>
#include <cmath>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void spmv_csr(int nrows, const int *rowptr, const int *colidx, const double *vals, const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < nrows) {
        double dot = 0;
        for (int jj = rowptr[row]; jj < rowptr[row + 1]; jj++)
            dot += vals[jj] * x[colidx[jj]];
        y[row] = dot;
    }
}
__global__ void extract_diag(int nrows, const int *rowptr, const int *colidx, const double *vals, double *dinv)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < nrows)
        for (int jj = rowptr[row]; jj < rowptr[row + 1]; jj++)
            if (colidx[jj] == row)
                dinv[row] = 1.0 / vals[jj];
}
__global__ void dot_atomic(int n, const double *a, const double *b, double *out)
{
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        s += a[i] * b[i];
    for (int o = 16; o; o >>= 1)
        s += __shfl_down_sync(0xffffffff, s, o);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(out, s);
}
__global__ void axpy_ratio(int n, const double *num, const double *den, const double *x, double *y, int neg)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double a = *num / *den;
        y[i] += (neg ? -a : a) * x[i];
    }
}
__global__ void precond(int n, const double *dinv, const double *r, double *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = dinv[i] * r[i];
}
__global__ void update_p(int n, const double *num, const double *den, const double *z, double *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = z[i] + (*num / *den) * p[i];
}
__global__ void copy_vec(int n, const double *a, double *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}

template <class T> T *dev(const std::vector<T> &v)
{
    T *p;
    cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

int main(int argc, char **argv)
{
    int iters = argc > 1 ? atoi(argv[1]) : 25, m = argc > 2 ? atoi(argv[2]) : 180, n = m * m;
    std::vector<int> rp{0}, ci;
    std::vector<double> va, b(n), x0(n, 0.0);
    for (int r = 0; r < n; r++) {
        int i = r % m, j = r / m;
        auto put = [&](int c, double v) { ci.push_back(c); va.push_back(v); };
        if (j > 0) put(r - m, -1);
        if (i > 0) put(r - 1, -1);
        put(r, 4.1 + 0.001 * (r % 13));
        if (i < m - 1) put(r + 1, -1);
        if (j < m - 1) put(r + m, -1);
        rp.push_back((int)ci.size());
        b[r] = (r * 7919 % 101) / 64.0;
    }
    int *d_rp = dev(rp), *d_ci = dev(ci);
    double *d_va = dev(va), *x = dev(x0), *r = dev(b), *p = dev(x0), *q = dev(x0), *z = dev(x0), *dinv = dev(x0);
    double *s; // rho, rho_old, pq, rr
    cudaMalloc(&s, 4 * sizeof(double));
    int T = 128, B = (n + T - 1) / T;
    extract_diag<<<B, T>>>(n, d_rp, d_ci, d_va, dinv);
    precond<<<B, T>>>(n, dinv, r, z);
    copy_vec<<<B, T>>>(n, z, p);
    cudaMemset(s, 0, 4 * sizeof(double));
    dot_atomic<<<32, T>>>(n, r, z, s);
    double rr = 0;
    for (int k = 0; k < iters; k++) {
        spmv_csr<<<B, T>>>(n, d_rp, d_ci, d_va, p, q);
        cudaMemset(s + 2, 0, 2 * sizeof(double));
        dot_atomic<<<32, T>>>(n, p, q, s + 2);
        axpy_ratio<<<B, T>>>(n, s, s + 2, p, x, 0);
        axpy_ratio<<<B, T>>>(n, s, s + 2, q, r, 1);
        precond<<<B, T>>>(n, dinv, r, z);
        copy_vec<<<1, 32>>>(1, s, s + 1);
        cudaMemset(s, 0, sizeof(double));
        dot_atomic<<<32, T>>>(n, r, z, s);
        dot_atomic<<<32, T>>>(n, r, r, s + 3);
        update_p<<<B, T>>>(n, s, s + 1, z, p);
        if (k % 5 == 4) {
            cudaMemcpy(&rr, s + 3, sizeof rr, cudaMemcpyDeviceToHost);
            if (sqrt(rr) < 1e-12) break;
        }
    }
    std::vector<double> h(n);
    cudaMemcpy(h.data(), x, n * sizeof(double), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (double v : h) sum += v;
    printf("rr %.17g checksum %.17g\n", rr, sum);
}

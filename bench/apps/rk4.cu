/* SPDX-License-Identifier: Apache-2.0 */
// Brusselator, RK4 with lambdas
#include <iostream>
#include <iomanip>
#include <vector>
#include <cmath>
#include <cstdlib>
#include <cuda_runtime.h>

template <class F> __global__ void for_each_index_kernel(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}
template <class F> void for_each_index(int n, F f) { for_each_index_kernel<<<(n + 255) / 256, 256>>>(n, f); }

template <class T> class Field {
    T *p_ = nullptr; int n_;
public:
    explicit Field(int n) : n_(n) { cudaMalloc(&p_, n * sizeof(T)); cudaMemset(p_, 0, n * sizeof(T)); }
    ~Field() { cudaFree(p_); }
    T *data() const { return p_; }
    void upload(const std::vector<T> &v) { cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice); }
    std::vector<T> download() const { std::vector<T> v(n_); cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost); return v; }
};
struct Periodic2D {
    int nx, ny;
    __device__ int x(int i) const { return i % nx; }
    __device__ int y(int i) const { return i / nx; }
    __device__ int at(int x, int y) const { return ((y + ny) % ny) * nx + (x + nx) % nx; }
};
struct Axpy { double a; const double *x; double *y; __device__ void operator()(int i) const { y[i] += a * x[i]; } };

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 5, nx = argc > 2 ? atoi(argv[2]) : 192, n = nx * nx;
    Field<double> u(n), v(n), ku(n), kv(n), ut(n), vt(n), su(n), sv(n);
    std::vector<double> hu(n), hv(n);
    for (int i = 0; i < n; i++) { hu[i] = 1 + 0.1 * sin(i * 0.01); hv[i] = 3 + 0.1 * cos(i * 0.013); }
    u.upload(hu); v.upload(hv);
    Periodic2D g{nx, nx};
    const double dt = 1e-3, A = 1, B = 3.4, Du = 2, Dv = 0.2;
    auto rhs = [&](const Field<double> &a, const Field<double> &b) {
        double *pku = ku.data(), *pkv = kv.data(); const double *pu = a.data(), *pv = b.data();
        for_each_index(n, [=] __device__(int i) {
            int x = g.x(i), y = g.y(i);
            double lap = pu[g.at(x - 1, y)] + pu[g.at(x + 1, y)] + pu[g.at(x, y - 1)] + pu[g.at(x, y + 1)] - 4 * pu[i];
            pku[i] = Du * lap;
        });
        for_each_index(n, [=] __device__(int i) {
            int x = g.x(i), y = g.y(i);
            double lap = pv[g.at(x - 1, y)] + pv[g.at(x + 1, y)] + pv[g.at(x, y - 1)] + pv[g.at(x, y + 1)] - 4 * pv[i];
            pkv[i] = Dv * lap;
        });
        for_each_index(n, [=] __device__(int i) {
            double uu = pu[i], vv = pv[i];
            pku[i] += A + uu * uu * vv - (B + 1) * uu;
            pkv[i] += B * uu - uu * uu * vv;
        });
    };
    auto stage = [&](double c) {
        double *put = ut.data(), *pvt = vt.data(), *pku = ku.data(), *pkv = kv.data(), *pu = u.data(), *pv = v.data();
        for_each_index(n, [=] __device__(int i) { put[i] = pu[i] + c * pku[i]; pvt[i] = pv[i] + c * pkv[i]; });
    };
    auto accumulate = [&](double c) {
        for_each_index(n, Axpy{c, ku.data(), su.data()});
        for_each_index(n, Axpy{c, kv.data(), sv.data()});
    };
    for (int s = 0; s < steps; s++) {
        double *pu = u.data(), *pv = v.data(), *psu = su.data(), *psv = sv.data();
        for_each_index(n, [=] __device__(int i) { psu[i] = pu[i]; psv[i] = pv[i]; });
        rhs(u, v); accumulate(dt / 6); stage(dt / 2);
        rhs(ut, vt); accumulate(dt / 3); stage(dt / 2);
        rhs(ut, vt); accumulate(dt / 3); stage(dt);
        rhs(ut, vt); accumulate(dt / 6);
        for_each_index(n, [=] __device__(int i) { pu[i] = psu[i]; pv[i] = psv[i]; });
    }
    double c = 0;
    hu = u.download(); hv = v.download();
    for (int i = 0; i < n; i++) c += hu[i] + hv[i] * (1 + i % 2);
    std::cout << std::setprecision(17) << "checksum " << c << "\n";
}

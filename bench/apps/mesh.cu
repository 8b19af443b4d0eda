/* SPDX-License-Identifier: Apache-2.0 */
// unstructured finite volume: edges scatter into cells, shallow-water fluxes
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

__global__ void save_soln(int ncell, const double *q, double *qold)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < ncell) for (int k = 0; k < 4; k++) qold[4 * n + k] = q[4 * n + k];
}
__global__ void adt_calc(int ncell, const int *cell2node, const double *x, const double *q, double *adt)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= ncell) return;
    double ri = 1.0 / q[4 * n], u = ri * q[4 * n + 1], v = ri * q[4 * n + 2];
    double c = sqrt(1.4 * 0.4 * (ri * q[4 * n + 3] - 0.5 * (u * u + v * v))), a = 0;
    for (int k = 0; k < 4; k++) {
        int n0 = cell2node[4 * n + k], n1 = cell2node[4 * n + ((k + 1) & 3)];
        double dx = x[2 * n1] - x[2 * n0], dy = x[2 * n1 + 1] - x[2 * n0 + 1];
        a += fabs(u * dy - v * dx) + c * sqrt(dx * dx + dy * dy);
    }
    adt[n] = a / 0.9;
}
__global__ void res_calc(int nedge, const int *edge2node, const int *edge2cell, const double *x, const double *q, const double *adt, double *res)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= nedge) return;
    int n0 = edge2node[2 * e], n1 = edge2node[2 * e + 1], c0 = edge2cell[2 * e], c1 = edge2cell[2 * e + 1];
    double dx = x[2 * n0] - x[2 * n1], dy = x[2 * n0 + 1] - x[2 * n1 + 1];
    const double *q0 = q + 4 * c0, *q1 = q + 4 * c1;
    double p0 = 0.4 * (q0[3] - 0.5 * (q0[1] * q0[1] + q0[2] * q0[2]) / q0[0]), v0 = (q0[1] * dy - q0[2] * dx) / q0[0];
    double p1 = 0.4 * (q1[3] - 0.5 * (q1[1] * q1[1] + q1[2] * q1[2]) / q1[0]), v1 = (q1[1] * dy - q1[2] * dx) / q1[0];
    double mu = 0.5 * (adt[c0] + adt[c1]) * 0.05;
    double f[4];
    f[0] = 0.5 * (v0 * q0[0] + v1 * q1[0]) + mu * (q0[0] - q1[0]);
    f[1] = 0.5 * (v0 * q0[1] + p0 * dy + v1 * q1[1] + p1 * dy) + mu * (q0[1] - q1[1]);
    f[2] = 0.5 * (v0 * q0[2] - p0 * dx + v1 * q1[2] - p1 * dx) + mu * (q0[2] - q1[2]);
    f[3] = 0.5 * (v0 * (q0[3] + p0) + v1 * (q1[3] + p1)) + mu * (q0[3] - q1[3]);
    for (int k = 0; k < 4; k++) { atomicAdd(&res[4 * c0 + k], f[k]); atomicAdd(&res[4 * c1 + k], -f[k]); }
}
__global__ void bres_calc(int nb, const int *bcell, const double *bn, const double *q, double *res)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= nb) return;
    int c = bcell[e];
    double p = 0.4 * (q[4 * c + 3] - 0.5 * (q[4 * c + 1] * q[4 * c + 1] + q[4 * c + 2] * q[4 * c + 2]) / q[4 * c]);
    atomicAdd(&res[4 * c + 1], p * bn[2 * e]);
    atomicAdd(&res[4 * c + 2], p * bn[2 * e + 1]);
}
__global__ void update(int ncell, const double *qold, double *q, double *res, const double *adt, double *rms)
{
    __shared__ double s[128];
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    double r = 0;
    if (n < ncell) {
        double a = 1.0 / adt[n];
        for (int k = 0; k < 4; k++) {
            double del = a * res[4 * n + k];
            q[4 * n + k] = qold[4 * n + k] - del;
            res[4 * n + k] = 0.0;
            r += del * del;
        }
    }
    s[threadIdx.x] = r; __syncthreads();
    for (int o = 64; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0) rms[blockIdx.x] = s[0];
}
template <class T> static T *up(const std::vector<T> &v) { T *p; cudaMalloc(&p, v.size() * sizeof(T)); cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return p; }
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 8, m = argc > 2 ? atoi(argv[2]) : 120, nc = m * m;
    std::vector<double> x, q, bn; std::vector<int> c2n, e2n, e2c, bc;
    for (int j = 0; j <= m; j++) for (int i = 0; i <= m; i++) { x.push_back(i + 0.1 * sin(j)); x.push_back(j + 0.1 * cos(i)); }
    auto nd = [&](int i, int j) { return j * (m + 1) + i; }; auto ce = [&](int i, int j) { return j * m + i; };
    for (int j = 0; j < m; j++) for (int i = 0; i < m; i++) {
        int c[4] = {nd(i, j), nd(i + 1, j), nd(i + 1, j + 1), nd(i, j + 1)}; c2n.insert(c2n.end(), c, c + 4);
        double r = 1.0 + 0.1 * ((i * 7 + j * 3) % 11) / 11; double qq[4] = {r, 0.3 * r, 0.1 * r, 2.5 * r}; q.insert(q.end(), qq, qq + 4);
        if (i + 1 < m) { e2n.push_back(nd(i + 1, j)); e2n.push_back(nd(i + 1, j + 1)); e2c.push_back(ce(i + 1, j)); e2c.push_back(ce(i, j)); }
        if (j + 1 < m) { e2n.push_back(nd(i, j + 1)); e2n.push_back(nd(i + 1, j + 1)); e2c.push_back(ce(i, j)); e2c.push_back(ce(i, j + 1)); }
    }
    for (int i = 0; i < m; i++) { bc.push_back(ce(i, 0)); bn.push_back(0); bn.push_back(-1); bc.push_back(ce(i, m - 1)); bn.push_back(0); bn.push_back(1); }
    int ne = (int)e2c.size() / 2, nb = (int)bc.size();
    double *dx = up(x), *dq = up(q), *dqo = up(q), *dbn = up(bn), *adt, *res, *rms; int *dc2n = up(c2n), *de2n = up(e2n), *de2c = up(e2c), *dbc = up(bc);
    int T = 128, gc = (nc + T - 1) / T;
    cudaMalloc(&adt, nc * 8); cudaMalloc(&res, nc * 32); cudaMalloc(&rms, gc * 8); cudaMemset(res, 0, nc * 32);
    std::vector<double> hr(gc);
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        save_soln<<<gc, T>>>(nc, dq, dqo);
        for (int k = 0; k < 2; k++) {
            adt_calc<<<gc, T>>>(nc, dc2n, dx, dq, adt);
            res_calc<<<(ne + T - 1) / T, T>>>(ne, de2n, de2c, dx, dq, adt, res);
            bres_calc<<<(nb + T - 1) / T, T>>>(nb, dbc, dbn, dq, res);
            update<<<gc, T>>>(nc, dqo, dq, res, adt, rms);
        }
        cudaMemcpy(hr.data(), rms, gc * 8, cudaMemcpyDeviceToHost);
        sum = 0; for (double r : hr) sum += r;
    }
    cudaMemcpy(q.data(), dq, nc * 32, cudaMemcpyDeviceToHost);
    double c = 0; for (size_t i = 0; i < q.size(); i++) c += q[i] * (1 + i % 4);
    printf("rms %.17g checksum %.17g\n", sqrt(sum / nc), c);
}

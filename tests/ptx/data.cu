// SPDX-License-Identifier: Apache-2.0
// Module variables with all kinds of initial values, and the calls that use them.
struct node {
    char kind;
    const node *next;
    short values[3];
    double weight;
};

__device__ const node second = {'b', nullptr, {4}, -0.0};
__device__ const node first = {'a', &second, {1, -2, 3}, 1e10};
__constant__ float single = 1.5f;
__constant__ unsigned long long large = 0xFFFFFFFFFFFFFFFFull;
__constant__ const char *texts[] = {"one", "two\n", ""};
__device__ double open[] = {1, 2.5, 1.0 / 0.0, -1e-320};
__managed__ int shared_with_host = -5;
__device__ int zeros[1000];
__device__ int *inside = &zeros[17];
__device__ const int *const *chain[2] = {(const int *const *)&inside, nullptr};
static __device__ short hidden[2][3] = {{1, 2, 3}, {-1, -2, -3}};

template <int N> __device__ __noinline__ int generic_sum(const int *values, node by_value)
{
    int sum = by_value.values[N % 3];
    for (int i = 0; i < N; i++) sum += values[i];
    return sum;
}

struct shape {
    __device__ virtual int area() const = 0;
};
struct square : shape {
    int side;
    __device__ int area() const override { return side * side; }
};
struct circle : shape {
    int radius;
    __device__ int area() const override { return 3 * radius * radius; }
};

__device__ __noinline__ int recurse(int depth)
{
    int local[10];
    for (int i = 0; i < 10; i++) local[i] = i * depth;
    return depth ? recurse(depth - 1) + local[depth % 10] : 0;
}

__global__ void use(int *out, int kind)
{
    square s;
    circle c;
    s.side = c.radius = kind;
    const shape *any = kind & 1 ? (const shape *)&s : (const shape *)&c;
    out[0] = generic_sum<3>(out, first) + generic_sum<7>(zeros, *first.next) + any->area();
    out[1] = (int)open[kind] + shared_with_host + *inside + (int)single + (int)large + texts[kind & 1][kind];
    out[2] = hidden[kind & 1][kind % 3] + recurse(kind) + (chain[kind & 1] != nullptr);
    int *memory = (int *)malloc(64);
    memory[kind] = 1;
    out[3] = memory[kind + 1];
    free(memory);
}

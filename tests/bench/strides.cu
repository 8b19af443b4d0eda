/* SPDX-License-Identifier: Apache-2.0
 * Kernels with grid-stride loops, in few blocks, and others between them: a step of letters, --step, is done again and again. */
#include "tests/bench/arrays.h"

enum { STEPS = 10 };

static int width = 120, height = 100, blocks = 5;
static float *field, *flux, *rate, *total;

#define EACH                                                                                                 \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    i < n;                                                                                                   \
    i += gridDim.x * blockDim.x

/* Differences along rows, nothing at their beginnings. */
__global__ void difference(const float *u, float *f, int n, int width)
{
    for (EACH) f[i] = i % width ? u[i] - u[i - 1] : 0;
}

/* The fluxes' differences, along rows and columns. */
__global__ void gather(const float *f, float *r, int n, int width)
{
    for (EACH) {
        float sum = -f[i];
        if (i % width < width - 1) sum += f[i + 1];
        if (i >= width) sum += 0.5f * f[i - width];
        r[i] = sum;
    }
}

__global__ void update(float *u, const float *r, float step, int n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
        u[i] += step * r[i];
}

/* The same, one element a thread, row by row. */
__global__ void smooth(const float *u, float *f, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = x ? x - 1 : x, above = y ? y - 1 : y;
    f[y * width + x] = 0.25f * (2 * u[y * width + x] + u[y * width + left] + u[above * width + x]);
}

/* Loops along two axes. */
__global__ void flow(const float *u, float *f, int width, int height)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x)
            f[y * width + x] = u[y * width + x] - (x ? u[y * width + x - 1] : u[(y ? y - 1 : 0) * width]);
}

/* The stride in a variable: compilers unroll the loop, with what is left of it before. */
#define EACH_UNROLLED                                                                                        \
    int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;                          \
    i < n;                                                                                                   \
    i += stride

__global__ void difference_unrolled(const float *u, float *f, int n, int width)
{
    for (EACH_UNROLLED) f[i] = i % width ? u[i] - u[i - 1] : 0;
}

__global__ void gather_unrolled(const float *f, float *r, int n, int width)
{
    for (EACH_UNROLLED) {
        float sum = -f[i];
        if (i % width < width - 1) sum += f[i + 1];
        if (i >= width) sum += 0.5f * f[i - width];
        r[i] = sum;
    }
}

__global__ void update_unrolled(float *u, const float *r, float step, int n)
{
    for (EACH_UNROLLED) u[i] += step * r[i];
}

__global__ void run_on_unrolled(float *u, int n, int before)
{
    for (EACH_UNROLLED) u[i] = 0.5f * u[i] + (i >= before ? 0.25f * u[i - before] : 0);
}

/* What a thread leaves in one iteration it reads in the next one. */
__global__ void run_on(float *u, int n, int stride)
{
    for (EACH) u[i] = 0.5f * u[i] + (i >= stride ? 0.25f * u[i - stride] : 0);
}

/* Sums of each block's elements, in an order that its threads tell. */
__global__ void add_up(const float *u, float *sums, int n)
{
    __shared__ float shared[128];
    float sum = 0;
    for (EACH) sum += u[i];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (!threadIdx.x) sums[blockIdx.x] = shared[0];
}

/* The number of the block is part of what it writes. */
__global__ void number(float *u, int n)
{
    for (EACH) u[i] += 0.001f * blockIdx.x;
}

static void do_letter(char letter)
{
    enum { BLOCK = 128 };
    int n = width * height;
    dim3 plane(32, 4), grid((width + 31) / 32, (height + 3) / 4);
    switch (letter) {
    case 'd':
        difference<<<blocks, BLOCK>>>(field, flux, n, width);
        break;
    case 'g':
        gather<<<blocks, BLOCK>>>(flux, rate, n, width);
        break;
    case 'u':
        update<<<blocks, BLOCK>>>(field, rate, 0.1f, n);
        break;
    case 'D':
        difference_unrolled<<<blocks, BLOCK>>>(field, flux, n, width);
        break;
    case 'G':
        gather_unrolled<<<blocks, BLOCK>>>(flux, rate, n, width);
        break;
    case 'U':
        update_unrolled<<<blocks, BLOCK>>>(field, rate, 0.1f, n);
        break;
    case 'R':
        run_on_unrolled<<<blocks, BLOCK>>>(field, n, blocks * BLOCK);
        break;
    case 's':
        smooth<<<grid, plane>>>(field, flux, width, height);
        break;
    case 'f':
        flow<<<dim3((width + 95) / 96, (height + 11) / 12), plane>>>(field, flux, width, height);
        break;
    case 'r':
        run_on<<<blocks, BLOCK>>>(field, n, blocks * BLOCK);
        break;
    case 'a':
        add_up<<<blocks, BLOCK>>>(field, total, n);
        break;
    case 'n':
        number<<<blocks, BLOCK>>>(field, n);
        break;
    default:
        fprintf(stderr, "strides: --step %c\n", letter);
        exit(2);
    }
}

static float start(size_t at)
{
    return (float)(at * 2654435761u % 1000) / 1000;
}

static float zero(size_t at)
{
    return 0 * (float)at;
}

int main(int argument_count, char **arguments)
{
    const char *step = "dgu";
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--step") && i + 1 < argument_count)
            step = arguments[++i];
        else if (!strcmp(arguments[i], "--dump"))
            i++; /* what is told is all */
        else if (!strcmp(arguments[i], "--size") && i + 3 < argument_count)
            width = atoi(arguments[i + 1]), height = atoi(arguments[i + 2]), blocks = atoi(arguments[i + 3]),
            i += 3;
        else
            return fprintf(stderr, "usage: strides [--step LETTERS] [--size WIDTH HEIGHT BLOCKS]\n"), 2;
    }
    count = (size_t)width * height;
    host = (float *)malloc(count * sizeof *host);
    field = array_of(start);
    flux = array_of(zero);
    rate = array_of(zero);
    total = array_of(zero);
    for (int s = 0; s < STEPS; s++)
        for (const char *letter = step; *letter; letter++) do_letter(*letter);
    CHECK(cudaDeviceSynchronize());
    tell("field", field, count);
    tell("flux", flux, count);
    tell("rate", rate, count);
    tell("total", total, count);
    return 0;
}

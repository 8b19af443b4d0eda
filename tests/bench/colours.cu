/* SPDX-License-Identifier: Apache-2.0
 * Sweeps in place, each of which updates the cells of one colour from those of the other, in two or in three dimensions. --between says
 * what follows each of them, --then what follows sweep 5 instead, a letter each. With --halved a sweep has a thread for every other
 * cell, of an even width. */
#include "tests/bench/arrays.h"

enum { SWEEPS = 12, LOOKED_AT = 5 };

static int width = 200, height = 90, depth = 1;
static bool is_halved;
static float *field, *other, *right, *out;

#define AT(i, j, k) (((size_t)(k)*height + (j)) * width + (i))

__global__ void sweep(float *u, const float *right, int width, int height, int depth, int colour)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < 1 || i >= width - 1 || j < 1 || j >= height - 1) return;
    if (depth > 1 && (k < 1 || k >= depth - 1)) return;
    if (((i + j + k) & 1) != colour) return;
    float sum = u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)];
    if (depth > 1) sum += u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)];
    float was = u[AT(i, j, k)];
    u[AT(i, j, k)] = was + 0.9f * (0.2f * (sum - right[AT(i, j, k)]) - was);
}

/* The same with a thread for every other cell of a row, and around the edges in x. */
__global__ void sweep_halved(float *u, const float *right, int width, int height, int depth, int colour)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x), j = blockIdx.y * blockDim.y + threadIdx.y,
        k = blockIdx.z;
    if (j < 1 || j >= height - 1) return;
    if (depth > 1 && (k < 1 || k >= depth - 1)) return;
    i += (j + k + colour) & 1;
    if (i >= width) return;
    int east = i + 1 < width ? i + 1 : 0, west = i > 0 ? i - 1 : width - 1;
    float sum = u[AT(west, j, k)] + u[AT(east, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)];
    if (depth > 1) sum += u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)];
    u[AT(i, j, k)] += 0.9f * (0.2f * (sum - right[AT(i, j, k)]) - u[AT(i, j, k)]);
}

/* Copies cells of both colours. */
__global__ void border(float *u, int width, int height, int depth)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    if (j < 1 || j >= height - 1) return;
    u[AT(0, j, k)] = u[AT(1, j, k)];
    u[AT(width - 1, j, k)] = u[AT(width - 2, j, k)];
}

/* Reads its cell again after it has written it. */
__global__ void twice(float *u, float *v, float *out, int width, int height, int depth, int colour)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < 1 || i >= width - 1 || j < 1 || j >= height - 1 || ((i + j + k) & 1) != colour) return;
    u[AT(i, j, k)] = 0.5f * (u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)]);
    out[AT(i, j, k)] = v[AT(i, j, k)];
}

__global__ void copy(const float *u, float *to, int width, int height, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < width && j < height) to[AT(i, j, k)] += u[AT(i, j, k)];
}

/* One colour of what it reads may be new, the other one not. */
__global__ void smooth(const float *u, float *to, int width, int height, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < 1 || i >= width - 1 || j >= height) return;
    to[AT(i, j, k)] = 0.25f * (u[AT(i - 1, j, k)] + 2 * u[AT(i, j, k)] + u[AT(i + 1, j, k)]);
}

/* Cells that the sweep before has left as they were. */
__global__ void pick(const float *u, float *to, int width, int height, int depth, int colour)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < width && j < height) to[AT(i, j, k)] = ((i + j + k) & 1) != colour ? u[AT(i, j, k)] : 1;
}

__global__ void add(const float *from, float *to, int width, int height, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i < width && j < height) to[AT(i, j, k)] += from[AT(i, j, k)];
}

static void act(char letter, int colour)
{
    const dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4, depth),
        rows((height + 63) / 64, depth);
    switch (letter) {
    case 'b':
        border<<<rows, 64>>>(field, width, height, depth);
        break;
    case 'c':
        copy<<<grid, block>>>(field, out, width, height, depth);
        break;
    case 's':
        smooth<<<grid, block>>>(field, other, width, height, depth);
        break;
    case 'a': /* the same colour again, and other cells than the next one */
        sweep<<<grid, block>>>(field, right, width, height, depth, colour);
        break;
    case 't':
        twice<<<grid, block>>>(field, field, out, width, height, depth, colour ^ 1);
        break;
    case 'p':
        pick<<<grid, block>>>(field, other, width, height, depth, colour);
        add<<<grid, block>>>(other, out, width, height, depth);
        break;
    case 'o':
        CHECK(cudaMemcpy(right, other, count * sizeof *right, cudaMemcpyDeviceToDevice));
        break;
    case 'h':
        CHECK(cudaMemcpy(host, field, count * sizeof *host, cudaMemcpyDeviceToHost));
        host[count / 2] += 1;
        CHECK(cudaMemcpy(field, host, count * sizeof *host, cudaMemcpyHostToDevice));
        break;
    default:
        fprintf(stderr, "%c: no such letter\n", letter), exit(2);
    }
}

int main(int argument_count, char **arguments)
{
    const char *between = "", *then = "";
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--then") && i + 1 < argument_count)
            then = arguments[++i];
        else if (!strcmp(arguments[i], "--between") && i + 1 < argument_count)
            between = arguments[++i];
        else if (!strcmp(arguments[i], "--halved"))
            is_halved = true;
        else if (!strcmp(arguments[i], "--dump"))
            i++;
        else if (!strcmp(arguments[i], "--size") && i + 3 < argument_count)
            width = atoi(arguments[i + 1]), height = atoi(arguments[i + 2]), depth = atoi(arguments[i + 3]),
            i += 3;
    }
    count = (size_t)width * height * depth;
    host = (float *)malloc(count * sizeof *host);
    field = array_of([](size_t at) { return 1 + (float)(at % 97) / 64; });
    other = array_of([](size_t at) { return (float)(at % 31) / 16; });
    right = array_of([](size_t at) { return (float)(at % 13) / 8; });
    out = array_of([](size_t) { return 0.0f; });
    const dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4, depth);
    const dim3 half((width / 2 + 31) / 32, grid.y, depth);
    for (int s = 0; s < SWEEPS; s++) {
        if (is_halved)
            sweep_halved<<<half, block>>>(field, right, width, height, depth, s & 1);
        else
            sweep<<<grid, block>>>(field, right, width, height, depth, s & 1);
        for (const char *letter = s == LOOKED_AT && *then ? then : between; *letter; letter++)
            act(*letter, s & 1);
    }
    tell("field", field, count);
    tell("other", other, count);
    tell("out", out, count);
}

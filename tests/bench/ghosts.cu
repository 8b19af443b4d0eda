/* SPDX-License-Identifier: Apache-2.0
 * A field with a border of ghost cells, which a kernel a side fills, as many codes do: with the corners or without, in any order, by
 * copies, opposite values or periodically, between stencils that read them. --step: letters. */
#include "tests/bench/arrays.h"

#include <string.h>

enum { STEPS = 4 };

static int width = 61, height = 45, pitch; /* of the interior */
static float *arrays[3];                   /* each stencil reads one, and writes the next */
static float *land;
static unsigned turn;

static float start(size_t at)
{
    return (float)(at * 7919 % 1009) * 0.01f;
}

#define INTERIOR                                                                                             \
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;        \
    if (x > width || y > height) return;                                                                     \
    int i = y * pitch + x

/* Nine points, the corners' among them. */
__global__ void smooth(const float *in, float *out, int width, int height, int pitch)
{
    INTERIOR;
    float sum = 0;
    for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++) sum += in[i + v * pitch + u];
    out[i] = sum * 0.11f + 0.01f;
}

__global__ void slope(const float *in, float *out, int width, int height, int pitch)
{
    INTERIOR;
    out[i] = in[i] + 0.25f * (in[i + 1] - in[i]) - 0.125f * (in[i] - in[i - pitch]);
}

/* Data keep threads from storing: cells of land stay what they were. */
__device__ bool is_land(const float *field, int i)
{
    return field[i] > 5.0f;
}
__global__ void wet(const float *in, float *out, const float *land, int width, int height, int pitch)
{
    INTERIOR;
    if (is_land(land, i)) return;
    out[i] = 0.5f * in[i] + 0.2f * in[i - 1] + 0.1f * in[i + pitch] + 0.01f;
}
/* In both ways something is stored. */
__global__ void solid(const float *in, float *out, const float *land, int width, int height, int pitch)
{
    INTERIOR;
    if (is_land(land, i))
        out[i] = in[i];
    else
        out[i] = 0.5f * in[i] + 0.25f * (in[i + 1] + in[i - pitch]);
}
__global__ void wet_in_place(float *field, const float *land, int width, int height, int pitch)
{
    INTERIOR;
    if (!is_land(land, i)) field[i] *= 0.875f;
}

__global__ void everywhere(float *field, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) field[i] = field[i] * 0.75f + 0.125f;
}

/* Along x: columns 0 and width + 1. first: 0 with the corners, 1 without. */
template <int EAST>
__global__ void column(float *field, int width, int height, int pitch, int first, float factor)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (y > height + 1 - first) return;
    if (EAST)
        field[y * pitch + width + 1] = factor * field[y * pitch + width];
    else
        field[y * pitch] = factor * field[y * pitch + 1];
}
template <int NORTH>
__global__ void row(float *field, int width, int height, int pitch, int first, float factor)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (x > width + 1 - first) return;
    if (NORTH)
        field[(height + 1) * pitch + x] = factor * field[height * pitch + x];
    else
        field[x] = factor * field[pitch + x];
}
/* Both columns, or both rows, around. */
__global__ void around_x(float *field, int width, int height, int pitch)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y > height + 1) return;
    field[y * pitch] = field[y * pitch + width];
    field[y * pitch + width + 1] = field[y * pitch + 1];
}
__global__ void around_y(float *field, int width, int height, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x > width + 1) return;
    field[x] = field[height * pitch + x];
    field[(height + 1) * pitch + x] = field[pitch + x];
}
/* The corners by themselves. */
__global__ void corners(float *field, int width, int height, int pitch)
{
    int k = threadIdx.x, x = k % 2 ? width + 1 : 0, y = k / 2 ? height + 1 : 0;
    if (k < 4) field[y * pitch + x] = 0.5f * k;
}

static void do_letter(char letter)
{
    dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4);
    int most = (width > height ? width : height) + 2, lines = (most + 63) / 64;
    float *in = arrays[turn % 3], *out = arrays[(turn + 1) % 3];
    switch (letter) {
    case 'd':
        smooth<<<grid, block>>>(in, out, width, height, pitch);
        turn++;
        break;
    case 'g':
        slope<<<grid, block>>>(in, out, width, height, pitch);
        turn++;
        break;
    case 'm':
        wet<<<grid, block>>>(in, out, land, width, height, pitch);
        turn++;
        break;
    case 'o':
        solid<<<grid, block>>>(in, out, land, width, height, pitch);
        turn++;
        break;
    case 'p':
        wet_in_place<<<grid, block>>>(in, land, width, height, pitch);
        break;
    case 'a':
        everywhere<<<(unsigned)((count + 127) / 128), 128>>>(in, (int)count);
        break;
    case 'W':
    case 'w':
        column<0><<<lines, 64>>>(in, width, height, pitch, letter == 'w', 1);
        break;
    case 'E':
    case 'e':
        column<1><<<lines, 64>>>(in, width, height, pitch, letter == 'e', 1);
        break;
    case 'S':
    case 's':
        row<0><<<lines, 64>>>(in, width, height, pitch, letter == 's', -1);
        break;
    case 'N':
    case 'n':
        row<1><<<lines, 64>>>(in, width, height, pitch, letter == 'n', -1);
        break;
    case 'x':
        around_x<<<lines, 64>>>(in, width, height, pitch);
        break;
    case 'y':
        around_y<<<lines, 64>>>(in, width, height, pitch);
        break;
    case 'c':
        corners<<<1, 4>>>(in, width, height, pitch);
        break;
    }
}

int main(int argument_count, char **arguments)
{
    const char *step = "dSNWEg";
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--step") && i + 1 < argument_count)
            step = arguments[++i];
        else if (!strcmp(arguments[i], "--dump"))
            i++; /* what is told is all */
        else if (!strcmp(arguments[i], "--size") && i + 2 < argument_count)
            width = atoi(arguments[i + 1]), height = atoi(arguments[i + 2]), i += 2;
        else
            return fprintf(stderr, "usage: ghosts [--step LETTERS] [--size WIDTH HEIGHT]\n"), 2;
    }
    pitch = width + 2;
    count = (size_t)pitch * (height + 2);
    host = (float *)malloc(count * sizeof *host);
    for (float *&array : arrays) array = array_of(start);
    land = array_of(start);
    for (int s = 0; s < STEPS; s++)
        for (const char *letter = step; *letter; letter++) do_letter(*letter);
    CHECK(cudaDeviceSynchronize());
    tell("first", arrays[0], count);
    tell("second", arrays[1], count);
    tell("third", arrays[2], count);
    return 0;
}

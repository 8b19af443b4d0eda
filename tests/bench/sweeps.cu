/* SPDX-License-Identifier: Apache-2.0
 * A program of sweeps: along each axis in turn, fluxes through the faces of cells, then the cells. Each sweep writes faces that
 * the others do not: of the same arrays, the last along its own axis. After the sweeps of step 5 it does what --then says, a
 * letter each. */
#include "tests/bench/arrays.h"

#include <utility>

enum { GHOSTS = 2, FIELDS = 2, STEPS = 8, LOOKED_AT = 5 };

struct grid {
    int size[3], pitch, plane; /* cells without ghosts; elements from row to row, from plane to plane */
    int ghosts;                /* along z: none where there is one plane */
    int low;                   /* so many faces more lie before the first, along y */
};
static struct grid grid;
static float *fields[2][FIELDS], *fluxes[FIELDS], *sums;
static float *other_fields[2][FIELDS], *other_fluxes[FIELDS];

__device__ static int stride_of(const struct grid grid, int axis)
{
    return axis == 0 ? 1 : axis == 1 ? grid.pitch : grid.plane;
}

__device__ static bool is_in(const struct grid grid, const int at[3], int axis, int faces)
{
    for (int d = 0; d < 3; d++) {
        int ghosts = d == 2 ? grid.ghosts : GHOSTS;
        int end = grid.size[d] + ghosts + (d == axis ? faces : 0);
        if (d == axis && d == 1 && faces) ghosts -= grid.low;
        if (at[d] < ghosts || at[d] >= end) return false;
    }
    return true;
}

__global__ void flux(struct grid grid, int axis, const float *u, const float *v, float *f, float *g)
{
    int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                 (int)blockIdx.z};
    if (!is_in(grid, at, axis, 1)) return;
    int here = at[2] * grid.plane + at[1] * grid.pitch + at[0], before = here - stride_of(grid, axis);
    f[here] = (u[here] - u[before]) * 0.25f;
    g[here] = (v[here] + v[before]) * 0.5f;
}

__global__ void cells(struct grid grid, int axis, const float *u, const float *v, const float *f,
                      const float *g, float *next_u, float *next_v)
{
    int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                 (int)blockIdx.z};
    if (!is_in(grid, at, axis, 0)) return;
    int here = at[2] * grid.plane + at[1] * grid.pitch + at[0], behind = here + stride_of(grid, axis);
    next_u[here] = u[here] + (f[behind] - f[here]);
    next_v[here] = v[here] - (g[behind] - g[here]);
}

/* The same of one field alone. */
__global__ void flux_of_one(struct grid grid, int axis, const float *u, float *f)
{
    int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                 (int)blockIdx.z};
    if (!is_in(grid, at, axis, 1)) return;
    int here = at[2] * grid.plane + at[1] * grid.pitch + at[0];
    f[here] = (u[here] - u[here - stride_of(grid, axis)]) * 0.125f;
}

__global__ void cells_of_one(struct grid grid, int axis, const float *u, const float *f, float *next_u)
{
    int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                 (int)blockIdx.z};
    if (!is_in(grid, at, axis, 0)) return;
    int here = at[2] * grid.plane + at[1] * grid.pitch + at[0];
    next_u[here] = u[here] + (f[here + stride_of(grid, axis)] - f[here]);
}

/* Of each row of the first plane, what stands in this column. */
__global__ void look(struct grid grid, int column, const float *f, float *sums)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < grid.size[1]) sums[row] += f[(grid.ghosts * grid.plane) + (row + GHOSTS) * grid.pitch + column];
}

__global__ void mark(struct grid grid, int column, float *f)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < grid.size[1]) f[(grid.ghosts * grid.plane) + (row + GHOSTS) * grid.pitch + column] = 7;
}

static void launch(int axis, float *from[FIELDS], float *faces[FIELDS], float *to[FIELDS])
{
    dim3 block(32, 8, 1),
        blocks((grid.pitch + 31) / 32, (grid.size[1] + 2 * GHOSTS + 7) / 8, grid.size[2] + 2 * grid.ghosts);
    flux<<<blocks, block>>>(grid, axis, from[0], from[1], faces[0], faces[1]);
    cells<<<blocks, block>>>(grid, axis, from[0], from[1], faces[0], faces[1], to[0], to[1]);
    CHECK(cudaDeviceSynchronize()); /* so that sweeps do not fuse with each other */
}

static void sweep(int axis)
{
    launch(axis, fields[0], fluxes, fields[1]);
    std::swap(fields[0], fields[1]);
}

/* Overwrites one of the two arrays of fluxes. */
static void half_a_sweep()
{
    dim3 block(32, 8, 1),
        blocks((grid.pitch + 31) / 32, (grid.size[1] + 2 * GHOSTS + 7) / 8, grid.size[2] + 2 * grid.ghosts);
    flux_of_one<<<blocks, block>>>(grid, 0, fields[0][0], fluxes[0]);
    cells_of_one<<<blocks, block>>>(grid, 0, fields[0][0], fluxes[0], fields[1][0]);
    CHECK(cudaDeviceSynchronize());
}

static void observe(char letter)
{
    unsigned blocks = (grid.size[1] + 127) / 128;
    int last = grid.size[0] + GHOSTS;
    switch (letter) {
    case 'e':
        look<<<blocks, 128>>>(grid, last, fluxes[0], sums);
        break; /* the faces that one sweep writes */
    case 'i':
        look<<<blocks, 128>>>(grid, last - 1, fluxes[1], sums);
        break; /* that all write */
    case 'g':
        look<<<blocks, 128>>>(grid, 0, fluxes[0], sums);
        break; /* that none does */
    case 'w':
        mark<<<blocks, 128>>>(grid, last, fluxes[0]);
        break;
    case 'W':
        mark<<<blocks, 128>>>(grid, last - 1, fluxes[1]);
        break;
    case 'u':
        mark<<<blocks, 128>>>(grid, GHOSTS, fields[1][0]);
        break; /* what the last fluxes were made of */
    case 'h':
        half_a_sweep();
        break;
    case 's': /* in other arrays */
        launch(1, other_fields[0], other_fluxes, other_fields[1]);
        break;
    case 'c':
        tell("fluxes", fluxes[0], count);
        break;
    case 'z':
        CHECK(cudaMemset(fluxes[0], 0, count * sizeof(float)));
        break;
    case 'Z':
        CHECK(cudaMemset(fluxes[1], 0, 4096));
        break;
    default:
        fprintf(stderr, "%c: no such letter\n", letter), exit(2);
    }
}

int main(int argument_count, char **arguments)
{
    const char *then = "";
    int sizes[3] = {70, 36, 1}, first = 0;
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--then") && i + 1 < argument_count)
            then = arguments[++i];
        else if (!strcmp(arguments[i], "--first") && i + 1 < argument_count)
            first = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--low") && i + 1 < argument_count)
            grid.low = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--dump"))
            i++;
        else if (!strcmp(arguments[i], "--size") && i + 3 < argument_count)
            for (int d = 0; d < 3; d++) sizes[d] = atoi(arguments[++i]);
    }
    int axes = sizes[2] > 1 ? 3 : 2;
    for (int d = 0; d < 3; d++) grid.size[d] = sizes[d];
    grid.ghosts = axes == 3 ? GHOSTS : 0;
    grid.pitch = sizes[0] + 2 * GHOSTS;
    grid.plane = grid.pitch * (sizes[1] + 2 * GHOSTS);
    count = (size_t)grid.plane * (sizes[2] + 2 * grid.ghosts);
    host = (float *)malloc(count * sizeof *host);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < FIELDS; k++) {
            fields[i][k] = array_of([](size_t at) { return 1 + (float)(at % 97) / 64; });
            other_fields[i][k] = array_of([](size_t at) { return (float)(at % 31); });
        }
    for (int k = 0; k < FIELDS; k++) {
        fluxes[k] = array_of([](size_t at) { return (float)(at % 5); });
        other_fluxes[k] = array_of([](size_t at) { return (float)(at % 3); });
    }
    sums = array_of([](size_t) { return 0.0f; });
    for (int step = 0; step < STEPS; step++) {
        for (int axis = 0; axis < axes; axis++) sweep((axis + first) % axes);
        for (const char *letter = then; step == LOOKED_AT && *letter; letter++) observe(*letter);
    }
    for (int k = 0; k < FIELDS; k++) {
        tell("field", fields[0][k], count);
        tell("before", fields[1][k], count);
        tell("fluxes", fluxes[k], count);
        tell("others", other_fluxes[k], count);
    }
    tell("sums", sums, grid.size[1]);
    return 0;
}

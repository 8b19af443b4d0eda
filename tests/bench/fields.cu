/* SPDX-License-Identifier: Apache-2.0
 * Steps over the fields of a model, with kernels whose threads choose the field: a letter of --step each. */
#include "tests/bench/arrays.h"

enum { STEPS = 6, FIELDS = 4, LAYERS = 2 };

struct model {
    int width, height;
    float *u, *v, *w, *t;
};
static struct model model = {96, 40};
static float *out, *next[FIELDS];

/* The fields' edges, two rows at each, of the field that the block is for. */
__global__ void edges(struct model m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *f;
    if (i >= m.width) return;
    switch (blockIdx.z) {
    case 0:
        f = m.u;
        break;
    case 1:
        f = m.v;
        break;
    case 2:
        f = m.w;
        break;
    default:
        f = m.t;
    }
    for (int k = 0; k < LAYERS; k++) {
        f[k * m.width + i] = f[(2 * LAYERS - 1 - k) * m.width + i];
        f[(m.height - 1 - k) * m.width + i] = f[(m.height - 2 * LAYERS + k) * m.width + i];
    }
}

/* Even rows of the one, odd rows of the other. */
__global__ void weave(struct model m, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    const float *f = j & 1 ? m.v : m.u;
    if (i < m.width) to[j * m.width + i] = 0.5f * f[j * m.width + i] + to[j * m.width + i];
}

/* Data choose the field that is written. */
__global__ void push(struct model m, const float *by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= m.width) return;
    float *f = by[j * m.width + i] > 1 ? m.w : m.t;
    f[j * m.width + i] += 0.25f;
}

/* A pointer that goes on to the next row. */
__global__ void sum_rows(struct model m, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *f = blockIdx.y ? m.w : m.t;
    float sum = 0;
    if (i >= m.width) return;
#pragma unroll 1
    for (int j = 0; j < m.height; j++, f += m.width) sum += f[i];
    to[blockIdx.y * m.width + i] = sum;
}

__global__ void smooth(struct model m, const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= m.width - 1 || j < LAYERS || j >= m.height - LAYERS) return;
    int at = j * m.width + i;
    to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - m.width] + from[at + m.width]);
}

__global__ void scale(float *a, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= by;
}

static void act(char letter)
{
    const dim3 block(32, 4), rows((model.width + 31) / 32, model.height),
        tiles((model.width + 31) / 32, (model.height + 3) / 4);
    const unsigned columns = (model.width + 63) / 64;
    float **fields[FIELDS] = {&model.u, &model.v, &model.w, &model.t};
    switch (letter) {
    case 'e':
        edges<<<dim3(columns, 1, FIELDS), 64>>>(model);
        break;
    case 'w':
        weave<<<rows, 32>>>(model, out);
        break;
    case 'p':
        push<<<rows, 32>>>(model, model.u);
        break;
    case 'r':
        sum_rows<<<dim3(columns, 2), 64>>>(model, out);
        break;
    case 'c':
        for (int k = 0; k < FIELDS; k++)
            scale<<<((int)count + 127) / 128, 128>>>(*fields[k], (int)count, 1.01f - 0.01f * k);
        break;
    case 's':
        for (int k = 0; k < FIELDS; k++) {
            smooth<<<tiles, block>>>(model, *fields[k], next[k]);
            float *kept = *fields[k];
            *fields[k] = next[k];
            next[k] = kept;
        }
        break;
    case 'x': { /* fields change places */
        float *kept = model.u;
        model.u = model.w;
        model.w = kept;
        break;
    }
    case 'm': /* both choices are one array */
        weave<<<rows, 32>>>((struct model){model.width, model.height, model.t, model.t, model.w, model.t},
                            out);
        break;
    default:
        fprintf(stderr, "%c: no such letter\n", letter), exit(2);
    }
}

int main(int argument_count, char **arguments)
{
    const char *step = "ec", *then = "";
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--step") && i + 1 < argument_count)
            step = arguments[++i];
        else if (!strcmp(arguments[i], "--then") && i + 1 < argument_count)
            then = arguments[++i];
        else if (!strcmp(arguments[i], "--dump"))
            i++;
    }
    count = (size_t)model.width * model.height;
    host = (float *)malloc(count * sizeof *host);
    model.u = array_of([](size_t at) { return 1 + (float)(at % 97) / 64; });
    model.v = array_of([](size_t at) { return (float)(at % 31) / 16; });
    model.w = array_of([](size_t at) { return (float)(at % 13) / 8; });
    model.t = array_of([](size_t at) { return (float)(at % 57) / 32; });
    for (float *&array : next) array = array_of([](size_t at) { return (float)(at % 11) / 8; });
    out = array_of([](size_t) { return 0.0f; });
    for (int s = 0; s < STEPS; s++)
        for (const char *letter = s == STEPS - 2 && *then ? then : step; *letter; letter++) act(*letter);
    tell("u", model.u, count);
    tell("v", model.v, count);
    tell("w", model.w, count);
    tell("t", model.t, count);
    tell("out", out, count);
}

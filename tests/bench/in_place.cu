/* SPDX-License-Identifier: Apache-2.0
 * A program that updates an array in place: fluxes of it, the array itself, and its borders, from step to step without a wait. Between
 * steps it does what --between says, and after step 5 what --then says, a letter each. */
#include "tests/bench/arrays.h"

enum { STEPS = 8, LOOKED_AT = 5 };

static int width = 200, height = 90; /* without borders */
static float *field, *other, *faces, *out, *sums;
static unsigned long long *words;
static int *numbers;
static cudaStream_t stream;
static cudaEvent_t event;

#define HERE ((size_t)j * (width + 2) + i)

__global__ void border(float *u, int width, int height)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > height + 1) return;
    u[(size_t)j * (width + 2)] = u[(size_t)j * (width + 2) + width];
    u[(size_t)j * (width + 2) + width + 1] = u[(size_t)j * (width + 2) + 1];
}

__global__ void flux(const float *u, float *f, int width, int height)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > width || j > height) return;
    f[HERE] = 0.5f * (u[HERE] + u[HERE + 1]);
}

__global__ void update(float *u, const float *f, int width, int height)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1, i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i > width || j > height) return;
    u[HERE] -= 0.125f * (f[HERE] - f[HERE - 1]);
}

/* Reads all of it. */
__global__ void copy(const float *u, float *to, int width, int height)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width + 2 && j < height + 2) to[HERE] += u[HERE];
}

/* One row of what the update writes, and of what it does not. */
__global__ void push(float *u, int row, int width, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width + 2) u[(size_t)row * (width + 2) + i] += by;
}

/* What the array holds is a number of an element of it. */
__global__ void gather(const float *u, const int *numbers, float *sums)
{
    sums[threadIdx.x] += u[numbers[threadIdx.x]];
}

/* Somebody may compare it, or come back to it. */
__global__ void keep_address(const float *u, unsigned long long *words)
{
    words[threadIdx.x] = (unsigned long long)(u + threadIdx.x) + (u[threadIdx.x] > 0);
}

__global__ void is_first(const float *u, unsigned long long of, float *sums)
{
    if ((unsigned long long)u == of) sums[threadIdx.x] += u[threadIdx.x];
}

/* Through two pointers. */
__global__ void slide(const float *u, float *v, int distance)
{
    v[threadIdx.x] = u[threadIdx.x + distance];
}

static void step(float *u)
{
    dim3 block(32, 8), blocks((width + 2 + 31) / 32, (height + 2 + 7) / 8);
    flux<<<blocks, block>>>(u, faces, width, height);
    update<<<blocks, block>>>(u, faces, width, height);
    border<<<(height + 2 + 127) / 128, 128>>>(u, width, height);
}

static void act(char letter)
{
    static int turn;
    dim3 block(32, 8), blocks((width + 2 + 31) / 32, (height + 2 + 7) / 8);
    switch (letter) {
    case 'c':
        copy<<<blocks, block>>>(field, out, width, height);
        break;
    case 'B': /* both, through one pointer */
        blocks.y = (2 * (height + 2) + 7) / 8;
        copy<<<blocks, block>>>(field, out, width, 2 * height + 2);
        break;
    case 'f':
        copy<<<blocks, block>>>(faces, out, width, height);
        break;
    case 'p':
        push<<<(width + 2 + 127) / 128, 128>>>(field, height / 2, width, 0.25f);
        break;
    case 'v': /* a row further on each time */
        push<<<(width + 2 + 127) / 128, 128>>>(field, 10 + turn++, width, 0.25f);
        break;
    case 'P':
        push<<<(width + 2 + 127) / 128, 128>>>(field, 0, width, 0.25f);
        break;
    case 'q':
        push<<<(width + 2 + 127) / 128, 128>>>(faces, height / 2, width, 0.25f);
        break;
    case 'g':
        gather<<<1, 32>>>(field, numbers, sums);
        break;
    case 'k':
        keep_address<<<1, 32>>>(field, words);
        break;
    case 'i':
        is_first<<<1, 32>>>(field, (unsigned long long)field, sums);
        break;
    case 'I':
        is_first<<<1, 32>>>(field, (unsigned long long)other, sums);
        break;
    case 's':
        slide<<<1, 32>>>(field + 40, field, 7);
        break;
    case 'o':
        step(other);
        break;
    case 'b':
        border<<<(height + 2 + 127) / 128, 128>>>(field, width, height);
        break;
    case 'h':
        tell("field", field, count);
        break;
    case 'H':
        CHECK(cudaMemcpy(field + 300, host, 4000, cudaMemcpyHostToDevice));
        break;
    case 'd':
        CHECK(cudaMemcpyAsync(out, field, count * sizeof(float), cudaMemcpyDeviceToDevice));
        break;
    case 'D':
        CHECK(cudaMemcpyAsync(field + 400, other + 400, 4000, cudaMemcpyDeviceToDevice));
        break;
    case 'z':
        CHECK(cudaMemsetAsync(field + 500, 0, 4000));
        break;
    case 'w':
        CHECK(cudaDeviceSynchronize());
        break;
    case 'e':
        CHECK(cudaEventRecord(event));
        break;
    case 't': /* another stream, ordered by an event */
        CHECK(cudaEventRecord(event));
        CHECK(cudaStreamWaitEvent(stream, event, 0));
        copy<<<blocks, block, 0, stream>>>(field, out, width, height);
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaStreamWaitEvent(0, event, 0));
        break;
    default:
        fprintf(stderr, "%c: no such letter\n", letter), exit(2);
    }
}

int main(int argument_count, char **arguments)
{
    const char *between = "", *then = "";
    bool is_together = false; /* fluxes stand behind the field, in one allocation */
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--then") && i + 1 < argument_count)
            then = arguments[++i];
        else if (!strcmp(arguments[i], "--between") && i + 1 < argument_count)
            between = arguments[++i];
        else if (!strcmp(arguments[i], "--together"))
            is_together = true;
        else if (!strcmp(arguments[i], "--dump"))
            i++;
        else if (!strcmp(arguments[i], "--size") && i + 2 < argument_count)
            width = atoi(arguments[++i]), height = atoi(arguments[++i]);
    }
    count = (size_t)(width + 2) * (height + 2);
    host = (float *)malloc(count * sizeof *host);
    CHECK(cudaMalloc(&out, 2 * count * sizeof *out));
    CHECK(cudaMemset(out, 0, 2 * count * sizeof *out));
    field = array_of([](size_t at) { return 1 + (float)(at % 97) / 64; });
    other = array_of([](size_t at) { return 2 + (float)(at % 31) / 16; });
    faces = array_of([](size_t at) { return (float)(at % 5); });
    if (is_together) {
        float *both;
        CHECK(cudaMalloc(&both, 2 * count * sizeof *both));
        CHECK(cudaMemcpy(both, field, count * sizeof *both, cudaMemcpyDeviceToDevice));
        CHECK(cudaMemcpy(both + count, faces, count * sizeof *both, cudaMemcpyDeviceToDevice));
        field = both;
        faces = both + count;
    }
    sums = array_of([](size_t) { return 0.0f; });
    CHECK(cudaMalloc(&words, 32 * sizeof *words));
    CHECK(cudaMalloc(&numbers, 32 * sizeof *numbers));
    int some[32];
    for (int i = 0; i < 32; i++) some[i] = (i * 577 + 301) % (int)count;
    CHECK(cudaMemcpy(numbers, some, sizeof some, cudaMemcpyHostToDevice));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    if (strchr(then, 't') || strchr(between, 't'))
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int k = 0; k < STEPS; k++) {
        step(field);
        for (const char *letter = between; *letter; letter++) act(*letter);
        for (const char *letter = then; k == LOOKED_AT && *letter; letter++) act(*letter);
    }
    tell("field", field, count);
    tell("other", other, count);
    tell("faces", faces, count);
    tell("out", out, count);
    tell("out, rest", out + count, count);
    tell("sums", sums, 32);
    unsigned long long kept[32] = {0}, address = (unsigned long long)field;
    if (strchr(between, 'k') || strchr(then, 'k'))
        CHECK(cudaMemcpy(kept, words, sizeof kept, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        if (kept[i]) printf("%llx\n", kept[i] - address);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * A program that clears, saves and packs its arrays by sets and copies between its kernels, as many do: by the mode. With
 * --written these are kernels of its own. With --twist it does something else at some of them, of which a plan that was
 * made without knows nothing. */
#include "bench/bench.h"
#include "tests/bench/driver_call.h"

static int nx, ny, written, twist;
static double *u, *v, *old_u, *sum, *spare;
static int *count;
static unsigned char *text, *blend;
static double host[4], *pageable;
static cudaStream_t stream, other;

#define CELL                                                                                                 \
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;                \
    if (x >= nx || y >= ny) return;                                                                          \
    int i = y * nx + x

__global__ void set_all(int nx, int ny, double *to, double value)
{
    CELL;
    to[i] = value;
}

__global__ void copy_all(int nx, int ny, double *to, const double *from)
{
    CELL;
    to[i] = from[i];
}

__global__ void gather_x(int nx, int ny, double *sum, const double *u)
{
    CELL;
    sum[i] += 0.25 * u[i];
}

__global__ void gather_y(int nx, int ny, double *sum, const double *u, const double *v)
{
    CELL;
    sum[i] += 0.125 * u[i] * v[i];
}

__global__ void advance(int nx, int ny, double *u, const double *sum)
{
    CELL;
    u[i] = 0.5 * u[i] + sum[i];
}

__global__ void smooth(int nx, int ny, double *u, const double *old_u)
{
    CELL;
    if (x < 1 || y < 1 || x > nx - 2 || y > ny - 2) return;
    u[i] = 0.5 * old_u[i] + 0.125 * (old_u[i - 1] + old_u[i + 1] + old_u[i - nx] + old_u[i + nx]);
}

__global__ void scale(int nx, int ny, double *u, const double *v)
{
    CELL;
    u[i] = u[i] * 0.75 + 0.25 * v[i];
}

__global__ void tally(int nx, int ny, int *count, const double *u)
{
    CELL;
    if (u[i] > 0.5) atomicAdd(count, 1);
}

__global__ void mix(int bytes, unsigned char *to, const unsigned char *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes) to[i] = to[i] / 2 + from[i];
}

static dim3 block(32, 8), grid;

static void set(double *to, double value, long step)
{
    bool is_odd = twist && step % 3 == 1;
    size_t bytes = (size_t)nx * ny * sizeof *to;
    if (written) {
        set_all<<<grid, block, 0, stream>>>(nx, ny, to, value);
        return;
    }
    if (is_odd && step % 2) /* another value, and less of it */
        CHECK(cudaMemsetAsync(to, 0x3f, bytes / 2, stream));
    else if (is_odd) { /* not in this stream */
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemset(to, 0, bytes));
        CHECK(cudaStreamSynchronize(0));
    } else {
        CHECK(cudaMemsetAsync(to, value == 0 ? 0 : 0x11, bytes, stream));
    }
}

static void copy(double *to, double *from, size_t count, long step)
{
    bool is_odd = twist && step % 3 == 2;
    if (written) {
        copy_all<<<grid, block, 0, stream>>>(nx, ny, to, from);
        return;
    }
    if (is_odd && step % 4 == 3) { /* of the host's, who goes on with it */
        CHECK(cudaMemcpyAsync(to, pageable, count * sizeof *to, cudaMemcpyDefault, stream));
        for (size_t i = 0; i < count; i++) pageable[i] += 1;
    } else if (is_odd && step % 2) { /* of the host's, and a part alone */
        CHECK(cudaMemcpyAsync(to, host, sizeof host, cudaMemcpyHostToDevice, stream));
        CHECK(cudaMemcpyAsync(to + 4, from + 4, (count - 4) * sizeof *to, cudaMemcpyDeviceToDevice, stream));
    } else if (is_odd) { /* by another stream, and by way of a third array */
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpyAsync(spare, from, count * sizeof *to, cudaMemcpyDeviceToDevice, other));
        CHECK(cudaStreamSynchronize(other));
        CHECK(cudaMemcpyAsync(to, spare, count * sizeof *to, cudaMemcpyDeviceToDevice, stream));
    } else {
        CHECK(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, stream));
    }
}

static void clear_step(void *, long step)
{
    set(sum, 0, step);
    gather_x<<<grid, block, 0, stream>>>(nx, ny, sum, u);
    gather_y<<<grid, block, 0, stream>>>(nx, ny, sum, u, v);
    advance<<<grid, block, 0, stream>>>(nx, ny, u, sum);
}

static void save_step(void *, long step)
{
    copy(old_u, u, (size_t)nx * ny, step);
    scale<<<grid, block, 0, stream>>>(nx, ny, u, v);
    gather_y<<<grid, block, 0, stream>>>(nx, ny, sum, u, old_u);
}

static void buffer_step(void *, long step)
{
    copy(old_u, u, (size_t)nx * ny, step);
    smooth<<<grid, block, 0, stream>>>(nx, ny, u, old_u);
}

/* Rows beyond the first and the last. */
static void pack_step(void *, long step)
{
    scale<<<grid, block, 0, stream>>>(nx, ny, u, v);
    copy(u, u + (size_t)(ny - 2) * nx, nx, step);
    copy(u + (size_t)(ny - 1) * nx, u + nx, nx, step);
    smooth<<<grid, block, 0, stream>>>(nx, ny, v, u);
}

/* A number that is counted anew, and kept on the device. */
static void count_step(void *, long step)
{
    gather_x<<<grid, block, 0, stream>>>(nx, ny, sum, u);
    CHECK(cudaMemsetAsync(count, twist && step % 3 ? 1 : 0, sizeof *count, stream));
    scale<<<grid, block, 0, stream>>>(nx, ny, u, v);
    tally<<<grid, block, 0, stream>>>(nx, ny, count, u);
}

/* What the copy leaves is overwritten by the next one, but looked at now and then. */
static void drop_step(void *, long step)
{
    copy(old_u, u, (size_t)nx * ny, step);
    scale<<<grid, block, 0, stream>>>(nx, ny, u, old_u);
    if (!twist || step % 4 != 3) return;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, old_u + 5, sizeof host, cudaMemcpyDeviceToHost));
}

/* All but v is left out, and overwritten by the next step; but what the copy leaves is copied on now and then. */
static void peek_step(void *, long step)
{
    const size_t cells = (size_t)nx * ny;
    set(sum, 0, 0);
    gather_x<<<grid, block, 0, stream>>>(nx, ny, sum, u);
    copy(old_u, sum, cells, 0);
    scale<<<grid, block, 0, stream>>>(nx, ny, v, old_u);
    CHECK(cudaStreamSynchronize(stream));
    if (!twist || step % 4 != 1) return;
    copy(spare, old_u, cells, 0);
    gather_x<<<grid, block, 0, stream>>>(nx, ny, u, spare);
    CHECK(cudaStreamSynchronize(stream));
}

/* Bytes that are no multiple of 4 away, set two at a time; and sets that fail. */
static void bytes_step(void *, long step)
{
    static const auto set_8 = DRIVER_CALL(cuMemsetD8Async);
    static const auto set_16 = DRIVER_CALL(cuMemsetD16Async);
    static const auto set_32 = DRIVER_CALL(cuMemsetD32Async);
    const int bytes = nx * ny, blocks = (bytes + 255) / 256;
    CUdeviceptr at = (CUdeviceptr)text + 2;
    mix<<<blocks, 256, 0, stream>>>(bytes, blend, text + 2);
    if (twist && step % 4 == 1) printf("%d\n", set_16(at, 0x0102, bytes / 2, stream));
    if (twist && step % 4 == 2) printf("%d\n", set_32(at, 0x05050505, bytes / 4, stream));
    if (twist && step % 4 == 3) printf("%d\n", set_16(at, 0x0505, ((size_t)1 << 63) + bytes / 2, stream));
    if (!twist || step % 4 == 0) printf("%d\n", set_8(at, 7, bytes, stream));
    mix<<<blocks, 256, 0, stream>>>(bytes, text + 2, blend);
}

static const struct {
    const char *name;
    void (*step)(void *, long step);
} modes[] = {{"clear", clear_step}, {"save", save_step}, {"buffer", buffer_step}, {"pack", pack_step},
             {"count", count_step}, {"drop", drop_step}, {"peek", peek_step},     {"bytes", bytes_step}};

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 12, 1, NULL, 0, 0};
    const char *mode = "clear";
    long width = 96, height = 40;
    int streams = 0;
    const struct option own[] = {
        {"width", &width, NULL, NULL, "doubles in a row"},
        {"height", &height, NULL, NULL, "rows"},
        {"mode", NULL, &mode, NULL, "clear, save, buffer, pack, count, drop, peek or bytes"},
        {"written", NULL, NULL, &written, "sets and copies are kernels"},
        {"twist", NULL, NULL, &twist, "some of them are others"},
        {"streams", NULL, NULL, &streams, "in a stream of its own"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Sets and copies between kernels.", own);
    nx = (int)width, ny = (int)height;
    grid = dim3((nx + 31) / 32, (ny + 7) / 8);
    size_t cells = (size_t)nx * ny;
    double **arrays[] = {&u, &v, &old_u, &sum, &spare};
    double *start = (double *)malloc(cells * sizeof *start);
    for (int a = 0; a < 5; a++) {
        for (size_t i = 0; i < cells; i++) start[i] = (double)((i * (a + 3)) % 17) / 17;
        CHECK(cudaMalloc((void **)arrays[a], cells * sizeof *start));
        CHECK(cudaMemcpy(*arrays[a], start, cells * sizeof *start, cudaMemcpyHostToDevice));
    }
    pageable = start;
    CHECK(cudaMalloc((void **)&count, sizeof *count));
    CHECK(cudaMemset(count, 0, sizeof *count));
    CHECK(cudaMalloc((void **)&text, cells + 2));
    CHECK(cudaMalloc((void **)&blend, cells));
    CHECK(cudaMemset(text, 3, cells + 2));
    CHECK(cudaMemset(blend, 5, cells));
    if (streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool is_alone = !strcmp(mode, "peek"); /* no other stream: else nothing is left out */
    if (twist && !is_alone) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    void (*step_of_mode)(void *, long) = NULL;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        if (!strcmp(mode, modes[m].name)) step_of_mode = modes[m].step;
    if (!step_of_mode) return 2;
    bench_loop(&bench, step_of_mode, NULL);
    const struct result results[] = {{"u", u, cells * sizeof *u},
                                     {"v", v, cells * sizeof *v},
                                     {"old_u", old_u, cells * sizeof *u},
                                     {"sum", sum, cells * sizeof *sum},
                                     {"count", count, sizeof *count},
                                     {"text", text, cells + 2},
                                     {"blend", blend, cells}};
    bench_results(&bench, results, 7);
    return 0;
}

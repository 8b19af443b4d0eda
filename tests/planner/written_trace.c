/* SPDX-License-Identifier: Apache-2.0
 * Times are those of a fast host and an idle device: 2 us a launch call, 3 us a kernel. */
#include "tests/planner/written_trace.h"

#include <string.h>

enum { HOST_NS = 2000, KERNEL_NS = 3000, GAP_NS = 100 };

#define KERNEL(name, first, middle)                                                                          \
    ".visible .entry " name "(.param .u64 a, .param .f32 factor, .param .u32 n)\n{\n"                        \
    ".reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<5>;\n"                                \
    "ld.param.u64 %rd1, [a];\nld.param.f32 %f1, [factor];\nld.param.u32 %r1, [n];\n"                         \
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"                                  \
    "mad.lo.s32 %r5, %r2, %r3, %r4;\n" middle "setp.ge.s32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"                 \
    "cvta.to.global.u64 %rd2, %rd1;\nadd.s32 %r6, %r5, " first ";\nmul.wide.s32 %rd3, %r6, 4;\n"             \
    "add.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f2, [%rd4];\nmul.f32 %f3, %f2, %f1;\n"                        \
    "st.global.f32 [%rd4], %f3;\nDONE:\nret;\n}\n"

/* clang-format off */
#define PADDED                                                                                               \
    ".visible .entry padded(.param .align 8 .b8 s[16])\n{\n"                                                 \
    ".reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<5>;\n"                                \
    "ld.param.u64 %rd1, [s];\nld.param.u32 %r1, [s+8];\n"                                                    \
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"                                  \
    "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"                           \
    "cvta.to.global.u64 %rd2, %rd1;\nadd.s32 %r6, %r5, %r1;\nadd.s32 %r6, %r6, -1000;\n"                     \
    "mul.wide.s32 %rd3, %r6, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f2, [%rd4];\n"                    \
    "mul.f32 %f3, %f2, 0f3F000000;\nst.global.f32 [%rd4], %f3;\nDONE:\nret;\n}\n"
/* clang-format on */

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n" KERNEL("scale", "0", "")
    KERNEL("from_one", "1", "") KERNEL("with_barrier", "0", "bar.sync 1;\n")
        KERNEL("scatter", "%r7", "cvt.rzi.s32.f32 %r7, %f1;\n") PADDED;
static const char *const names[WRITTEN_KERNELS] = {[WRITTEN_SCALE] = "scale",
                                                   [WRITTEN_FROM_ONE] = "from_one",
                                                   [WRITTEN_BARRIER] = "with_barrier",
                                                   [WRITTEN_SCATTER] = "scatter",
                                                   [WRITTEN_PADDED] = "padded"};

struct arguments {
    uint64_t pointer;
    float factor;
    uint32_t n;
};
struct padded {
    uint64_t pointer;
    uint32_t n, padding;
};

static void write_device(struct written_trace *trace, bool is_emulated)
{
    const struct trace_device device = {
        .compute_major = 9,
        .multiprocessors = 132,
        .warp_size = 32,
        .threads_per_multiprocessor = 2048,
        .blocks_per_multiprocessor = 32,
        .registers_per_multiprocessor = 65536,
        .driver_version = 13000,
        .is_emulated = is_emulated,
        .memory_clock_khz = 2619000,
        .bus_width_bits = 5120,
        .memory_bytes = 80ull << 30,
        .name = "a device",
    };
    trace_write(trace->writer, TRACE_DEVICE, &device, NULL, 0);
}

static void write_kernel(struct written_trace *trace, uint32_t number)
{
    struct {
        struct trace_parameter parameters[3];
        char name[16];
    } payload = {.parameters = {{0, 8}, {8, 4}, {12, 4}}};
    if (number == WRITTEN_PADDED) payload.parameters[0].size = sizeof(struct padded);
    if (number == WRITTEN_PADDED) strcpy((char *)&payload.parameters[1], names[number]);
    const struct trace_kernel kernel = {.kernel = number,
                                        .module = 1,
                                        .registers = 10,
                                        .max_threads = 1024,
                                        .ptx_version = 90,
                                        .binary_version = 90,
                                        .parameter_count = number == WRITTEN_PADDED ? 1 : 3,
                                        .parameter_bytes = sizeof(struct arguments)};
    if (number != WRITTEN_PADDED) strcpy(payload.name, names[number]);
    trace_write(trace->writer, TRACE_KERNEL, &kernel, &payload,
                kernel.parameter_count * sizeof *payload.parameters + strlen(names[number]) + 1);
}

static void start_on(struct written_trace *trace, const char *path, enum image_kind kind, bool is_emulated)
{
    const char *error;
    bool has_ptx = kind == IMAGE_PTX;
    *trace = (struct written_trace){.writer = trace_writer_open(path, &error),
                                    .sequence = 1,
                                    .now_ns = 1000000,
                                    .thread = 1,
                                    .kernel_ns = KERNEL_NS,
                                    .end = TRACE_END_PERIODIC};
    const struct trace_module module = {.module = 1,
                                        .image_kind = kind,
                                        .flags = has_ptx ? TRACE_MODULE_HAS_PTX : 0,
                                        .hash = hash_bytes(ptx, sizeof ptx),
                                        .image_size = sizeof ptx,
                                        .stored_size = has_ptx ? sizeof ptx : 0};
    write_device(trace, is_emulated);
    trace_write(trace->writer, TRACE_MODULE, &module, ptx, (size_t)module.stored_size);
    for (uint32_t kernel = 1; kernel < WRITTEN_KERNELS; kernel++) write_kernel(trace, kernel);
}

void written_start(struct written_trace *trace, const char *path, enum image_kind kind)
{
    start_on(trace, path, kind, false);
}

void written_start_emulated(struct written_trace *trace, const char *path)
{
    start_on(trace, path, IMAGE_PTX, true);
}

void written_array(struct written_trace *trace, uint64_t address, uint64_t size)
{
    const struct trace_allocate allocate = {
        .sequence = trace->sequence++, .address = address, .size = size, .kind = TRACE_MEMORY_DEVICE};
    trace_write(trace->writer, TRACE_ALLOCATE, &allocate, NULL, 0);
}

void written_free(struct written_trace *trace, uint64_t address)
{
    const struct trace_free record = {.sequence = trace->sequence++, .address = address};
    trace_write(trace->writer, TRACE_FREE, &record, NULL, 0);
}

static void launch_with(struct written_trace *trace, enum written_kernel kernel, const void *arguments,
                        uint32_t size, uint32_t n)
{
    const struct trace_launch launch = {.sequence = trace->sequence++,
                                        .arrival_ns = trace->now_ns,
                                        .host_ns = HOST_NS,
                                        .kernel = kernel,
                                        .context = 1,
                                        .stream = trace->stream,
                                        .thread = trace->thread,
                                        .grid = {(n + WRITTEN_THREADS - 1) / WRITTEN_THREADS, 1, 1},
                                        .block = {WRITTEN_THREADS, 1, 1},
                                        .arguments_size = size};
    const struct trace_activity activity = {.sequence = launch.sequence,
                                            .start_ns = trace->now_ns,
                                            .end_ns = trace->now_ns + trace->kernel_ns,
                                            .registers = 10};
    trace_write(trace->writer, TRACE_LAUNCH, &launch, arguments, size);
    trace_write(trace->writer, TRACE_ACTIVITY, &activity, NULL, 0);
    trace->now_ns += HOST_NS + GAP_NS;
}

void written_launch(struct written_trace *trace, enum written_kernel kernel, uint64_t pointer, float factor,
                    uint32_t n)
{
    const struct arguments arguments = {pointer, factor, n};
    launch_with(trace, kernel, &arguments, sizeof arguments, n);
}

void written_padded(struct written_trace *trace, uint64_t pointer, uint32_t n, uint32_t padding)
{
    const struct padded arguments = {pointer, n, padding};
    launch_with(trace, WRITTEN_PADDED, &arguments, sizeof arguments, n);
}

void written_wall(struct written_trace *trace)
{
    const struct trace_wall wall = {.sequence = trace->sequence++, .arrival_ns = trace->now_ns};
    trace_write(trace->writer, TRACE_WALL, &wall, "cuCtxSynchronize", sizeof "cuCtxSynchronize");
}

void written_end(struct written_trace *trace)
{
    const struct trace_end end = {.sequence = trace->sequence++, .reason = trace->end};
    trace_write(trace->writer, TRACE_END, &end, NULL, 0);
    trace_writer_close(trace->writer);
}

/* SPDX-License-Identifier: Apache-2.0
 * usage: write_samples TRACE FOLDER -- writes a trace and a plan.bin that are small and known, for the tests
 * of commands that read them. */
#include "common/plan_build.h"
#include "common/trace.h"

#include <stdio.h>
#include <string.h>

static void write_kernel(struct trace_writer *writer, uint32_t id, const char *name, uint32_t registers)
{
    struct trace_kernel kernel = {.kernel = id,
                                  .module = 1,
                                  .registers = registers,
                                  .static_shared = 128 * id,
                                  .parameter_count = 1,
                                  .parameter_bytes = 8};
    char payload[64];
    memcpy(payload, &(struct trace_parameter){0, 8}, sizeof(struct trace_parameter));
    strcpy(payload + sizeof(struct trace_parameter), name);
    trace_write(writer, TRACE_KERNEL, &kernel, payload, sizeof(struct trace_parameter) + strlen(name) + 1);
}

/* Five steps: scale twice, add once; a read-back ends each step, a synchronise the last but one. */
static void write_launches(struct trace_writer *writer)
{
    uint64_t sequence = 0;
    for (uint32_t step = 0; step < 5; step++) {
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t kernel = i < 2 ? 1 : 2;
            struct trace_launch launch = {.sequence = ++sequence,
                                          .arrival_ns = 1000000 + 1000 * sequence,
                                          .host_ns = 3000,
                                          .kernel = kernel,
                                          .grid = {8, 1, 1},
                                          .block = {256, 1, 1},
                                          .arguments_size = 8};
            struct trace_activity activity = {.sequence = sequence,
                                              .start_ns = 5000 * sequence,
                                              .end_ns = 5000 * sequence + 1000 * kernel,
                                              .registers = 20};
            trace_write(writer, TRACE_LAUNCH, &launch, "\1\2\3\4\5\6\7\10", 8);
            if (step < 4) trace_write(writer, TRACE_ACTIVITY, &activity, NULL, 0);
        }
        struct trace_copy copy = {.sequence = ++sequence,
                                  .size = 1000000,
                                  .source = 0x10000,
                                  .destination_kind = TRACE_MEMORY_PAGEABLE,
                                  .source_kind = TRACE_MEMORY_DEVICE};
        struct trace_wall wall = {.sequence = ++sequence, .is_whole_context = 1};
        if (step != 3) trace_write(writer, TRACE_COPY, &copy, NULL, 0);
        trace_write(writer, TRACE_WALL, &wall, "cuCtxSynchronize", 17);
    }
}

static bool write_trace(const char *path)
{
    const char *error = NULL, *names[] = {"one", "two"};
    struct trace_writer *writer = trace_writer_open(path, &error);
    if (!writer) return fprintf(stderr, "%s: %s\n", path, error), false;
    struct trace_device device = {
        .compute_major = 9, .driver_version = 13000, .multiprocessors = 132, .name = "NVIDIA H100 80GB HBM3"};
    struct trace_allocate allocate = {
        .sequence = 1000, .address = 0x10000, .size = 4000000, .kind = TRACE_MEMORY_DEVICE};
    trace_write(writer, TRACE_DEVICE, &device, NULL, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct trace_module module = {.module = i + 1,
                                      .image_kind = 3,
                                      .flags = !i,
                                      .hash = hash_bytes(names[i], 3),
                                      .image_size = 3,
                                      .stored_size = i ? 0 : 3};
        trace_write(writer, TRACE_MODULE, &module, names[i], module.stored_size);
    }
    write_kernel(writer, 1, "scale", 20);
    write_kernel(writer, 2, "add", 30);
    trace_write(writer, TRACE_ALLOCATE, &allocate, NULL, 0);
    write_launches(writer);
    struct trace_end end = {.sequence = 2000, .launches = 15, .activities = 12, .reason = TRACE_END_PERIODIC};
    trace_write(writer, TRACE_END, &end, NULL, 0);
    bool written = trace_writer_flush(writer);
    trace_writer_close(writer);
    return written;
}

static bool write_plan(const char *folder)
{
    char error[512];
    struct arena *arena = arena_create();
    struct plan_builder *builder = plan_build_start(arena);
    plan_build_device(builder, "NVIDIA H100 80GB HBM3", 9, 0, 13000, false);
    bool written = plan_build_write(builder, folder, error, sizeof error);
    if (!written) fprintf(stderr, "%s\n", error);
    arena_free(arena);
    return written;
}

int main(int argc, char **argv)
{
    return argc == 3 && write_trace(argv[1]) && write_plan(argv[2]) ? 0 : 1;
}

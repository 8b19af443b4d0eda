/* SPDX-License-Identifier: Apache-2.0
 * See memop.h. */
#include "fuser/planner/memop.h"

#include "common/hash.h"
#include "common/image.h"
#include "fuser/access/stride.h"
#include "fuser/planner/projection.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTHS = 5, /* elements of 1, 2, 4, 8 and 16 bytes */
    KERNELS = 2 * WIDTHS,
    LINE_BLOCK = 256,
    REGISTERS = 16,
    FAR = 8, /* launches, in which a neighbour is looked for */
};
static const uint32_t most_blocks[3] = {INT32_MAX, 65535, 65535};

/* --- the kernels -------------------------------------------------------------------------------------------- */

static uint32_t kernel_number(enum memop_kind kind, uint32_t width)
{
    return (kind == MEMOP_COPY ? WIDTHS : 0) + (uint32_t)__builtin_ctz(width);
}

enum memop_kind memop_of_kernel(const struct program *program, uint32_t kernel, uint32_t *width)
{
    if (!program->first_memop || kernel < program->first_memop) return MEMOP_NONE;
    uint32_t number = kernel - program->first_memop;
    *width = 1u << number % WIDTHS;
    return number < WIDTHS ? MEMOP_SET : MEMOP_COPY;
}

static const char *kernel_name(struct arena *arena, uint32_t number)
{
    return arena_printf(arena, "kfuse_%s_%u", number < WIDTHS ? "set" : "copy", 1u << number % WIDTHS);
}

/* Element x + nx * (y + ny * z), its place in bytes in %rd3. */
static const char entry_format[] =
    ".visible .entry %s(.param .u64 to, .param .u64 from, .param .u32 nx, .param .u32 ny, .param .u32 nz)\n"
    "{\n"
    "\t.reg .pred %%p<4>;\n\t.reg .b16 %%h<2>;\n\t.reg .b32 %%r<17>;\n\t.reg .b64 %%rd<10>;\n"
    "\tld.param.u32 %%r1, [nx];\n\tld.param.u32 %%r2, [ny];\n\tld.param.u32 %%r3, [nz];\n"
    "\tmov.u32 %%r4, %%ctaid.x;\n\tmov.u32 %%r5, %%ntid.x;\n\tmov.u32 %%r6, %%tid.x;\n"
    "\tmad.lo.s32 %%r7, %%r4, %%r5, %%r6;\n"
    "\tmov.u32 %%r8, %%ctaid.y;\n\tmov.u32 %%r9, %%ntid.y;\n\tmov.u32 %%r10, %%tid.y;\n"
    "\tmad.lo.s32 %%r11, %%r8, %%r9, %%r10;\n"
    "\tmov.u32 %%r12, %%ctaid.z;\n\tmov.u32 %%r13, %%ntid.z;\n\tmov.u32 %%r14, %%tid.z;\n"
    "\tmad.lo.s32 %%r15, %%r12, %%r13, %%r14;\n"
    "\tsetp.ge.s32 %%p1, %%r7, %%r1;\n\tsetp.ge.s32 %%p2, %%r11, %%r2;\n\tor.pred %%p1, %%p1, %%p2;\n"
    "\tsetp.ge.s32 %%p3, %%r15, %%r3;\n\tor.pred %%p1, %%p1, %%p3;\n"
    "\t@%%p1 bra DONE;\n"
    "\tld.param.u64 %%rd1, [to];\n\tcvta.to.global.u64 %%rd2, %%rd1;\n"
    "\tmad.lo.s32 %%r16, %%r15, %%r2, %%r11;\n\tmul.wide.s32 %%rd3, %%r16, %%r1;\n"
    "\tcvt.s64.s32 %%rd4, %%r7;\n\tadd.s64 %%rd3, %%rd3, %%rd4;\n\tshl.b64 %%rd3, %%rd3, %u;\n"
    "\tadd.s64 %%rd2, %%rd2, %%rd3;\n"
    "\tld.param.u64 %%rd5, [from];\n%s"
    "DONE:\n\tret;\n}\n";

static const char *const set_bodies[WIDTHS] = {
    "\tcvt.u16.u64 %h1, %rd5;\n\tst.global.u8 [%rd2], %h1;\n",
    "\tcvt.u16.u64 %h1, %rd5;\n\tst.global.u16 [%rd2], %h1;\n",
    "\tcvt.u32.u64 %r4, %rd5;\n\tst.global.u32 [%rd2], %r4;\n",
    "\tst.global.u64 [%rd2], %rd5;\n",
    "\tst.global.v2.u64 [%rd2], {%rd5, %rd5};\n",
};
#define FROM "\tcvta.to.global.u64 %rd6, %rd5;\n\tadd.s64 %rd6, %rd6, %rd3;\n"
static const char *const copy_bodies[WIDTHS] = {
    FROM "\tld.global.u8 %h1, [%rd6];\n\tst.global.u8 [%rd2], %h1;\n",
    FROM "\tld.global.u16 %h1, [%rd6];\n\tst.global.u16 [%rd2], %h1;\n",
    FROM "\tld.global.u32 %r4, [%rd6];\n\tst.global.u32 [%rd2], %r4;\n",
    FROM "\tld.global.u64 %rd7, [%rd6];\n\tst.global.u64 [%rd2], %rd7;\n",
    FROM "\tld.global.v2.u64 {%rd7, %rd8}, [%rd6];\n\tst.global.v2.u64 [%rd2], {%rd7, %rd8};\n",
};

static const char *kernels_text(struct arena *arena)
{
    const char *text = ".version 8.0\n.target sm_70\n.address_size 64\n";
    for (uint32_t i = 0; text && i < KERNELS; i++) {
        const char *name = kernel_name(arena, i);
        const char *body = i < WIDTHS ? set_bodies[i] : copy_bodies[i - WIDTHS];
        const char *entry = name ? arena_printf(arena, entry_format, name, i % WIDTHS, body) : NULL;
        text = entry ? arena_printf(arena, "%s%s", text, entry) : NULL;
    }
    return text;
}

static bool add_module(struct program *program, struct program_module *module)
{
    const char *text = kernels_text(program->arena);
    struct trace_module *record = arena_calloc(program->arena, 1, sizeof *record);
    if (!text || !record) return false;
    size_t size = strlen(text) + 1;
    *record = (struct trace_module){.module = program->module_count,
                                    .image_kind = IMAGE_PTX,
                                    .flags = TRACE_MODULE_HAS_PTX,
                                    .hash = hash_bytes(text, size),
                                    .image_size = size,
                                    .stored_size = size};
    *module = (struct program_module){
        .record = record, .options = (const unsigned char *)text + size, .image = text};
    return true;
}

static const struct trace_parameter parameters[MEMOP_ARGUMENT_COUNT] = {
    {offsetof(struct memop_arguments, to), 8},        {offsetof(struct memop_arguments, from), 8},
    {offsetof(struct memop_arguments, extent[0]), 4}, {offsetof(struct memop_arguments, extent[1]), 4},
    {offsetof(struct memop_arguments, extent[2]), 4},
};

static bool add_kernel(struct program *program, struct program_kernel *kernel, uint32_t number)
{
    struct trace_kernel *record = arena_calloc(program->arena, 1, sizeof *record);
    if (!record) return false;
    *record = (struct trace_kernel){.kernel = program->first_memop + number,
                                    .module = program->module_count,
                                    .registers = REGISTERS,
                                    .max_threads = 1024,
                                    .parameter_count = MEMOP_ARGUMENT_COUNT,
                                    .parameter_bytes = MEMOP_ARGUMENT_BYTES};
    *kernel = (struct program_kernel){
        .record = record, .parameters = parameters, .name = kernel_name(program->arena, number)};
    return kernel->name != NULL;
}

/* --- one shape ---------------------------------------------------------------------------------------------- */

struct shape {
    uint32_t width, extent[3], block[3];
};

static uint32_t blocks_of(const struct shape *shape, int axis)
{
    return (shape->extent[axis] + shape->block[axis] - 1) / shape->block[axis];
}

static bool fits(const struct shape *shape)
{
    for (int axis = 0; axis < 3; axis++)
        if (!shape->extent[axis] || blocks_of(shape, axis) > most_blocks[axis]) return false;
    return (uint64_t)shape->extent[1] * shape->extent[2] <= INT32_MAX;
}

/* Records and arguments of memory operations are the program's arena's, and ours to change. */
static void give_shape(struct program *program, struct program_launch *launch, const struct shape *shape,
                       enum memop_kind kind)
{
    struct trace_launch *record = (struct trace_launch *)launch->record;
    struct memop_arguments *arguments = (struct memop_arguments *)launch->arguments;
    for (int axis = 0; axis < 3; axis++) {
        record->grid[axis] = blocks_of(shape, axis);
        record->block[axis] = shape->block[axis];
        arguments->extent[axis] = shape->extent[axis];
    }
    record->kernel = program->first_memop + kernel_number(kind, shape->width);
}

static uint32_t line_width(enum memop_kind kind, const struct memop_arguments *arguments, uint64_t bytes)
{
    uint64_t from = kind == MEMOP_COPY ? arguments->from : 0;
    uint32_t width = memop_width(arguments->to, from, bytes, 8);
    return bytes / width > INT32_MAX ? 0 : width;
}

static struct shape line_of(uint64_t bytes, uint32_t width)
{
    return (struct shape){width, {(uint32_t)(bytes / width), 1, 1}, {LINE_BLOCK, 1, 1}};
}

bool memop_launch(struct program *program, const struct memop *memop, struct program_launch *launch)
{
    struct trace_launch *record = arena_calloc(program->arena, 1, sizeof *record);
    struct memop_arguments *arguments = arena_calloc(program->arena, 1, sizeof *arguments);
    uint32_t ends = memop->kind == MEMOP_COPY ? 2 : 1;
    struct program_pointer *pointers = arena_calloc(program->arena, ends, sizeof *pointers);
    if (!record || !arguments || !pointers) return false;
    *record = (struct trace_launch){.sequence = memop->sequence,
                                    .arrival_ns = memop->arrival_ns,
                                    .kernel = UINT32_MAX,
                                    .context = memop->context,
                                    .stream = memop->stream,
                                    .thread = memop->thread,
                                    .arguments_size = MEMOP_ARGUMENT_BYTES};
    *arguments = (struct memop_arguments){.to = memop->to, .from = memop->from};
    for (uint32_t i = 0; i < ends; i++) {
        pointers[i] = memop->ends[i];
        pointers[i].offset = 8 * i;
    }
    uint32_t width = line_width(memop->kind, arguments, memop->bytes);
    const struct shape shape = line_of(memop->bytes, width);
    *launch = (struct program_launch){.memop = memop->kind,
                                      .record = record,
                                      .arguments = (const unsigned char *)arguments,
                                      .pointers = pointers,
                                      .pointer_count = ends};
    give_shape(program, launch, &shape, memop->kind);
    return true;
}

static void count_launches(struct program *program)
{
    for (uint32_t k = 0; k < KERNELS; k++) program->kernels[program->first_memop + k].launches = 0;
    for (uint32_t i = 0; i < program->launch_count; i++)
        if (program->launches[i].memop) program->kernels[program->launches[i].record->kernel].launches++;
}

static bool has_any(const struct program *program)
{
    for (uint32_t i = 0; i < program->launch_count; i++)
        if (program->launches[i].memop) return true;
    return false;
}

bool memop_end(struct program *program)
{
    if (!has_any(program)) return true;
    uint32_t kernels = program->kernel_count, modules = program->module_count;
    program->kernels =
        arena_grow(program->arena, program->kernels, kernels, kernels + KERNELS, sizeof *program->kernels);
    program->modules =
        arena_grow(program->arena, program->modules, modules, modules + 1, sizeof *program->modules);
    if (!program->kernels || !program->modules || !add_module(program, &program->modules[modules]))
        return false;
    program->first_memop = kernels;
    for (uint32_t k = 0; k < KERNELS; k++)
        if (!add_kernel(program, &program->kernels[kernels + k], k)) return false;
    program->kernel_count += KERNELS;
    program->module_count++;
    for (uint32_t i = 0; i < program->launch_count; i++)
        if (program->launches[i].memop)
            ((struct trace_launch *)program->launches[i].record)->kernel += program->first_memop;
    count_launches(program);
    return true;
}

/* --- the neighbours' shape ---------------------------------------------------------------------------------- */

/* Elements of rows of layers, where the bytes are so many of them. */
static bool shape_of(const struct access_summary *summary, const struct access *access, uint64_t bytes,
                     struct shape *shape)
{
    int64_t strides[3];
    uint32_t width = access->width;
    if (!width || width > MEMOP_WIDEST || (width & (width - 1)) || bytes % width) return false;
    if (!access_strides(summary, access, strides) || strides[0] != width) return false;
    uint64_t row = strides[1] ? (uint64_t)strides[1] : bytes;
    uint64_t layer = strides[2] ? (uint64_t)strides[2] : bytes;
    if (row % width || layer % row || bytes % layer || bytes / width > INT32_MAX) return false;
    *shape = (struct shape){
        width, {(uint32_t)(row / width), (uint32_t)(layer / row), (uint32_t)(bytes / layer)}, {0}};
    memcpy(shape->block, summary->block, sizeof shape->block);
    return fits(shape);
}

/* By an access through a pointer to one of the arrays. */
static bool shape_by(const struct launch_class *class, const struct program_launch *neighbour,
                     const struct program_launch *memop, uint64_t bytes, struct shape *shape)
{
    const struct access_summary *summary = class->refusal ? NULL : class->summary;
    for (uint32_t i = 0; summary && i < summary->access_count; i++) {
        const struct access_base *base = &summary->bases[summary->accesses[i].base];
        if (base->kind != ACCESS_BASE_ARGUMENT) continue;
        for (uint32_t p = 0; p < neighbour->pointer_count; p++) {
            if (neighbour->pointers[p].offset != base->pointer) continue;
            for (uint32_t e = 0; e < memop->pointer_count; e++)
                if (neighbour->pointers[p].array == memop->pointers[e].array &&
                    shape_of(summary, &summary->accesses[i], bytes, shape))
                    return true;
        }
    }
    return false;
}

/* Those behind it first: what they read is what it leaves. */
static bool shape_beside(const struct launch_classes *classes, uint32_t number, uint64_t bytes,
                         struct shape *shape)
{
    const struct program *program = classes->program;
    const struct program_launch *memop = &program->launches[number];
    for (int way = 1; way >= -1; way -= 2)
        for (uint32_t step = 1; step <= FAR; step++) {
            uint32_t other = way > 0 ? number + step : number - step;
            if (way > 0 ? other >= program->launch_count : step > number) break;
            const struct program_launch *neighbour = &program->launches[other];
            if (neighbour->window != memop->window) break;
            if (!neighbour->memop &&
                shape_by(launch_class_of(classes, other), neighbour, memop, bytes, shape))
                return true;
        }
    return false;
}

static uint64_t bytes_of(const struct program *program, const struct program_launch *launch)
{
    const struct memop_arguments *arguments = (const struct memop_arguments *)launch->arguments;
    uint32_t width = 0;
    memop_of_kernel(program, launch->record->kernel, &width);
    return (uint64_t)arguments->extent[0] * arguments->extent[1] * arguments->extent[2] * width;
}

struct known_shape {
    enum memop_kind kind;
    uint64_t bytes;
    bool is_found; /* by a neighbour */
    struct shape shape;
};

/* What a set or a copy takes at least: it is not recorded. What fits in the cache may move so much faster. */
static uint64_t least_time(const struct projection *projection, enum memop_kind kind, uint64_t bytes)
{
    const double cache_speed = 2.5;
    double moved = (double)bytes * (kind == MEMOP_COPY ? 2 : 1);
    double speed = projection->bytes_per_ns * (2 * moved < projection->cache_bytes ? cache_speed : 1);
    return (uint64_t)(projection->floor_ns + moved / speed);
}

/* Of one kind and size; shapes has room for as many as there are memory operations. */
static struct known_shape *known_shape(struct known_shape *shapes, enum memop_kind kind, uint64_t bytes)
{
    struct known_shape *known = shapes;
    while (known->kind && (known->kind != kind || known->bytes != bytes)) known++;
    known->kind = kind;
    known->bytes = bytes;
    return known;
}

/* The operation can be done in elements of this width. */
static bool has_elements(const struct program_launch *launch, uint32_t width)
{
    const struct memop_arguments *arguments = (const struct memop_arguments *)launch->arguments;
    if (launch->memop == MEMOP_SET && !memop_repeats(arguments->from, width)) return false;
    uint64_t from = launch->memop == MEMOP_COPY ? arguments->from : 0;
    return (arguments->to | from) % width == 0;
}

bool memop_shape(struct launch_classes *classes)
{
    struct program *program = classes->program;
    if (!program->first_memop) return true;
    const struct projection projection = projection_calibrate(program);
    struct known_shape *shapes = arena_calloc(program->arena, program->launch_count + 1, sizeof *shapes);
    if (!shapes) return false;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        struct program_launch *launch = &program->launches[i];
        if (!launch->memop) continue;
        uint64_t bytes = bytes_of(program, launch);
        struct known_shape *known = known_shape(shapes, launch->memop, bytes);
        launch->time_ns = least_time(&projection, launch->memop, bytes);
        if (!known->is_found) known->is_found = shape_beside(classes, i, bytes, &known->shape);
    }
    for (uint32_t i = 0; i < program->launch_count; i++) {
        struct program_launch *launch = &program->launches[i];
        if (!launch->memop) continue;
        const struct known_shape *known = known_shape(shapes, launch->memop, bytes_of(program, launch));
        if (known->is_found && has_elements(launch, known->shape.width))
            give_shape(program, launch, &known->shape, launch->memop);
    }
    count_launches(program);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Accesses of drawn kernels: which element, whose guard, through which pointer; and what they look like in C.
 */
#include "tests/referee/kernel_writer.h"

#include <string.h>

static const struct kernel_type types[] = {
    {"float", 4},          {"float", 4},         {"double", 8}, {"int", 4},
    {"unsigned short", 2}, {"unsigned char", 1}, {"float2", 8}, {"float4", 16},
    {"signed char", 1},    {"long long", 8},     {"short", 2},
};
static const struct kernel_type *const float_type = &types[0], *const double_type = &types[2],
                                       *const int_type = &types[3];

const struct kernel_type *kernel_int_type(void)
{
    return int_type;
}

const struct kernel_type *kernel_double_type(void)
{
    return double_type;
}

/* --- what accesses look like in C --- */

void kernel_write_element(struct writer *writer, const struct kernel_access *access)
{
    static const char *const line[KERNEL_MAPS] = {
        [MAP_OWN] = "i",
        [MAP_SHIFT] = "i + (%d)",
        [MAP_OFFSET] = "i + o",
        [MAP_TIMES] = "%d * i + %d",
        [MAP_REVERSE] = "n - 1 - i",
        [MAP_NEGATIVE] = "-1 - i",
        [MAP_HALF] = "i / %d",
        [MAP_SPLIT] = "i / %d * %d + i %% %d",
        [MAP_MODULO] = "i %% %d",
        [MAP_WRAP] = "(i + %d) %% n",
        [MAP_RING] = "(i + o) %% n",
        [MAP_CLAMP] = "min(max((int)i + (%d), 0), n - 1)",
        [MAP_CONSTANT] = "%d",
        [MAP_XOR] = "i ^ %d",
        [MAP_ROW] = "i * %d + j",
        [MAP_COLUMN] = "j * n + i",
        [MAP_LEVEL] = "(j + (%d)) * n + i",
        [MAP_BESIDE] = "(j + (%d)) * n + i + (%d)",
        [MAP_NEAREST] = "(j + (%d)) * n + min(max((int)i + (%d), 0), (int)n - 1)",
        [MAP_LEVEL_IN_BLOCK] =
            "(j + (%d)) * n + min((int)(i - threadIdx.x + (threadIdx.x + %d) %% blockDim.x), (int)n - 1)",
        [MAP_WINDOW] = "i + j",
        [MAP_TURNED] = "i",
        [MAP_MIRROR] = "max((int)i - 2 * ((int)i %% %d), 0)",
        [MAP_BACK] = "max((int)i - j, 0)",
        [MAP_GATHER] = "(unsigned)g[i] & %d",
        [MAP_ROAM] = "(int)((float)((unsigned)g[i] & %d) * 1.5f)",
        [MAP_CHOSEN] = "(i + (int)((unsigned)g[0] %% 97u)) %% n",
        [MAP_FIRST] = "i - threadIdx.x + threadIdx.x %% 32",
        [MAP_WARP] = "min((int)(i - threadIdx.x %% 32), (int)n - 1)",
        [MAP_END] = "n + i + (%d)",
        [MAP_EDGE_ROW] = "(%d) * m + i",
        [MAP_EDGE_COLUMN] = "i * m + (%d)",
        [MAP_IN_BLOCK] = "min((int)(i - threadIdx.x + (threadIdx.x + %d) %% blockDim.x), (int)n - 1)",
        [MAP_CELL] = "",
    };
    static const char *const plane[KERNEL_MAPS] = {
        [MAP_OWN] = "y * m + x",
        [MAP_SHIFT] = "y * m + x + (%d)",
        [MAP_OFFSET] = "(y + (%d)) * m + x",
        [MAP_REVERSE] = "h * m - 1 - (y * m + x)",
        [MAP_CLAMP] = "y * m + min(max((int)x + (%d), 0), n - 1)",
        [MAP_IN_BLOCK] =
            "min((int)(y - threadIdx.y + (threadIdx.y + %d + 1) %% blockDim.y), (int)h - 1) * m + "
            "min((int)(x - threadIdx.x + (threadIdx.x + %d) %% blockDim.x), (int)n - 1)",
        [MAP_TURNED] = "x * h + y",
        [MAP_CONSTANT] = "%d",
    };
    const char *format = writer->kernel->shape == KERNEL_PLANE ? plane[access->map] : line[access->map];
    if (access->map == MAP_EDGE_ROW && access->c < 0) format = "(h + (%d)) * m + i";
    if (access->map == MAP_EDGE_COLUMN && access->c < 0) format = "i * m + n + (%d)";
    if (access->is_volatile)
        kernel_say(writer, "((volatile %s *)p%u)[", writer->kernel->pointers[access->pointer].type->name,
                   access->pointer);
    else if (access->twin)
        kernel_say(writer, "(%s %% 2 == 0 ? p%u : p%u)[", writer->kernel->shape == KERNEL_PLANE ? "x" : "i",
                   access->pointer, access->twin - 1);
    else
        kernel_say(writer, "p%u[", access->pointer);
    if (access->map == MAP_UPWIND) {
        const char *own = writer->kernel->shape == KERNEL_PLANE ? "y * m + x" : "i";
        format = "";
        if (access->is_by_element)
            kernel_say(writer, "%s + (p%u[%s]%s > 1 ? %d : %d)", own, access->pointer, own,
                       kernel_is_vector(writer, access) ? ".x" : "", access->c, access->other);
        else
            kernel_say(writer, "%s + (v%u > (%s)1 ? %d : %d)", own, writer->values - 1,
                       kernel_value_type(writer), access->c, access->other);
    }
    if (access->map == MAP_CELL) {
        format = "";
        kernel_say(
            writer,
            "min(min(max((int)i / %d + (%d), 0), ((int)n - 1) / %d) * %d + min(max((int)i %% %d + (%d), "
            "0), %d), (int)n - 1)",
            access->row, access->c, access->row, access->row, access->row, access->d, access->row - 1);
    }
    for (int number = 0; *format; format++) {
        if (*format != '%') {
            kernel_say(writer, "%c", *format);
        } else if (*++format == '%') {
            kernel_say(writer, "%%");
        } else {
            /* of a SPLIT: c, c + d, c */
            bool is_split = access->map == MAP_SPLIT;
            bool is_one = access->map == MAP_IN_BLOCK;
            kernel_say(writer, "%d",
                       is_split            ? access->c + (number == 1 ? access->d : 0)
                       : number && !is_one ? access->d
                                           : access->c);
            number++;
        }
    }
    kernel_say(writer, "]");
}

void kernel_write_guard(struct writer *writer, const struct kernel_access *access)
{
    const char *i = writer->kernel->shape == KERNEL_PLANE ? "x" : "i";
    if (access->twin) return;
    switch (access->guard) {
    case GUARD_INNER:
        kernel_say(writer, "if (%s > 0 && %s + 1 < n) ", i, i);
        break;
    case GUARD_EVEN:
        kernel_say(writer, "if (%s %% 2 == 0) ", i);
        break;
    case GUARD_ODD:
        kernel_say(writer, "if (%s %% 2 != 0) ", i);
        break;
    case GUARD_BELOW: /* what is unlikely comes last in the code, wherever it is run */
        if ((writer->kernel->role || writer->kernel->scene) && access->is_write && access->d % 4)
            kernel_say(writer, "if (__builtin_expect(%s < %d, 0)) ", i, access->d);
        else
            kernel_say(writer, "if (%s < %d) ", i, access->d);
        break;
    case GUARD_FROM_OFFSET:
        kernel_say(writer, "if (%s >= o) ", i);
        break;
    case GUARD_DATA:
        kernel_say(writer, "if (v%u > (%s)1) ", random_below(writer->random, writer->values),
                   writer->kernel->value == 'd' ? "double" : "float");
        break;
    case GUARD_INSIDE:
        kernel_say(writer, "if (%s >= %d && %s + %d < n", i, access->d, i, access->d);
        if (writer->kernel->shape == KERNEL_PLANE)
            kernel_say(writer, " && y >= %d && y + %d < h", access->d, access->d);
        kernel_say(writer, ") ");
        break;
    case GUARD_FIRST_WARP:
        kernel_say(writer, "if (threadIdx.x < 32) ");
        break;
    case GUARD_OTHER_WARPS:
        kernel_say(writer, "if (threadIdx.x >= 32) ");
        break;
    case GUARD_IN_BLOCK:
        kernel_say(writer, "if (threadIdx.x + %d < blockDim.x) ", access->c);
        break;
    case GUARD_NONE:
    case KERNEL_GUARDS:
        break;
    }
}

void kernel_write_trips(struct writer *writer, const struct kernel_access *access)
{
    if (access->is_in_loop) return;
    if (access->trips < 0)
        kernel_say(writer, "for (int j = 0; j < m; j++) ");
    else if (access->trips)
        kernel_say(writer, "for (int j = 0; j < %d; j++) ", access->trips);
}

const char *kernel_value_type(const struct writer *writer)
{
    return writer->kernel->value == 'd' ? "double" : writer->kernel->value == 'i' ? "unsigned" : "float";
}

bool kernel_is_vector(const struct writer *writer, const struct kernel_access *access)
{
    return strncmp(writer->kernel->pointers[access->pointer].type->name, "float", 5) == 0 &&
           writer->kernel->pointers[access->pointer].type->size > 4;
}

/* --- drawing accesses --- */

const struct kernel_type *kernel_draw_type(struct writer *writer)
{
    if (writer->kernel->is_stencil || writer->kernel->scene ||
        random_chance(writer->random, writer->kernel->is_plain ? 93 : 70))
        return writer->kernel->value == 'd'   ? double_type
               : writer->kernel->value == 'i' ? int_type
                                              : float_type;
    uint32_t count = sizeof types / sizeof *types, other = writer->theme->other_type % count;
    if (random_chance(writer->random, 60)) { /* mostly one type, or another one of its size */
        uint32_t any = random_below(writer->random, count);
        return &types[types[any].size == types[other].size ? any : other];
    }
    return &types[random_below(writer->random, sizeof types / sizeof *types)];
}

const struct kernel_type *kernel_half_type(const struct writer *writer)
{
    static const struct kernel_type *const half = &types[4];
    return writer->kernel->value == 'd' ? float_type : half;
}

static uint32_t draw_pointer(struct writer *writer, uint32_t percent_new)
{
    struct kernel *kernel = writer->kernel;
    for (uint32_t p = 0; p < kernel->pointer_count; p++) /* the program's one table is used often */
        if (kernel->pointers[p].variable == 't' && random_chance(writer->random, 40)) return p;
    bool is_new = !kernel->pointer_count || random_chance(writer->random, percent_new);
    if (!is_new || kernel->pointer_count == KERNEL_POINTERS)
        return random_below(writer->random, kernel->pointer_count);
    kernel->pointers[kernel->pointer_count].type = kernel_draw_type(writer);
    char other = 0; /* variables of the module come in pairs: kernels that use both must not mix them up */
    for (uint32_t p = 0; p < kernel->pointer_count; p++)
        if (kernel->pointers[p].variable) other = kernel->pointers[p].variable;
    if (writer->theme->has_tables && !writer->kernel->is_plain &&
        random_chance(writer->random, other ? 85 : 60)) {
        bool is_table = other ? other == 'c' : random_chance(writer->random, 60);
        kernel->pointers[kernel->pointer_count].type = float_type;
        kernel->pointers[kernel->pointer_count].variable = is_table ? 't' : 'c';
    }
    return kernel->pointer_count++;
}

static enum kernel_map draw_map(struct writer *writer, bool is_write)
{
    struct random *random = writer->random;
    if (writer->kernel->is_stencil) {
        if (is_write || random_chance(random, 30)) return MAP_OWN;
        if (writer->kernel->shape == KERNEL_PLANE)
            return random_of(random, MAP_SHIFT, MAP_OFFSET, MAP_OFFSET, MAP_CLAMP);
        return random_of(random, MAP_SHIFT, MAP_SHIFT, MAP_WRAP, MAP_WRAP, MAP_CLAMP);
    }
    if (writer->kernel->is_column && random_chance(random, 75)) return MAP_COLUMN;
    if (writer->kernel->shape == KERNEL_BLOCK && writer->theme->blocks && !is_write &&
        random_chance(random, 35))
        return MAP_IN_BLOCK;
    if (writer->kernel->shape == KERNEL_BLOCK && writer->theme->blocks && random_chance(random, 85))
        return MAP_OWN;
    if (writer->kernel->is_plain && random_chance(random, 90)) return MAP_OWN;
    if (writer->kernel->shape == KERNEL_PLANE) {
        if (random_chance(random, 75)) return MAP_OWN;
        if (is_write) return random_of(random, MAP_SHIFT, MAP_OFFSET, MAP_REVERSE, MAP_TURNED);
        return random_of(random, MAP_SHIFT, MAP_SHIFT, MAP_OFFSET, MAP_REVERSE, MAP_CLAMP, MAP_TURNED,
                         MAP_CONSTANT);
    }
    if (random_chance(random, is_write ? 82 : 68)) return MAP_OWN;
    if (is_write)
        return random_of(random, MAP_SHIFT, MAP_OFFSET, MAP_TIMES, MAP_SPLIT, MAP_SPLIT, MAP_REVERSE,
                         MAP_WRAP, MAP_NEGATIVE, MAP_XOR, MAP_ROW, MAP_COLUMN, MAP_CONSTANT);
    return random_of(random, MAP_SHIFT, MAP_SHIFT, MAP_OFFSET, MAP_TIMES, MAP_SPLIT, MAP_REVERSE,
                     MAP_NEGATIVE, MAP_HALF, MAP_MODULO, MAP_WRAP, MAP_CLAMP, MAP_MIRROR, MAP_MIRROR,
                     MAP_BACK, MAP_CLAMP, MAP_CONSTANT, MAP_XOR, MAP_ROW, MAP_COLUMN, MAP_WINDOW, MAP_GATHER,
                     MAP_GATHER, MAP_GATHER);
}

static enum kernel_guard draw_guard(struct writer *writer)
{
    if (random_chance(writer->random, writer->kernel->is_plain ? 93 : 78)) return GUARD_NONE;
    return (enum kernel_guard)(1 + random_below(writer->random, GUARD_IN_BLOCK - 1));
}

void kernel_draw_constants(struct writer *writer, struct kernel_access *access)
{
    struct random *random = writer->random;
    int32_t length = writer->theme->length;
    access->d = (int32_t)random_below(random, 3);
    if (access->guard == GUARD_BELOW) access->d = 1 + (int32_t)random_below(random, (uint32_t)length);
    /* of an array of the module, the compiler would load a first element that is a constant's in all threads: a race that is its own */
    if (access->guard == GUARD_BELOW && access->d == 1 && length > 1) access->d = 2;
    switch (access->map) {
    case MAP_SHIFT:
        access->c = random_of(random, -2, -1, -1, 1, 1, 2, 7, 32);
        break;
    case MAP_OFFSET:
        access->c = random_of(random, -1, 1, 2);
        break;
    case MAP_TIMES:
    case MAP_HALF:
        access->c = random_of(random, 2, 2, 3, 4);
        break;
    case MAP_SPLIT:
        access->c = random_of(random, 4, 10, 32, 33);
        if (access->guard == GUARD_BELOW) access->guard = GUARD_NONE;
        access->d = random_of(random, 0, 0, 1, 6);
        break;
    case MAP_MIRROR:
        access->c = random_of(random, 2, 3, 8, 10, 32);
        break;
    case MAP_MODULO:
        access->c = random_of(random, 2, 8, 32, 100, 128);
        break;
    case MAP_WRAP:
        access->c = random_of(random, 1, 1, 5, 64);
        break;
    case MAP_CLAMP:
        access->c = random_of(random, -1, 1, 2, -3);
        break;
    case MAP_XOR:
        access->c = random_of(random, 1, 1, 2, 3, 16, 32);
        break;
    case MAP_CONSTANT:
        access->c = random_of(random, 0, 0, 1, 5, 31);
        if (!access->is_write) break;
        access->guard = GUARD_BELOW;
        access->d = 1;
        break;
    case MAP_ROW:
    case MAP_COLUMN:
    case MAP_WINDOW:
    case MAP_BACK:
        access->c = access->trips = random_of(random, 2, 3, 4);
        if (access->map != MAP_ROW && random_chance(random, writer->kernel->is_column ? 85 : 30))
            access->trips = -1;
        break;
    case MAP_GATHER:
    case MAP_ROAM:
        access->c = random_of(random, 15, 31, 127);
        break;
    case MAP_IN_BLOCK:
        access->c = random_of(random, 1, 1, 2, 16, 31);
        break;
    default:
        break;
    }
}

bool kernel_draw_index(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    if (writer->has_index) return false; /* one index array a kernel */
    if (kernel->pointer_count == KERNEL_POINTERS || kernel->access_count + 2 > KERNEL_ACCESSES) return false;
    uint32_t pointer = kernel->pointer_count++;
    writer->has_index = true;
    writer->index_pointer = pointer;
    kernel->pointers[pointer].type = int_type;
    kernel->accesses[kernel->access_count++] = (struct kernel_access){.pointer = pointer, .map = MAP_OWN};
    kernel_say(writer, "const int *g = (const int *)p%u;\n", pointer);
    return true;
}

/* A stencil reads 0 and 1, and writes 2. */
static uint32_t stencil_pointer(struct writer *writer, bool is_write)
{
    struct kernel *kernel = writer->kernel;
    uint32_t pointer = is_write ? 2 : random_chance(writer->random, 20);
    while (kernel->pointer_count <= pointer)
        kernel->pointers[kernel->pointer_count++].type = kernel_draw_type(writer);
    return pointer;
}

struct kernel_access *kernel_draw_access(struct writer *writer, bool is_write)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->access_count + 2 > KERNEL_ACCESSES) return NULL;
    struct kernel_access access = {.is_write = is_write};
    access.map = draw_map(writer, is_write);
    access.guard = draw_guard(writer);
    if (kernel->index == 'u' && access.map == MAP_NEGATIVE) access.map = MAP_OWN;
    if (!writer->values && access.guard == GUARD_DATA) access.guard = GUARD_NONE;
    if (access.map == MAP_GATHER && !kernel_draw_index(writer)) access.map = MAP_OWN;
    access.is_volatile = !kernel->is_plain && random_chance(writer->random, 2);
    access.pointer = kernel->is_stencil ? stencil_pointer(writer, is_write)
                                        : draw_pointer(writer, kernel->pointer_count < 2 ? 70 : 45);
    if (kernel_is_vector(writer, &access)) access.is_volatile = false;
    kernel_draw_constants(writer, &access);
    if (kernel->pointers[access.pointer].variable == 'c') {
        if (is_write) return NULL;
        access = (struct kernel_access){.pointer = access.pointer,
                                        .map = MAP_CONSTANT,
                                        .c = (int32_t)random_below(writer->random, KERNEL_CONSTANTS)};
        if (kernel->shape != KERNEL_PLANE && random_chance(writer->random, 40))
            access.map = MAP_MODULO, access.c = 8;
    }
    kernel->accesses[kernel->access_count] = access;
    return &kernel->accesses[kernel->access_count++];
}

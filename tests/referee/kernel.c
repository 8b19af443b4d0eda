/* SPDX-License-Identifier: Apache-2.0
 * Draws kernels by lot and writes them as CUDA C, one statement a line (so that shrinking can leave lines
 * out). */
#include "tests/referee/kernel_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct kernel_type types[] = {
    {"float", 4},          {"float", 4},         {"double", 8}, {"int", 4},
    {"unsigned short", 2}, {"unsigned char", 1}, {"float2", 8}, {"float4", 16},
    {"signed char", 1},    {"long long", 8},     {"short", 2},
};
static const struct kernel_type *const float_type = &types[0], *const double_type = &types[2],
                                       *const int_type = &types[3];

void kernel_say(struct writer *writer, const char *format, ...)
{
    struct text *text = &writer->text;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->size, sizeof text->bytes - text->size, format, arguments);
    va_end(arguments);
    if (length > 0 && text->size + (size_t)length < sizeof text->bytes) text->size += (size_t)length;
}

/* --- what accesses look like in C --- */

static void write_element(struct writer *writer, const struct kernel_access *access)
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
        [MAP_FIRST] = "i - threadIdx.x + threadIdx.x %% 32",
        [MAP_WARP] = "min((int)(i - threadIdx.x %% 32), (int)n - 1)",
        [MAP_END] = "n + i + (%d)",
        [MAP_EDGE_ROW] = "(%d) * m + i",
        [MAP_EDGE_COLUMN] = "i * m + (%d)",
        [MAP_IN_BLOCK] = "min((int)(i - threadIdx.x + (threadIdx.x + %d) %% blockDim.x), (int)n - 1)",
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
    else
        kernel_say(writer, "p%u[", access->pointer);
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

static void write_guard(struct writer *writer, const struct kernel_access *access)
{
    const char *i = writer->kernel->shape == KERNEL_PLANE ? "x" : "i";
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

static void write_trips(struct writer *writer, const struct kernel_access *access)
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

static bool is_vector(const struct writer *writer, const struct kernel_access *access)
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

static struct kernel_access *draw_access(struct writer *writer, bool is_write)
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
    if (is_vector(writer, &access)) access.is_volatile = false;
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

/* --- statements --- */

void kernel_write_load(struct writer *writer, struct kernel_access *access)
{
    const char *type = kernel_value_type(writer);
    bool is_nested = writer->kernel->shape == KERNEL_BLOCK;
    if (!access) return;
    uint32_t value = writer->values;
    kernel_say(writer, "%s v%u = 0; ", type, value);
    if (is_nested) kernel_say(writer, "if (in) ");
    if (access->guard == GUARD_DATA && !value) access->guard = GUARD_NONE;
    write_guard(writer, access);
    write_trips(writer, access);
    if (is_vector(writer, access)) {
        bool is_wide = writer->kernel->pointers[access->pointer].type->size == 16;
        kernel_say(writer, "{ %s w = ", is_wide ? "float4" : "float2");
        write_element(writer, access);
        kernel_say(writer, "; v%u += (%s)(w.x - w.y%s); }\n", value, type, is_wide ? " + w.z * w.w" : "");
    } else {
        kernel_say(writer, "v%u %s (%s)", value, access->trips ? "+=" : "=", type);
        write_element(writer, access);
        kernel_say(writer, ";\n");
    }
    writer->values++;
}

static void write_load(struct writer *writer)
{
    kernel_write_load(writer, draw_access(writer, false));
}

/* Functions that stay functions. */
const char kernel_called[] =
    "__device__ __noinline__ float mix(float a, float b, int k)\n"
    "{ for (int j = 0; j < (k & 3); j++) a = j & 1 ? a - b : a + k; return a; }\n"
    "__device__ __noinline__ double mix(double a, double b, int k)\n"
    "{ for (int j = 0; j < (k & 3); j++) a = j & 1 ? a - b : a + k; return a; }\n"
    "__device__ __noinline__ unsigned mix(unsigned a, unsigned b, int k)\n"
    "{ for (int j = 0; j < (k & 3); j++) a = a * 3 + b; return a; }\n"
    "template <typename T> __device__ __noinline__ void put(T *to, T value) { *to = value; }\n";

void kernel_write_compute(struct writer *writer)
{
    static const char *const of_floats[] = {
        "A * B + C",       "A + B",           "A - B * S",     "A * S",         "A * S + T",
        "fmaf(A, S, B)",   "fminf(A, B + T)", "fabsf(A) - C",  "A > B ? A : C", "A / (fabsf(B) + 1.0f)",
        "sqrtf(fabsf(A))", "A + (float)(I)",  "A * B - C * S", "A * A + B * B", "rsqrtf(fabsf(A) + T * T)",
    };
    static const char *const of_doubles[] = {
        "A * B + C",     "A + B",       "A - B * S",         "A * S + T",       "fma(A, (double)S, B)",
        "A > B ? A : C", "fabs(A) - C", "A / (B * B + 1.0)", "A + (double)(I)",
    };
    static const char *const of_integers[] = {
        "A * 3u + B", "A ^ B",     "A >> 3", "(A << 2) + C",       "A & 1023u",         "A % 7u",
        "A / 3u",     "min(A, B)", "A + I",  "__umulhi(A, B) + C", "A > B ? A - B : C", "__popc(A) + B",
        "~A | B",
    };
    struct random *random = writer->random;
    const char *const *forms = writer->kernel->value == 'd'   ? of_doubles
                               : writer->kernel->value == 'i' ? of_integers
                                                              : of_floats;
    uint32_t count = writer->kernel->value == 'd'   ? sizeof of_doubles / sizeof *of_doubles
                     : writer->kernel->value == 'i' ? sizeof of_integers / sizeof *of_integers
                                                    : sizeof of_floats / sizeof *of_floats;
    if (!writer->values) return;
    kernel_say(writer, "%s v%u = ", kernel_value_type(writer), writer->values);
    const char *form = forms[random_below(random, count)];
    if (writer->theme->has_calls && random_chance(random, 30)) form = "mix(A, B, I)";
    for (const char *at = form; *at; at++) {
        if (*at >= 'A' && *at <= 'C')
            kernel_say(writer, "v%u", random_below(random, writer->values));
        else if (strchr("SIT", *at))
            kernel_say(writer, "%s",
                       *at == 'S'                              ? "s"
                       : *at == 'T'                            ? "t"
                       : writer->kernel->shape == KERNEL_PLANE ? "x"
                                                               : "i");
        else
            kernel_say(writer, "%c", *at);
    }
    kernel_say(writer, ";\n");
    writer->values++;
}

/* What people write by hand and compilers do not: scopes, guards that are negated. */
void kernel_write_inline(struct writer *writer)
{
    if (!writer->values) return;
    uint32_t from = random_below(writer->random, writer->values), to = writer->values++;
    const char *type = kernel_value_type(writer);
    kernel_say(
        writer,
        "int w%u = (int)v%u; asm(\"{ .reg .pred q; setp.lt.s32 q, %%0, %d; @!q sub.s32 %%0, %%0, %d; }\"", to,
        from, random_of(writer->random, -3, 0, 2), random_of(writer->random, -7, 1, 5));
    kernel_say(writer, " : \"+r\"(w%u)); %s v%u = (%s)w%u;\n", to, type, to, type, to);
}

/* nvcc counts floating-point numbers along for that, which keeps iterations from being taken apart. */
static bool says_counter(const struct writer *writer, const struct kernel_access *access)
{
    bool has_border = writer->theme->scene && writer->theme->scene->fit == FIT_LONG;
    return access->trips && !(has_border && random_chance(writer->random, 85));
}

void kernel_write_store(struct writer *writer, const struct kernel_access *access)
{
    if (!access) return;
    writer->is_written[access->pointer] = true;
    uint32_t value = random_chance(writer->random, writer->kernel->scene  ? 100
                                                   : writer->kernel->role ? 95
                                                                          : 70)
                         ? writer->values - 1
                         : random_below(writer->random, writer->values);
    const struct kernel_type *type = writer->kernel->pointers[access->pointer].type;
    if (writer->kernel->shape == KERNEL_BLOCK) kernel_say(writer, "if (in) ");
    write_guard(writer, access);
    write_trips(writer, access);
    bool is_put = writer->theme->has_calls && !access->is_volatile && !is_vector(writer, access) &&
                  random_chance(writer->random, 30);
    if (is_put) kernel_say(writer, "put(&");
    write_element(writer, access);
    if (is_put)
        kernel_say(writer, ", (%s)(v%u%s));\n", type->name, value,
                   says_counter(writer, access) ? " + j" : "");
    else if (is_vector(writer, access) && type->size == 16)
        kernel_say(writer, " = make_float4(v%u, s, v%u, t);\n", value,
                   random_below(writer->random, writer->values));
    else if (is_vector(writer, access))
        kernel_say(writer, " = make_float2(v%u, v%u);\n", value,
                   random_below(writer->random, writer->values));
    else
        kernel_say(writer, " = (%s)(v%u%s);\n", type->name, value,
                   says_counter(writer, access) ? " + j" : "");
}

static void write_store(struct writer *writer)
{
    if (writer->values) kernel_write_store(writer, draw_access(writer, true));
}

void kernel_write_atomic(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->pointer_count == KERNEL_POINTERS || kernel->access_count + 2 > KERNEL_ACCESSES) return;
    uint32_t pointer = kernel->pointer_count++;
    kernel->pointers[pointer].type = int_type;
    writer->is_written[pointer] = true;
    struct kernel_access access = {.pointer = pointer,
                                   .map =
                                       random_of(writer->random, MAP_CONSTANT, MAP_MODULO, MAP_OWN, MAP_HALF),
                                   .c = random_of(writer->random, 1, 8, 32),
                                   .is_write = true,
                                   .is_atomic = true};
    kernel->accesses[kernel->access_count++] = access;
    if (kernel->shape == KERNEL_PLANE) kernel->accesses[kernel->access_count - 1].map = MAP_CONSTANT;
    if (kernel->shape == KERNEL_BLOCK) kernel_say(writer, "if (in) ");
    kernel_say(writer, "atomicAdd(&");
    write_element(writer, &kernel->accesses[kernel->access_count - 1]);
    kernel_say(writer, ", %d);\n", random_of(writer->random, 1, 3, -2));
}

/* A loop without memory, whose trips are a number or come from data. */
static void write_loop(struct writer *writer)
{
    if (!writer->values) return;
    uint32_t from = random_below(writer->random, writer->values), to = writer->values++;
    const char *type = kernel_value_type(writer);
    kernel_say(writer, "%s v%u = v%u; for (int j = 0; j < ", type, to, from);
    if (random_chance(writer->random, 50))
        kernel_say(writer, "((int)v%u & 3)", from);
    else
        kernel_say(writer, "%d", random_of(writer->random, 2, 5, 12));
    kernel_say(writer, "; j++) v%u = v%u * (%s)s + (%s)%s;\n", to, to, type, type, "1");
}

/* Threads that data sends away. */
static void write_leave(struct writer *writer)
{
    bool is_loop = writer->kernel->shape == KERNEL_STRIDE || writer->kernel->shape == KERNEL_CHUNK;
    if (!writer->values || writer->kernel->shape == KERNEL_BLOCK) return;
    kernel_say(writer, "if (v%u > (%s)%d) %s;\n", random_below(writer->random, writer->values),
               kernel_value_type(writer), random_of(writer->random, 0, 3, 100),
               !is_loop                            ? "return"
               : random_chance(writer->random, 50) ? "continue"
                                                   : "break");
}

/* One element, written in one of two ways. */
static void write_branch(struct writer *writer)
{
    struct kernel_access *access = writer->values ? draw_access(writer, true) : NULL;
    if (!access) return;
    access->guard = GUARD_NONE;
    if (access->map == MAP_CONSTANT || access->trips || is_vector(writer, access)) {
        access->map = MAP_OWN;
        access->trips = 0;
        access->c = access->d = 0;
    }
    writer->is_written[access->pointer] = true;
    uint32_t first = random_below(writer->random, writer->values);
    uint32_t second = random_below(writer->random, writer->values);
    bool is_wide = is_vector(writer, access);
    if (writer->kernel->shape == KERNEL_BLOCK) kernel_say(writer, "if (in) ");
    kernel_say(writer, "{ if (v%u > (%s)1) ", first, kernel_value_type(writer));
    write_element(writer, access);
    kernel_say(writer, is_wide ? ".x = v%u; else " : " = v%u; else ", first);
    write_element(writer, access);
    kernel_say(writer, is_wide ? ".y = v%u; }\n" : " = v%u; }\n", second);
}

static void write_body(struct writer *writer)
{
    struct random *random = writer->random;
    if (writer->kernel->role || writer->kernel->scene) {
        (writer->kernel->role ? kernel_write_step : kernel_write_scene)(writer);
        return;
    }
    for (uint32_t i = 0, count = 1 + random_below(random, 2); i < count || !writer->values; i++)
        write_load(writer);
    for (uint32_t i = 0, count = 1 + random_below(random, 5); i < count; i++) {
        uint32_t what = random_below(random, writer->kernel->is_plain ? 93 : 100);
        if (writer->kernel->shape == KERNEL_BLOCK && what < 45)
            kernel_write_exchange(writer);
        else if (what < 56)
            kernel_write_compute(writer);
        else if (what < 60)
            kernel_write_inline(writer);
        else if (what < 80)
            write_load(writer);
        else if (what < 90)
            write_store(writer);
        else if (what < 93)
            write_loop(writer);
        else if (what < 95)
            write_leave(writer);
        else if (what < 98)
            write_branch(writer);
        else
            kernel_write_atomic(writer);
    }
    write_store(writer);
    if (random_chance(random, 15)) write_store(writer);
}

/* --- the kernel around it --- */

static const char *scalar_name(char type)
{
    return type == 'c'   ? "unsigned char"
           : type == 'h' ? "short"
           : type == 'i' ? "int"
           : type == 'l' ? "long long"
                         : "float";
}

/* Mostly int; what a number's values fit in, otherwise. */
static char draw_scalar_type(struct random *random, char scalar)
{
    if (scalar == 's' || scalar == 't') return 'f';
    if (random_chance(random, 80)) return 'i';
    if (scalar == 'o') return "chl"[random_below(random, 3)];
    return scalar == 'm' ? 'c' : 'h';
}

/* In any order; h is only used in a plane, and may be missing elsewhere. */
static void draw_scalars(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    const char *all = kernel->has_struct ? "moht" : "nmohst";
    uint32_t count = 0;
    bool is_shuffled = random_chance(writer->random, 70);
    bool has_height = kernel->shape == KERNEL_PLANE || kernel->limit || random_chance(writer->random, 50);
    for (; *all; all++) {
        if (*all == 'h' && !has_height) continue;
        uint32_t at = is_shuffled ? random_below(writer->random, count + 1) : count;
        memmove(kernel->scalars + at + 1, kernel->scalars + at, count - at);
        kernel->scalars[at] = *all;
        count++;
    }
    char *length = random_chance(writer->random, 30) ? strchr(kernel->scalars, 'n') : NULL;
    if (length) { /* last, as in most programs */
        *length = kernel->scalars[count - 1];
        kernel->scalars[count - 1] = 'n';
    }
    for (uint32_t i = 0; i < count; i++)
        kernel->scalar_types[i] = draw_scalar_type(writer->random, kernel->scalars[i]);
}

static void write_parameters(struct writer *writer, struct text *body)
{
    const struct kernel *kernel = writer->kernel;
    struct text kept = writer->text;
    writer->text.size = 0;
    if (kernel->has_struct)
        kernel_say(writer, "struct %s_arguments { %s *p0; int n; float s; };\n", kernel->name,
                   kernel->pointers[0].type->name);
    kernel_say(writer, "extern \"C\" __global__ void %s(", kernel->name);
    if (kernel->has_struct) kernel_say(writer, "%s_arguments q, ", kernel->name);
    for (uint32_t p = kernel->has_struct; p < kernel->pointer_count; p++) {
        const struct kernel_pointer *pointer = &kernel->pointers[p];
        if (pointer->variable) continue;
        if (pointer->is_read_only)
            kernel_say(writer, "const %s *__restrict__ p%u, ", pointer->type->name, p);
        else
            kernel_say(writer, "%s *p%u, ", pointer->type->name, p);
    }
    for (uint32_t i = 0; kernel->scalars[i]; i++)
        kernel_say(writer, "%s%s %c", i ? ", " : "", scalar_name(kernel->scalar_types[i]),
                   kernel->scalars[i]);
    kernel_say(writer, ")\n{\n");
    for (uint32_t p = 0; p < kernel->pointer_count; p++)
        if (kernel->pointers[p].variable)
            kernel_say(writer, "auto p%u = %c%u;\n", p, kernel->pointers[p].variable, writer->program);
    if (kernel->has_struct) kernel_say(writer, "auto p0 = q.p0; int n = q.n; float s = q.s;\n");
    *body = writer->text;
    writer->text = kept;
}

static void write_shape(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    const char *type = kernel->index == 'u' ? "unsigned" : kernel->index == 'l' ? "long long" : "int";
    const char *first = kernel->is_tall ? "(blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
                        : kernel->is_wide ? "(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x"
                                          : "blockIdx.x * blockDim.x + threadIdx.x";
    switch (kernel->shape) {
    case KERNEL_LINE:
        kernel_say(writer, kernel->is_backward ? "%s i = n - 1 - (%s)(%s);\n" : "%s i = (%s)(%s);\n", type,
                   type, first);
        if (kernel->limit == 'w')
            kernel_say(writer, "if (i >= %d) return;\n", kernel->width);
        else if (kernel->limit)
            kernel_say(writer, "if (i >= %c) return;\n", kernel->limit);
        else if (!kernel->is_exact && kernel->is_backward)
            kernel_say(writer, kernel->returns ? "if (i < 0) return;\n" : "if (i >= 0) {\n");
        else if (!kernel->is_exact)
            kernel_say(writer, kernel->returns ? "if (i >= n) return;\n" : "if (i < n) {\n");
        break;
    case KERNEL_STRIDE:
        kernel_say(writer, "for (%s i = %s; i < n; i += gridDim.x * gridDim.y * blockDim.x * blockDim.y) {\n",
                   type, first);
        break;
    case KERNEL_CHUNK:
        kernel_say(writer, "for (%s i = (%s) * m, k = 0; k < m && i < n; i++, k++) {\n", type, first);
        break;
    case KERNEL_PLANE:
        kernel_say(writer, "%s x = %s, y = blockIdx.y * blockDim.y + threadIdx.y;\n", type, first);
        kernel_say(writer, kernel->returns ? "if (x >= n || y >= h) return;\n" : "if (x < n && y < h) {\n");
        break;
    case KERNEL_BLOCK:
        if (kernel->is_dynamic)
            kernel_say(writer, "extern __shared__ __align__(8) unsigned char d%u[];\n", writer->program);
        kernel_say(writer, "%s i = %s;\nbool in = i < n;\n", type, first);
        if (kernel->returns) kernel_say(writer, "if (!in) return;\n");
        break;
    case KERNEL_SHAPES:
        break;
    }
}

static void choose_shape(struct writer *writer, uint32_t index)
{
    struct kernel *kernel = writer->kernel;
    kernel->is_plain = random_chance(writer->random, writer->theme->plain);
    kernel->is_stencil = random_chance(writer->random, writer->theme->stencils);
    kernel->is_column = !kernel->is_stencil && random_chance(writer->random, writer->theme->columns);
    kernel->is_plain |= kernel->is_stencil || kernel->is_column;
    uint32_t what = random_below(writer->random, kernel->is_column ? 62 : kernel->is_plain ? 70 : 100);
    if (kernel->is_stencil && random_chance(writer->random, 40)) what = 80; /* a plane */
    if (kernel->is_stencil && writer->theme->has_steps) {
        kernel->role = writer->theme->order[index % 4];
        if (random_chance(writer->random, 8))
            kernel->role = (enum kernel_role)(1 + random_below(writer->random, KERNEL_ROLES - 1));
        what = writer->theme->is_flat ? 80 : 0;
    }
    kernel->shape = what < 62   ? KERNEL_LINE
                    : what < 74 ? KERNEL_STRIDE
                    : what < 80 ? KERNEL_CHUNK
                    : what < 93 ? KERNEL_PLANE
                                : KERNEL_BLOCK;
    if (random_chance(writer->random, writer->theme->blocks)) kernel->shape = KERNEL_BLOCK;
    kernel->index = "iiiiuul"[random_below(writer->random, 7)];
    if (kernel->shape == KERNEL_LINE) kernel->is_exact = random_chance(writer->random, kernel->role ? 4 : 12);
    if (kernel->shape == KERNEL_LINE && kernel->is_plain && kernel->index != 'u')
        kernel->is_backward = random_chance(writer->random, kernel->role ? 5 : 10);
    bool is_line =
        kernel->shape == KERNEL_LINE || kernel->shape == KERNEL_STRIDE || kernel->shape == KERNEL_CHUNK;
    if (is_line && !kernel->is_plain) {
        kernel->is_tall = random_chance(writer->random, 8);
        kernel->is_wide = !kernel->is_tall && random_chance(writer->random, 6);
    }
    kernel->returns = random_chance(writer->random, kernel->shape == KERNEL_BLOCK ? 25 : 40);
    kernel->is_dynamic = kernel->shape == KERNEL_BLOCK && random_chance(writer->random, 25);
    kernel->value = kernel->is_plain || random_chance(writer->random, 75)
                        ? writer->theme->value
                        : "ffdi"[random_below(writer->random, 4)];
}

static void finish_pointers(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    for (uint32_t p = 0; p < kernel->pointer_count; p++)
        kernel->pointers[p].is_read_only =
            !kernel->pointers[p].variable && !writer->is_written[p] && random_chance(writer->random, 40);
    kernel->has_struct = !kernel->pointers[0].variable && random_chance(writer->random, 12);
    if (kernel->has_struct) kernel->pointers[0].is_read_only = false;
}

struct kernel *kernel_draw(struct arena *arena, struct random *random, const struct kernel_theme *theme,
                           uint32_t program, uint32_t index)
{
    struct kernel *kernel = arena_alloc(arena, sizeof *kernel);
    static _Thread_local struct writer writer;
    if (!kernel) return NULL;
    memset(&writer, 0, sizeof writer);
    writer.kernel = kernel;
    writer.random = random;
    writer.theme = theme;
    writer.program = program;
    kernel->name = arena_printf(arena, "p%uk%u", program, index);
    kernel->scene = index < theme->scene_length ? index + 1 : 0;
    if (kernel->scene)
        kernel_choose_scene_shape(&writer);
    else
        choose_shape(&writer, index);
    write_shape(&writer);
    write_body(&writer);
    bool is_open = kernel->shape == KERNEL_STRIDE || kernel->shape == KERNEL_CHUNK ||
                   (!kernel->returns &&
                    (kernel->shape == KERNEL_PLANE || (kernel->shape == KERNEL_LINE && !kernel->is_exact)));
    kernel_say(&writer, is_open ? "}\n}\n" : "}\n");
    finish_pointers(&writer);
    draw_scalars(&writer);
    static _Thread_local struct text head;
    write_parameters(&writer, &head);
    kernel->text =
        arena_printf(arena, "%.*s%.*s", (int)head.size, head.bytes, (int)writer.text.size, writer.text.bytes);
    return kernel;
}

/* SPDX-License-Identifier: Apache-2.0
 * Draws kernels by lot and writes them as CUDA C, one statement a line (so that shrinking can leave lines
 * out). */
#include "tests/referee/kernel_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kernel_say(struct writer *writer, const char *format, ...)
{
    struct text *text = &writer->text;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->size, sizeof text->bytes - text->size, format, arguments);
    va_end(arguments);
    if (length > 0 && text->size + (size_t)length < sizeof text->bytes) text->size += (size_t)length;
}

/* --- statements --- */

static void write_called(struct writer *writer, const struct kernel_access *access)
{
    const char *type = writer->kernel->pointers[access->pointer].type->name;
    kernel_say(writer, "(m & 1 ? one_way<%s> : other_way<%s>)(&", type, type);
}

/* By the latest value, or by the element itself, so that no number is drawn. */
static void make_upwind(struct writer *writer, struct kernel_access *access)
{
    struct kernel *kernel = writer->kernel;
    if (!writer->values && kernel->access_count == KERNEL_ACCESSES) return;
    access->map = MAP_UPWIND;
    access->is_by_element = !writer->values;
    access->other = access->c > 0 ? access->c - 1 : access->c + 1;
    if (access->is_by_element)
        kernel->accesses[kernel->access_count++] =
            (struct kernel_access){.pointer = access->pointer, .map = MAP_OWN};
}

/* Even elements of this pointer, odd ones of another. */
static void make_choice(struct writer *writer, struct kernel_access *access)
{
    struct kernel *kernel = writer->kernel;
    const struct kernel_pointer *own = &kernel->pointers[access->pointer];
    if (!writer->theme->has_choices || kernel->access_count == KERNEL_ACCESSES ||
        access->guard != GUARD_NONE || access->trips || access->is_in_loop || access->is_volatile ||
        access->is_handed || own->variable || kernel_is_vector(writer, access) ||
        (access->map != MAP_OWN && access->map != MAP_SHIFT) || kernel->sight ||
        random_chance(writer->random, 40))
        return;
    for (uint32_t p = 0; p < kernel->pointer_count; p++) {
        if (p == access->pointer || kernel->pointers[p].variable || kernel->pointers[p].type != own->type)
            continue;
        access->guard = GUARD_EVEN;
        struct kernel_access odd = *access;
        odd.pointer = p;
        odd.guard = GUARD_ODD;
        access->twin = p + 1;
        kernel->accesses[kernel->access_count++] = odd;
        if (access->is_write) writer->is_written[p] = true;
        return;
    }
}

void kernel_write_load(struct writer *writer, struct kernel_access *access)
{
    const char *type = kernel_value_type(writer);
    bool is_nested = writer->kernel->shape == KERNEL_BLOCK;
    if (!access) return;
    uint32_t value = writer->values;
    kernel_say(writer, "%s v%u = 0; ", type, value);
    if (is_nested) kernel_say(writer, "if (in) ");
    if (access->guard == GUARD_DATA && !value) access->guard = GUARD_NONE;
    if (writer->theme->has_upwind && access->map == MAP_SHIFT) make_upwind(writer, access);
    make_choice(writer, access);
    access->is_volatile |= writer->kernel->sight == SIGHT_VOLATILE && !kernel_is_vector(writer, access);
    bool is_called =
        writer->kernel->sight == SIGHT_CALL && !access->is_volatile && !kernel_is_vector(writer, access);
    kernel_write_guard(writer, access);
    kernel_write_trips(writer, access);
    if (kernel_is_vector(writer, access)) {
        bool is_wide = writer->kernel->pointers[access->pointer].type->size == 16;
        kernel_say(writer, "{ %s w = ", is_wide ? "float4" : "float2");
        kernel_write_element(writer, access);
        kernel_say(writer, "; v%u += (%s)(w.x - w.y%s); }\n", value, type, is_wide ? " + w.z * w.w" : "");
    } else {
        kernel_say(writer, "v%u %s (%s)", value, access->trips ? "+=" : "=", type);
        if (is_called) write_called(writer, access);
        kernel_write_element(writer, access);
        kernel_say(writer, is_called ? ");\n" : ";\n");
    }
    writer->values++;
}

static void write_load(struct writer *writer)
{
    kernel_write_load(writer, kernel_draw_access(writer, false));
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

/* In front of a value in parentheses that is stored: what sees to it that nobody finds out which of two NaNs
 * a sum in double precision was. Narrowing it keeps its sign and payload. */
const char *kernel_stored(const struct writer *writer, uint32_t pointer)
{
    bool is_double = writer->kernel->pointers[pointer].type == kernel_double_type();
    if (writer->kernel->value != 'd') return "";
    return is_double ? "one_nan" : "no_nan";
}

const char kernel_no_nan[] =
    "__device__ __forceinline__ double no_nan(double value) { return value == value ? value : -1.0; }\n";
const char kernel_one_nan[] = "#define one_nan(value) no_nan(value)\n";
const char kernel_any_nan[] = "#define one_nan(value) (value)\n";

bool kernel_looks_at_bits(const struct kernel *kernel)
{
    for (uint32_t a = 0; a < kernel->access_count; a++) {
        const struct kernel_access *access = &kernel->accesses[a];
        bool is_double = kernel->pointers[access->pointer].type == kernel_double_type();
        if (!is_double && (!access->is_write || access->is_atomic)) return true;
    }
    return false;
}

/* NULL: it is an assignment. */
static const char *storing_function(const struct writer *writer, const struct kernel_access *access)
{
    if (access->is_volatile || kernel_is_vector(writer, access)) return NULL;
    if (writer->kernel->sight == SIGHT_RELEASE) return "release";
    return writer->theme->has_calls && random_chance(writer->random, 30) ? "put" : NULL;
}

void kernel_write_store(struct writer *writer, struct kernel_access *access)
{
    if (!access) return;
    make_choice(writer, access);
    writer->is_written[access->pointer] = true;
    uint32_t value = random_chance(writer->random, writer->kernel->scene  ? 100
                                                   : writer->kernel->role ? 95
                                                                          : 70)
                         ? writer->values - 1
                         : random_below(writer->random, writer->values);
    const struct kernel_type *type = writer->kernel->pointers[access->pointer].type;
    const char *stored = kernel_stored(writer, access->pointer);
    if (writer->kernel->sight == SIGHT_FENCE)
        kernel_say(writer,
                   random_chance(writer->random, 50) ? "__threadfence();\n" : "__threadfence_system();\n");
    if (writer->kernel->shape == KERNEL_BLOCK) kernel_say(writer, "if (in) ");
    kernel_write_guard(writer, access);
    kernel_write_trips(writer, access);
    const char *function = storing_function(writer, access);
    if (function) kernel_say(writer, "%s(&", function);
    kernel_write_element(writer, access);
    if (function)
        kernel_say(writer, ", (%s)%s(v%u%s));\n", type->name, stored, value,
                   says_counter(writer, access) ? " + j" : "");
    else if (kernel_is_vector(writer, access) && type->size == 16)
        kernel_say(writer, " = make_float4(%s(v%u), s, %s(v%u), t);\n", stored, value, stored,
                   random_below(writer->random, writer->values));
    else if (kernel_is_vector(writer, access))
        kernel_say(writer, " = make_float2(%s(v%u), %s(v%u));\n", stored, value, stored,
                   random_below(writer->random, writer->values));
    else
        kernel_say(writer, " = (%s)%s(v%u%s);\n", type->name, stored, value,
                   says_counter(writer, access) ? " + j" : "");
}

static void write_store(struct writer *writer)
{
    if (writer->values) kernel_write_store(writer, kernel_draw_access(writer, true));
}

void kernel_write_atomic(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->pointer_count == KERNEL_POINTERS || kernel->access_count + 2 > KERNEL_ACCESSES) return;
    uint32_t pointer = kernel->pointer_count++;
    kernel->pointers[pointer].type = kernel_int_type();
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
    kernel_write_element(writer, &kernel->accesses[kernel->access_count - 1]);
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
    struct kernel_access *access = writer->values ? kernel_draw_access(writer, true) : NULL;
    if (!access) return;
    access->guard = GUARD_NONE;
    if (access->map == MAP_CONSTANT || access->trips || kernel_is_vector(writer, access)) {
        access->map = MAP_OWN;
        access->trips = 0;
        access->c = access->d = 0;
    }
    writer->is_written[access->pointer] = true;
    uint32_t first = random_below(writer->random, writer->values);
    uint32_t second = random_below(writer->random, writer->values);
    bool is_wide = kernel_is_vector(writer, access);
    const char *stored = kernel_stored(writer, access->pointer);
    if (writer->kernel->shape == KERNEL_BLOCK) kernel_say(writer, "if (in) ");
    kernel_say(writer, "{ if (v%u > (%s)1) ", first, kernel_value_type(writer));
    kernel_write_element(writer, access);
    kernel_say(writer, is_wide ? ".x = %s(v%u); else " : " = %s(v%u); else ", stored, first);
    kernel_write_element(writer, access);
    kernel_say(writer, is_wide ? ".y = %s(v%u); }\n" : " = %s(v%u); }\n", stored, second);
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

bool kernel_is_variable(const struct kernel_pointer *pointer)
{
    return pointer->variable && strchr("tcq", pointer->variable);
}

static void write_parameters(struct writer *writer, struct text *body)
{
    const struct kernel *kernel = writer->kernel;
    struct text kept = writer->text;
    writer->text.size = 0;
    if (kernel->has_struct) kernel_write_struct_type(writer);
    kernel_say(writer, "extern \"C\" __global__ void %s(", kernel->name);
    if (kernel->has_struct) kernel_write_struct_parameter(writer);
    for (uint32_t p = kernel->has_struct ? 1 : 0; p < kernel->pointer_count; p++) {
        const struct kernel_pointer *pointer = &kernel->pointers[p];
        if (kernel_is_variable(pointer) || pointer->entry) continue;
        if (pointer->is_read_only)
            kernel_say(writer, "const %s *__restrict__ p%u, ", pointer->type->name, p);
        else
            kernel_say(writer, "%s *p%u, ", pointer->type->name, p);
    }
    const char *between = "";
    for (uint32_t i = 0; kernel->scalars[i]; i++) {
        if (kernel->is_constant[i]) continue; /* s or t is none */
        kernel_say(writer, "%s%s %c", between, scalar_name(kernel->scalar_types[i]), kernel->scalars[i]);
        between = ", ";
    }
    kernel_say(writer, ")\n{\n");
    kernel_write_constants(writer);
    for (uint32_t p = 0; p < kernel->pointer_count; p++)
        if (kernel_is_variable(&kernel->pointers[p]))
            kernel_say(writer, "auto p%u = %c%u;\n", p, kernel->pointers[p].variable, writer->program);
    for (uint32_t p = 0; p < kernel->pointer_count; p++)
        if (kernel->pointers[p].entry)
            kernel_say(writer, "auto p%u = (%s *)p%u[%u];\n", p, kernel->pointers[p].type->name,
                       kernel->pointer_count - 1, kernel->pointers[p].entry - 1);
    kernel_write_struct_parts(writer);
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
        /* Where a variable holds the stride, the compiler unrolls the loop. */
        kernel_say(writer,
                   random_chance(writer->random, 50)
                       ? "for (%s i = %s, to_next = gridDim.x * gridDim.y * blockDim.x * blockDim.y; i < n; "
                         "i += to_next) {\n"
                       : "for (%s i = %s; i < n; i += gridDim.x * gridDim.y * blockDim.x * blockDim.y) {\n",
                   type, first);
        break;
    case KERNEL_CHUNK:
        if (kernel->scene)
            kernel_say(writer, "for (int k = 0; k < m; k++) {\n%s i = (%s) * m + k;\nif (i >= n) continue;\n",
                       type, first);
        else
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
        kernel->pointers[p].is_read_only = !kernel->pointers[p].variable && !kernel->pointers[p].entry &&
                                           !writer->is_written[p] && random_chance(writer->random, 40);
    /* where the length is read at an index that varies, a level of a loop is anywhere */
    uint32_t structs = writer->theme->has_loops ? 4 : 12; /* percent */
    bool has_struct =
        !kernel->pointers[0].variable && !kernel->pointers[0].entry && random_chance(writer->random, structs);
    if (!has_struct) return;
    kernel->has_struct = kernel_draw_struct(writer);
    kernel->pointers[0].is_read_only = false;
}

/* A kernel that was to have fences or releases may have come out without a store. */
static bool keeps_place(const struct writer *writer)
{
    const char *text = writer->text.bytes;
    return writer->kernel->sight >= SIGHT_FLAG || strstr(text, "((volatile ") ||
           strstr(text, "__threadfence") || strstr(text, "release(");
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
    writer.index = index;
    kernel->scene = index < theme->scene_length ? index + 1 : 0;
    if (kernel->scene)
        kernel_choose_scene_shape(&writer);
    else
        choose_shape(&writer, index);
    kernel_draw_sight(&writer);
    write_shape(&writer);
    bool is_special = kernel_write_special(&writer);
    if (!is_special) write_body(&writer);
    bool is_open = kernel->shape == KERNEL_STRIDE || kernel->shape == KERNEL_CHUNK ||
                   (!kernel->returns &&
                    (kernel->shape == KERNEL_PLANE || (kernel->shape == KERNEL_LINE && !kernel->is_exact)));
    kernel_say(&writer, is_open ? "}\n}\n" : "}\n");
    if (!is_special) {
        kernel_hide_pointers(&writer);
        finish_pointers(&writer);
        draw_scalars(&writer);
        kernel_draw_constant_scalars(&writer);
    }
    kernel->keeps_place = keeps_place(&writer);
    if (!kernel->name)
        kernel->name = arena_printf(arena, "p%uk%u%s", program, index, kernel->keeps_place ? "_stays" : "");
    static _Thread_local struct text head;
    write_parameters(&writer, &head);
    bool is_own = kernel->sight != SIGHT_BARE && kernel->sight != SIGHT_DEBUG;
    kernel->text = !is_own ? ""
                           : arena_printf(arena, "%.*s%.*s", (int)head.size, head.bytes,
                                          (int)writer.text.size, writer.text.bytes);
    return kernel;
}

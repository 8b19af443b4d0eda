/* SPDX-License-Identifier: Apache-2.0
 * Kernels that take pointer 0, n and s in a struct: how they read it. Through its address they read at indices that
 * vary, too: the length is one of two, as another word says; s comes of a table, by thread. */
#include "tests/referee/kernel_writer.h"

enum kernel_struct kernel_draw_struct(const struct writer *writer)
{
    struct random own = {writer->random->state ^ 0x5bd1e995u}; /* what else is drawn stays what it was */
    if (!random_chance(&own, 80)) return STRUCT_NAMED;
    return (enum kernel_struct)(STRUCT_IN_PLACE + random_below(&own, KERNEL_STRUCTS - STRUCT_IN_PLACE));
}

void kernel_write_struct_type(struct writer *writer)
{
    const struct kernel *kernel = writer->kernel;
    const char *type = kernel->pointers[0].type->name;
    if (kernel->has_struct == STRUCT_NAMED) {
        kernel_say(writer, "struct %s_arguments { %s *p0; int n; float s; };\n", kernel->name, type);
        return;
    }
    kernel_say(writer, "struct %s_arguments { short k[3]; %s *p0; int l[2]; float s, w[5]; };\n",
               kernel->name, type);
    if (kernel->has_struct == STRUCT_GENERIC || kernel->has_struct == STRUCT_COPY)
        kernel_say(writer,
                   "__device__ __noinline__ float %s_weight(const %s_arguments *q, int t)\n"
                   "{ return q->s * q->w[t %% 5] + q->k[t & 1] - q->w[0] + q->w[3] * 0.5f; }\n",
                   kernel->name, kernel->name);
}

void kernel_write_struct_parameter(struct writer *writer)
{
    enum kernel_struct form = writer->kernel->has_struct;
    bool is_in_place = form == STRUCT_IN_PLACE || form == STRUCT_EITHER || form == STRUCT_GENERIC;
    kernel_say(writer, "%s%s_arguments q, ", is_in_place ? "const __grid_constant__ " : "",
               writer->kernel->name);
}

void kernel_write_struct_parts(struct writer *writer)
{
    static const char length[] = "auto p0 = q.p0; int n = q.l[q.k[2]];\n";
    const char *name = writer->kernel->name;
    switch (writer->kernel->has_struct) {
    case STRUCT_NONE:
    case KERNEL_STRUCTS:
        break;
    case STRUCT_NAMED:
        kernel_say(writer, "auto p0 = q.p0; int n = q.n; float s = q.s;\n");
        break;
    case STRUCT_IN_PLACE:
        kernel_say(writer, "%sfloat s = q.s * q.w[threadIdx.x %% 5] + q.k[threadIdx.x & 1];\n", length);
        break;
    case STRUCT_EITHER: /* one of two places, then several from there */
        kernel_say(writer,
                   "%sconst float *from = threadIdx.x & 1 ? q.w : &q.s; float s = from[1];\n"
                   "for (int j = 0; j < q.k[0]; j++) s = s * 0.5f + from[j];\n",
                   length);
        break;
    case STRUCT_GENERIC:
        kernel_say(writer, "%sfloat s = %s_weight(&q, threadIdx.x);\n", length, name);
        break;
    case STRUCT_COPY:
        kernel_say(writer,
                   "auto copy = q; auto p0 = copy.p0; int n = q.k[2] ? copy.l[1] : copy.l[0]; float s = "
                   "%s_weight(&copy, threadIdx.x);\n",
                   name);
        break;
    case STRUCT_CHANGED:
        kernel_say(writer, "auto p0 = q.p0; int n = q.k[2] ? q.l[1] : q.l[0];\n"
                           "if (q.k[0] & 1) q.w[threadIdx.x %% 5] += 1.5f;\n"
                           "float s = q.w[1] + q.w[(threadIdx.x + 1) %% 5] * q.k[threadIdx.x & 1];\n");
        break;
    }
}

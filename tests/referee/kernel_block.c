/* SPDX-License-Identifier: Apache-2.0
 * Statements in which threads of a block meet: shared memory, barriers, shuffles. */
#include "tests/referee/kernel_writer.h"

/* Everybody's value, in shared memory: s and the number of the value that it is for. */
static void write_shared(struct writer *writer, uint32_t to, uint32_t from)
{
    const char *type = kernel_value_type(writer);
    bool is_dynamic = writer->kernel->is_dynamic && random_chance(writer->random, 70);
    if (is_dynamic) {
        kernel_say(writer, "%s *s%u = (%s *)d%u; __syncthreads();\n", type, to, type, writer->program);
    } else {
        kernel_say(writer, "__shared__ %s s%u[256];\n", type, to);
        writer->kept = to + 1;
    }
    kernel_say(writer, "s%u[threadIdx.x] = v%u;\n", to, from);
    kernel_say(writer, "__syncthreads();\n");
}

/* Half of the threads add in each round; with the barrier under the test, those that have added are gone.
 * Whole warps are: a barrier counts them. */
static void write_tree(struct writer *writer, uint32_t to, bool is_under)
{
    const char *last = writer->kernel->returns ? " && i + k < n" : "";
    writer->is_parted = is_under;
    writer->kept = 0; /* it changes */
    if (is_under)
        for (int k = 64; k >= 32; k /= 2)
            kernel_say(writer,
                       "if (threadIdx.x < %d && blockDim.x >= %d) "
                       "{ s%u[threadIdx.x] += s%u[threadIdx.x + %d]; __syncthreads(); }\n",
                       k, 2 * k, to, to, k);
    else
        kernel_say(writer,
                   "for (int k = blockDim.x / 2; k; k /= 2) {\n"
                   "if (threadIdx.x < k%s) s%u[threadIdx.x] += s%u[threadIdx.x + k];\n__syncthreads();\n}\n",
                   last, to, to);
    kernel_say(writer, "%s v%u = s%u[threadIdx.x];\n", kernel_value_type(writer), to, to);
}

/* The last thread's value is the first one's; those that have returned left nothing. */
static void write_turned(struct writer *writer, uint32_t to, uint32_t from)
{
    const char *type = kernel_value_type(writer);
    if (writer->kernel->returns)
        kernel_say(writer,
                   "%s v%u = i - threadIdx.x + blockDim.x - 1 - threadIdx.x < n ? s%u[blockDim.x - 1 - "
                   "threadIdx.x] : 0;\n",
                   type, to, from);
    else
        kernel_say(writer, "%s v%u = s%u[blockDim.x - 1 - threadIdx.x];\n", type, to, from);
}

/* That of a thread beside, where there is one in the block that has an element. */
static void write_near(struct writer *writer, uint32_t to)
{
    int distance = random_of(writer->random, 1, -1, 2, -3, 31);
    kernel_say(writer,
               "%s v%u = (int)threadIdx.x + (%d) >= 0 && (int)threadIdx.x + (%d) < (int)blockDim.x && "
               "(long long)i + (%d) < n ? s%u[(int)threadIdx.x + (%d)] : s%u[threadIdx.x];\n",
               kernel_value_type(writer), to, distance, distance, distance, to, distance, to);
}

/* They meet on one side of a branch, which an argument decides. */
static void write_side(struct writer *writer, uint32_t to, uint32_t from)
{
    const char *type = kernel_value_type(writer);
    bool is_first = random_chance(writer->random, 20);
    kernel_say(writer, "__shared__ %s s%u[256];\n%s v%u = v%u;\nif (m > %d) {\n", type, to, type, to, from,
               is_first ? 1 : 3);
    for (int side = 0; side < 2; side++) {
        if (is_first == !side)
            kernel_say(writer,
                       "s%u[threadIdx.x] = v%u;\n__syncthreads();\n"
                       "if ((threadIdx.x ^ 32) < blockDim.x && i - threadIdx.x + (threadIdx.x ^ 32) < n) "
                       "v%u = s%u[threadIdx.x ^ 32];\n",
                       to, from, to, to);
        else
            kernel_say(writer, "for (int j = 0; j < m; j++) v%u = v%u * (%s)s + v%u;\n", to, to, type, from);
        kernel_say(writer, side ? "}\n" : "} else {\n");
    }
}

/* By warp: the last value is the same in all its threads. Each has it in its own memory, at one address. */
static void write_under_loaded(struct writer *writer)
{
    const char *type = kernel_value_type(writer);
    uint32_t value = writer->values - 1;
    kernel_say(writer, "%s l%u[4]; for (int j = 0; j < 4; j++) l%u[j] = v%u * (%s)(j + 1);\n", type, value,
               value, value, type);
    kernel_say(writer, "if (l%u[m & 3] > (%s)1) __syncthreads();\n", value, type);
    writer->is_parted = true;
}

static void write_shuffle(struct writer *writer, uint32_t to, uint32_t from)
{
    kernel_say(writer, "%s v%u = __shfl_xor_sync(~0u, v%u, %d);\n", kernel_value_type(writer), to, from,
               random_of(writer->random, 1, 2, 16));
}

void kernel_write_meeting(struct writer *writer, enum kernel_meeting meeting)
{
    if (!writer->values || writer->is_parted) return;
    uint32_t from = random_below(writer->random, writer->values), to = writer->values;
    switch (meeting) {
    case MEETING_TURNED:
        write_shared(writer, to, from);
        write_turned(writer, to, to);
        break;
    case MEETING_TREE:
    case MEETING_PARTED_TREE:
        write_shared(writer, to, from);
        write_tree(writer, to, meeting == MEETING_PARTED_TREE && !writer->kernel->returns);
        break;
    case MEETING_SIDE:
        write_side(writer, to, from);
        break;
    case MEETING_LOADED:
        write_under_loaded(writer);
        return;
    case MEETING_KEPT: /* what was shared before */
        if (!writer->kept) return;
        write_turned(writer, to, writer->kept - 1);
        break;
    case MEETING_WARP:
        write_shuffle(writer, to, from);
        break;
    case MEETING_NEAR:
        write_shared(writer, to, writer->values - 1);
        write_near(writer, to);
        break;
    }
    writer->values++;
    if (writer->loop && meeting != MEETING_WARP) kernel_say(writer, "__syncthreads();\n");
}

void kernel_write_exchange(struct writer *writer)
{
    struct random *random = writer->random;
    if (!writer->values || writer->is_parted) return;
    const char *type = kernel_value_type(writer);
    bool returns = writer->kernel->returns, is_tree = random_chance(random, 25);
    bool is_shuffle = !returns && random_chance(random, 40), is_count = !returns && random_chance(random, 15);
    if (!is_shuffle && !is_count) {
        kernel_write_meeting(writer, is_tree && random_chance(random, 40) ? MEETING_PARTED_TREE
                                     : is_tree                            ? MEETING_TREE
                                     : random_chance(random, 10)          ? MEETING_SIDE
                                     : random_chance(random, 20)          ? MEETING_KEPT
                                     : random_chance(random, 20)          ? MEETING_NEAR
                                                                          : MEETING_TURNED);
        return;
    }
    uint32_t from = random_below(random, writer->values), to = writer->values++;
    if (is_shuffle)
        write_shuffle(writer, to, from);
    else
        kernel_say(writer, "%s v%u = (%s)__syncthreads_count(v%u > (%s)1);\n", type, to, type, from, type);
}

/* SPDX-License-Identifier: Apache-2.0
 * The two copies of the lane operations, and the choice between them. */
#include "emulator/lanes.h"

#include <stdlib.h>

#define LANES_TABLE(copy)                                                                                    \
    lane_op lanes_integer_##copy(enum ptx_opcode, enum ptx_type, enum ptx_type, unsigned);                   \
    lane_op lanes_floating_##copy(enum ptx_opcode, enum ptx_type, unsigned);                                 \
    lane_op lanes_half_##copy(enum ptx_opcode, enum ptx_type);                                               \
    lane_op lanes_compare_##copy(enum lane_relation, enum ptx_type, unsigned);                               \
    lane_op lanes_predicate_##copy(enum ptx_opcode);                                                         \
    lane_op lanes_select_##copy(unsigned);                                                                   \
    lane_op lanes_move_##copy(unsigned);                                                                     \
    lane_op lanes_fill_##copy(unsigned);                                                                     \
    lane_op lanes_saturate_##copy(enum ptx_type);                                                            \
    lane_op lanes_convert_##copy(enum ptx_type, enum ptx_type, bool, bool);                                  \
    lane_op lanes_widen_##copy(unsigned, enum ptx_type, unsigned);                                           \
    lane_op lanes_clamp_##copy(void);                                                                        \
    lane_op lanes_pack_##copy(unsigned);                                                                     \
    void lanes_addresses_##copy(uint64_t *, const void *, unsigned, uint64_t);                               \
    struct lane_span lanes_span_##copy(const uint64_t *, unsigned);                                          \
    void lanes_blend_##copy(void *, const void *, uint32_t, unsigned);                                       \
    bool lanes_gather_##copy(void *, const uint64_t *, unsigned);                                            \
    static const struct lanes lanes_##copy = {                                                               \
        .integer = lanes_integer_##copy,                                                                     \
        .floating = lanes_floating_##copy,                                                                   \
        .half = lanes_half_##copy,                                                                           \
        .compare = lanes_compare_##copy,                                                                     \
        .predicate = lanes_predicate_##copy,                                                                 \
        .select = lanes_select_##copy,                                                                       \
        .move = lanes_move_##copy,                                                                           \
        .fill = lanes_fill_##copy,                                                                           \
        .saturate = lanes_saturate_##copy,                                                                   \
        .convert = lanes_convert_##copy,                                                                     \
        .widen = lanes_widen_##copy,                                                                         \
        .clamp = lanes_clamp_##copy,                                                                         \
        .addresses = lanes_addresses_##copy,                                                                 \
        .span = lanes_span_##copy,                                                                           \
        .blend = lanes_blend_##copy,                                                                         \
        .gather = lanes_gather_##copy,                                                                       \
        .pack = lanes_pack_##copy,                                                                           \
    };

LANES_TABLE(plain)
#if defined(__x86_64__)
LANES_TABLE(fast)

const struct lanes *lanes_best(void)
{
    bool is_fast =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    return is_fast && getenv("KFUSE_EMULATOR_PLAIN") == NULL ? &lanes_fast : &lanes_plain;
}
#else
const struct lanes *lanes_best(void)
{
    return &lanes_plain;
}
#endif

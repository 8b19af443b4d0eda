#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random integer arithmetic as PTX: where it stores must be where the analysis says. INDICES_COUNT kernels, of
# which INDICES_SEED gives always the same ones. INDICES_CHECK: the program that looks at them.
: "${top_builddir:=.}"
count=${INDICES_COUNT:-150} RANDOM=${INDICES_SEED:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one of ALTERNATIVE...: in $drawn
one_of() {
    shift $((RANDOM % $#))
    drawn=$1
}

draw_number() {
    one_of 1 3 -5 7 100 255 256 300 1000 65535 65536 2147483647 -2147483648 1431655766 613566757 \
        -1840700269 2454267027 $((RANDOM - 16384)) $((1 << RANDOM % 31)) $((RANDOM << 15 | RANDOM))
}

# One instruction or a few that change r, q or both from x, r and q. The types are drawn first.
draw_step() {
    local sign half value
    one_of s32 u32; sign=$drawn
    one_of "add.s16 l, l, h" "shl.b16 h, l, 3" "cvt.s16.s8 l, l" "mul.lo.u16 l, l, 300" "shr.s16 h, h, 2"; half=$drawn
    draw_number; value=$drawn
    one_of "mul.hi.$sign q, r, $value;" "mul.lo.$sign q, r, $value;" "mul.hi.$sign q, x, $value; sub.s32 r, x, q;" \
        "sub.s32 r, x, q; shr.$sign r, r, 1; add.s32 r, r, q;" "shr.$sign r, r, $((RANDOM % 40));" \
        "shr.$sign q, q, $((RANDOM % 9));" "shl.b32 r, r, $((RANDOM % 34));" "add.$sign r, r, q;" "add.s32 q, q, x;" \
        "bfe.$sign r, r, $((RANDOM % 32)), $((RANDOM % 33));" "bfi.b32 r, r, q, $((RANDOM % 33)), $((RANDOM % 34));" \
        "bfi.b32 r, q, r, $((RANDOM % 4)), $((RANDOM % 34));" "bfi.b32 r, x, r, 1, 31;" "and.b32 r, r, $value;" "or.b32 r, r, $value;" \
        "xor.b32 r, q, $value;" "abs.s32 r, r;" "neg.s32 r, r;" "min.$sign r, r, $value;" "max.$sign r, r, q;" \
        "div.$sign r, r, $((RANDOM % 300 + 1));" "rem.$sign r, r, -$((RANDOM % 300 + 1));" "div.s32 q, r, -7;" \
        "setp.lt.and.$sign p|o, r, $value, c; @p mov.b32 r, q; @!o mov.b32 q, $value;" \
        "setp.ge.or.$sign p|o, x, $value, !c; @o mov.b32 r, x;" "selp.b32 r, r, q, c;" \
        "mov.b32 {l, h}, r; $half; mov.b32 r, {h, l};" "cvt.s32.s8 r, r;" "cvt.u32.u16 r, q;" "cvt.s32.s16 q, q;"
}

# From r, or from q and x, to the 64-bit index.
draw_end() {
    local from to value
    one_of s64.s32 u64.u32 s64.u32; from=$drawn
    one_of s64 u64; to=$drawn
    draw_number; value=$drawn
    one_of "cvt.$from z, r;" "cvt.$from z, q; cvt.$from y, x; add.s64 z, z, y;" "cvt.$from z, q;" \
        "mul.wide.${from#*.} z, r, $value;" "cvt.$from z, r; add.s64 z, z, $value;" "mov.b64 z, {r, q};"
    drawn+=" shr.$to z, z, $((RANDOM % 41)); and.b64 z, z, 1023;"
}

for ((i = 0; i < count; i++)); do echo "// launch k$i grid 3 1 1 block 64 1 1 args p:4096"; done >"$work/indices.ptx"
{
    printf '.version 8.0\n.target sm_90\n.address_size 64\n'
    for ((i = 0; i < count; i++)); do
        one_of 64 64 100 65536 20000000; scale=$drawn
        one_of 0 0 -60 -100 1000000 10000000 2147483600 -2147483640 -294967296; start=$drawn
        printf '.visible .entry k%d(.param .u64 array)\n{\n' $i
        printf '.reg .b16 l, h; .reg .b32 t, b, x, q, r; .reg .b64 z, y, a; .reg .pred p, o, c;\n'
        printf 'ld.param.u64 a, [array];\ncvta.to.global.u64 a, a;\nmov.u32 t, %%tid.x;\nmov.u32 b, %%ctaid.x;\n'
        printf 'mad.lo.s32 x, b, %d, t;\nadd.s32 x, x, %d;\nmov.u32 r, x;\nmov.u32 q, b;\nsetp.lt.s32 c, t, 40;\n' "$scale" "$start"
        for ((k = RANDOM % 6; k >= 0; k--)); do draw_step; echo "$drawn"; done
        draw_end
        printf '%s\nshl.b64 z, z, 2;\nadd.s64 a, a, z;\nst.global.u32 [a], t;\nret;\n}\n' "$drawn"
    done
} >>"$work/indices.ptx"
"$top_builddir/${INDICES_CHECK:-tests/analysis/test_soundness}" "$work/indices.ptx" && exit 0
cp "$work/indices.ptx" "$top_builddir/tests/analysis/random_indices.failed.ptx"
echo "see $top_builddir/tests/analysis/random_indices.failed.ptx, INDICES_SEED=${INDICES_SEED:-1}"
exit 1

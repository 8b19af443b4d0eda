#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the printer writes is the same program: nvcc's PTX, our print of it, and a print of what the parser understood of it
# (rebuild.h) assemble to the same machine code, kernel by kernel; the parameters and launch bounds that it read are those
# that ptxas wrote to the code's attributes. Without arguments: our own kernels and one file of CCCL's.
# --all [FILE]: our programs and all of tests/ptx/corpus for several architectures, at least 300 kernels; the table goes to
# FILE too. (--one SOURCE SM FOLDER is how it calls itself.)
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
nvcc=$CUDA_HOME/bin/nvcc ptxas=$CUDA_HOME/bin/ptxas
print=$top_builddir/tests/ptx/print_module compare=$top_builddir/tests/ptx/compare_code
layout=$top_builddir/tests/ptx/check_layout
# sources that older architectures cannot run
declare -A least=([inline]=90 [engine_kernels]=80)
{ [ -x "$nvcc" ] && [ -x "$ptxas" ]; } || exit 77

# one SOURCE SM FOLDER: a row `source sm kernels identical` in FOLDER, the names of the kernels, what went wrong
one() {
    local source=$1 sm=$2 base kind kernels identical worst
    base=$3/$(basename "$source" .cu)-$sm
    if ! "$nvcc" -arch="sm_$sm" --extended-lambda -w -ptx -I "$top_srcdir" -o "$base.ptx" "$source" 2>"$base.log" ||
        ! "$ptxas" -arch "sm_$sm" -o "$base.cubin" "$base.ptx" 2>>"$base.log"; then
        echo "$source, sm_$sm: not compiled" >>"$base.log"
        printf '%s\t%s\t1\t0\n' "${source#"$top_srcdir"/}" "$sm" >"$base.row"
        return
    fi
    kernels=$(grep -cE '^(\.(visible|weak) )*\.entry ' "$base.ptx")
    worst=$kernels
    "$layout" "$base.ptx" "$base.cubin" >>"$base.log" || worst=0
    for kind in printed rebuilt; do
        option=()
        [ $kind = printed ] || option=(-r)
        identical=0
        if "$print" "${option[@]}" "$base.ptx" >"$base.$kind.ptx" 2>>"$base.log" &&
            "$ptxas" -arch "sm_$sm" -o "$base.$kind.cubin" "$base.$kind.ptx" 2>>"$base.log"; then
            "$compare" "$base.cubin" "$base.$kind.cubin" >"$base.compared" && identical=$(grep -c '^same ' "$base.compared")
            grep -v '^same ' "$base.compared" >>"$base.log"
        fi
        [ "$identical" -ge "$worst" ] || worst=$identical
    done
    sed -n 's/^same //p' "$base.compared" >"$base.names"
    printf '%s\t%s\t%s\t%s\n' "${source#"$top_srcdir"/}" "$sm" "$kernels" "$worst" >"$base.row"
    rm -f "$base".*cubin "$base".*ptx
}
if [ "${1-}" = --one ]; then
    one "$2" "$3" "$4"
    exit 0
fi

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# A changed instruction is seen, and so is a changed number.
planted() {
    "$print" "$work/planted.ptx" | sed "0,/$1/s//$2/" >"$work/changed.ptx"
    cmp -s "$work/planted.ptx" "$work/changed.ptx" && return 1
    "$ptxas" -arch sm_90 -o "$work/changed.cubin" "$work/changed.ptx" &&
        ! "$compare" "$work/planted.cubin" "$work/changed.cubin" >"$work/compared" &&
        [ "$(grep -c '^differs [^:]' "$work/compared")" = 1 ]
}
"$nvcc" -arch=sm_90 -ptx -o "$work/planted.ptx" "$top_srcdir/tests/analysis/elementwise.cu" &&
    "$ptxas" -arch sm_90 -o "$work/planted.cubin" "$work/planted.ptx" || exit 99
planted 'fma\.rn\.f32' 'fma.rz.f32' || { echo 'a planted change is not seen'; exit 1; }
planted 'mul\.wide\.[su]32\([^;]*\), 4;' 'mul.wide.s32\1, 8;' || { echo 'a planted number is not seen'; exit 1; }

# So is a parameter of another size.
sed '0,/\.param \.u32/s//.param .u64/' "$work/planted.ptx" >"$work/changed.ptx"
if "$layout" "$work/changed.ptx" "$work/planted.cubin" >"$work/compared" || ! "$layout" "$work/planted.ptx" "$work/planted.cubin"; then
    echo 'a planted parameter is not seen'
    exit 1
fi

cccl=$CUDA_HOME/include
[ -d "$cccl/cccl/cub" ] && cccl=$cccl/cccl
own=("$top_srcdir"/tests/ptx/*.cu "$top_srcdir"/tests/analysis/*.cu "$top_srcdir"/tests/codegen/kernels.cu
    "$top_srcdir"/tests/emulator/engine_kernels.cu "$top_srcdir"/tests/ptx/corpus/language.cu)
if [ "${1-}" = --all ]; then
    architectures='75 80 90 100'
    jobs=$(nproc)
    sources=("${own[@]}" "$top_srcdir"/bench/*.cu "$top_srcdir"/tests/bench/*.cu)
    library=("$top_srcdir"/tests/ptx/corpus/{cub,thrust}_*.cu)
else
    architectures=90
    jobs=1
    sources=("${own[@]}")
    library=("$top_srcdir"/tests/ptx/corpus/cub_histogram.cu)
fi
if [ -d "$cccl/cub" ]; then
    sources+=("${library[@]}")
else
    echo "no CCCL in $CUDA_HOME: without kernels of its headers"
fi

for source in "${sources[@]}"; do
    name=$(basename "$source" .cu)
    for sm in $architectures; do
        [ "$sm" -lt "${least[$name]-0}" ] || printf '%s\0%s\0%s\0' "$source" "$sm" "$work"
    done
done >"$work/list"
xargs <"$work/list" -0 -n 3 -P "$jobs" bash "$0" --one
cat "$work"/*.log
# CCCL's names hold the architecture: those of one are counted.
distinct() { sort -u "$work"/*-90.names | wc -l; }
report() {
    printf 'CUDA %s, commit %s, %s\n\n' "$("$nvcc" --version | sed -n 's/.*, V//p')" \
        "$(git -C "$top_srcdir" rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(date -u +%Y-%m-%d)"
    sort "$work"/*.row | awk -F '\t' '
        BEGIN { format = "%-36s %6s %8s %10s\n"; printf format, "source", "sm", "kernels", "identical" }
        { printf format, $1, $2, $3, $4; kernels += $3; identical += $4 }
        END { printf format, "all", "", kernels, identical }'
    printf '%s distinct names of kernels for sm_90\n' "$(distinct)"
}
if [ "${2-}" ]; then report | tee "$2"; else report; fi
[ $(($(cat "$work"/*.row | wc -l) * 3)) = "$(tr -cd '\0' <"$work/list" | wc -c)" ] || { echo 'rows are missing'; exit 1; }
awk -F '\t' '$3 != $4 { bad = 1 } END { exit bad }' "$work"/*.row || { echo 'not all are identical'; exit 1; }
if [ "${1-}" = --all ] && [ -d "$cccl/cub" ]; then
    [ "$(distinct)" -ge 300 ] || { echo 'fewer than 300 kernels'; exit 1; }
fi

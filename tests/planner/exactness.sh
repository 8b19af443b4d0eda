#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The argument for the exactness of every member, for programs built in several ways. The traces are recorded on the
# emulator and then said to be those of a GPU that runs the images' machine code.
. "$top_srcdir/tests/tools/functions.sh"
nvcc=$CUDA_HOME/bin/nvcc
source=$top_srcdir/tests/planner/exactness.cu

# plan_for_gpu NVCC_OPTION...: what explain says of the plan of the program built so, in $work/said
plan_for_gpu() {
    "$nvcc" -cudart shared "$@" -o "$work/app" "$source" 2>"$work/nvcc" || {
        cat "$work/nvcc"
        exit 77
    }
    rm -rf "$work/app.kftrace" "$work/app.kfplan"
    expect 0 "$kfuse" record --emulate -o "$work/app.kftrace" -- "$work/app"
    expect 0 "$top_builddir/tests/planner/patch_trace" "$work/app.kftrace"
    expect 0 "$kfuse" plan -o "$work/app.kfplan" "$work/app.kftrace"
    cp "$work/out" "$work/planned"
    expect 0 "$kfuse" explain "$work/app.kfplan"
    cp "$work/out" "$work/said"
}

# member KERNEL TEXT: explain gives this argument, right behind the member's line
member() {
    grep -A1 "^    $1 .*grid" "$work/said" | grep -qF -- "$2" && return 0
    cat "$work/said" >&2
    fail "member $1 is not $2"
}
# verified yes|no: whether the group is marked, in explain, in report and in plan.bin
verified() {
    expect 0 "$kfuse" report "$work/app.kfplan"
    if [ "$1" = yes ]; then
        says 'runs only after verification' "$work/said"
        says 'runs only after verification' "$work/out"
        says 'run only after `kfuse run --verify`' "$work/planned"
    else
        says 'launches become one' "$work/said"
        says 'exact: ' "$work/out"
        if grep -q 'only after' "$work/said" "$work/out" "$work/planned"; then fail "verification wanted"; fi
    fi
}

echo "code and PTX of sm_90: all are proven"
plan_for_gpu -arch=sm_90
member scale 'exact: no product feeds a sum'
member blend 'exact: PTX compiled alone reproduces the loaded code'
member divide 'exact: PTX compiled alone reproduces the loaded code'
member another 'exact: no product feeds a sum'
verified no
echo "one product is contracted into the sum, as in the program; nothing is left to the compiler"
cat "$work/app.kfplan"/group-*.cu >"$work/source"
for form in 'mul.rn.f32 %%m2_p' 'mul.rn.f32 %%m2_q' 'fma.rn.f32 %%m2_'; do
    [ "$(grep -c "\"$form" "$work/source")" = 1 ] || {
        grep 'm2_' "$work/source" >&2
        fail "not one $form in blend"
    }
done
if grep -Eq '"(mul|add|sub)\.f32 ' "$work/source"; then fail "a choice is left"; fi

echo "functions that are called become part of the kernel"
plan_for_gpu -arch=sm_90 -DCALLS
member call 'exact: PTX compiled alone reproduces the loaded code, and what it calls becomes part of it'
for kernel in call_free call_more; do
    member "$kernel" 'exact: PTX compiled alone reproduces the loaded code, and what it calls becomes part of it'
done
verified no
cat "$work/app.kfplan"/group-*.cu >"$work/source"
[ "$(grep -c 'fma.rn.f32' "$work/source")" -gt 3 ] || fail 'what functions contract is not found'
if grep -Eq '"(mul|add|sub)\.(f32|f64) ' "$work/source"; then fail "a choice is left"; fi

plan_for_gpu -arch=sm_90 -DCALLS -DLOOPED
member call_free 'exact: '
member call_more 'and it calls functions, which become part of it'
verified yes

echo "a loop that was unrolled, seen as it was written: rounded as each copy of it"
plan_for_gpu -arch=sm_90 -DLOOPS
member rolled 'exact: PTX compiled alone reproduces the loaded code'
says 'grid-stride' "$work/said"
cat "$work/app.kfplan"/group-*.cu >"$work/source"
if grep -Eq '"(mul|add|sub)\.f32 ' "$work/source"; then fail "a choice is left"; fi

echo "other registers, other code: reproduced with the same limit"
plan_for_gpu -arch=sm_90 -maxrregcount=24 -lineinfo
member blend 'exact: PTX compiled alone reproduces the loaded code'
verified no

echo "contraction switched off in the assembler: the PTX does not show it, the code does"
plan_for_gpu -arch=sm_90 -Xptxas -fmad=false
member scale 'exact: no product feeds a sum'
member blend 'to be verified: the product of line'
says '-fmad false' "$work/said"
verified yes

echo "-fmad=false: the compiler writes rounded operations, but not into the assembly of the program"
plan_for_gpu -arch=sm_90 -fmad=false
member scale 'exact: no product feeds a sum'
member blend 'to be verified'

echo "PTX alone: the driver's compiler decides"
plan_for_gpu -gencode arch=compute_90,code=compute_90
member scale 'exact: no product feeds a sum'
member blend 'to be verified: the product of line'
member divide 'is expanded by the compiler'
says 'the image holds PTX alone for sm_90' "$work/said"
verified yes

echo "code of sm_90 made of the PTX of compute_80"
plan_for_gpu -gencode arch=compute_80,code=sm_90 -gencode arch=compute_80,code=compute_80
member scale 'exact: PTX compiled alone reproduces the loaded code'
member another 'exact: PTX compiled alone reproduces the loaded code'
verified no

echo "another program on each architecture: never a member"
plan_for_gpu -DDIFFERENT -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
says 'kernel another is left alone: its module runs machine code of sm_90 but holds PTX of sm_80' "$work/said"

echo "debug code"
plan_for_gpu -arch=sm_90 -G
says 'is left alone: its module is debug code (nvcc -G)' "$work/said"
grep -q 'launches become one' "$work/said" && fail "debug code was fused"

echo "the emulator runs PTX"
"$nvcc" -cudart shared -arch=sm_90 -o "$work/app" "$source" || exit 77
record_and_plan "$work/app"
expect 0 "$kfuse" explain "$work/app.kfplan"
cp "$work/out" "$work/said"
member blend 'exact: the emulator runs the PTX itself'
verified no

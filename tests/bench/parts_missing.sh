#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Without CUPTI a program is recorded all the same; without NVRTC plan says what to install.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000 --steps 4"
# shellcheck disable=SC2086
{
    original $program
    KFUSE_CUPTI_PLUGIN=$work/none.so same_as_original "$kfuse" record --emulate -o "$work/app.kftrace" -- $program
    KFUSE_NVRTC=$work/none.so expect 1 "$kfuse" plan -o "$work/app.kfplan" "$work/app.kftrace"
    says "$work/app.kftrace: NVRTC not found: install the CUDA toolkit"
    [ ! -e "$work/app.kfplan" ] || fail "a plan without groups was written"
    same_as_original "$kfuse" run --emulate -p "$work/app.kfplan" -- $program
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# KFUSE_RECORD and KFUSE_PLAN with plain LD_PRELOAD do what the commands do.
. "$top_srcdir/tests/tools/functions.sh"
library=$top_builddir/interpose/.libs/libkfuse.so
program="$bench/vadd-shared --size 3000 --steps 4"
# shellcheck disable=SC2086
original $program
# shellcheck disable=SC2086
same_as_original on_emulator env LD_PRELOAD="$library" KFUSE_RECORD="$work/app.kftrace" $program
expect 0 "$kfuse" plan -q -o "$work/app.kfplan" "$work/app.kftrace"
# shellcheck disable=SC2086
same_as_original on_emulator env LD_PRELOAD="$library" KFUSE_PLAN="$work/app.kfplan" KFUSE_STATS="$work/stats" $program
[ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "nothing was fused"
# shellcheck disable=SC2086
same_as_original on_emulator env LD_PRELOAD="$library" KFUSE_PLAN="$work/app.kfplan" KFUSE_DISABLE=1 $program

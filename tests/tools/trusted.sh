#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces, plans and the cache folder: made for their user alone, and not used where others may have written them.
. "$top_srcdir/tests/tools/functions.sh"
trace=$work/app.kftrace plan=$work/app.kfplan
somebody=4242
umask 022

# alone COMMAND...: under kfuse as without it, and nothing fused
alone() {
    rm -f "$work/stats"
    same_as_original within "$kfuse" run --emulate --stats "$work/stats" "$@"
    [ "$(stat_of fused)" = 0 ] || fail "a plan was used: $*"
}

set -- "$bench/vadd-shared" --size 5000 --steps 4
original "$@"
record_and_plan "$@"
[ "$(stat -c %a "$trace")" = 600 ] || fail "others may read the trace"
[ "$(stat -c %a "$plan")" = 700 ] || fail "others may read the plan"
[ -z "$(find "$plan" -type f ! -perm 600)" ] || fail "others may read a file of the plan"
run_planned "$@"
[ "$(stat_of fused)" -gt 0 ] || fail "the user's own plan is not used"

chmod o+w "$plan/plan.bin"
alone -p "$plan" -- "$@"
says "kfuse run: $plan/plan.bin may be written by others"
says "chmod go-w $plan/plan.bin"
chmod 600 "$plan/plan.bin"
chmod o+w "$plan/plan.json"
alone -p "$plan" -- "$@"
chmod 600 "$plan/plan.json"

# reached by a link that others may change
mkdir "$work/open"
chmod 777 "$work/open"
ln -s "$plan" "$work/open/link"
alone -p "$work/open/link" -- "$@"
says "kfuse run: $work/open may be written by others"
ln -s "$plan" "$work/link"
run_options="-p $work/link" run_planned "$@"

# without `kfuse run`
expect 0 within env KFUSE_PLAN="$work/open/link" KFUSE_LOG=- KFUSE_STATS="$work/stats" LD_LIBRARY_PATH="$emulator" \
    LD_PRELOAD="$top_builddir/interpose/.libs/libkfuse.so" "$@"
says "$work/open may be written by others"
[ "$(stat_of fused)" = 0 ] || fail "a plan of others was used"

# a trace that others may have written is not planned, and may be looked at
chmod o+w "$trace"
expect 1 "$kfuse" plan -o "$work/new.kfplan" "$trace"
says "$trace may be written by others"
[ -e "$work/new.kfplan" ] && fail "a plan was made"
expect 0 "$kfuse" report "$trace"
expect 0 within "$kfuse" record --emulate -o "$trace" -- "$@"
[ "$(stat -c %a "$trace")" = 600 ] || fail "others may write the new trace"

# the cache folder
expect 0 within "$kfuse" run --emulate -- "$@"
[ "$(stat -c %a "$KFUSE_CACHE")" = 700 ] || fail "others may read the cache folder"
[ "$(stat -c %a "$KFUSE_CACHE"/*.kftrace)" = 600 ] || fail "others may read a trace in it"
expect 0 "$kfuse" plan
alone_with=$(stat -c %a "$KFUSE_CACHE"/*.kfplan)
[ "$alone_with" = 700 ] || fail "others may read a plan in it"
chmod 777 "$KFUSE_CACHE"
expect 1 "$kfuse" plan
says "$KFUSE_CACHE may be written by others"
alone -- "$@"
says "$KFUSE_CACHE may be written by others"

[ "$(id -u)" = 0 ] || exit 0

# of another user
chown -R $somebody "$plan"
alone -p "$plan" -- "$@"
says "kfuse run: $plan belongs to another user ($somebody)"
KFUSE_TRUST=$somebody run_planned "$@"
[ "$(stat_of fused)" -gt 0 ] || fail "a trusted user's plan is not used"

# a program that its user may replace anyway
mkdir "$work/theirs"
cp "$bench/.libs/vadd-shared" "$work/theirs/vadd" 2>/dev/null || cp "$bench/vadd-shared" "$work/theirs/vadd"
chown -R $somebody "$work/theirs"
expect 0 within env KFUSE_PLAN="$plan" KFUSE_LOG=- KFUSE_LOG_LEVEL=warning KFUSE_HOLD_US=10000000 KFUSE_STATS="$work/stats" \
    LD_LIBRARY_PATH="$emulator" LD_PRELOAD="$top_builddir/interpose/.libs/libkfuse.so" "$work/theirs/vadd" --size 5000 --steps 4
[ "$(stat_of fused)" -gt 0 ] || fail "the plan of the program's owner is not used"

# raised privileges: with the library in it, and nothing read from the environment
cat >"$work/init.c" <<'END'
int cuInit(unsigned flags);
int main(void) { return cuInit(0); }
END
libraries=$top_builddir/tests/interpose/.libs
cc -o "$work/init" "$work/init.c" -Wl,--no-as-needed "$top_builddir/interpose/.libs/libkfuse.so" "$libraries/libcuda.so.1" \
    -Wl,-rpath,"$top_builddir/interpose/.libs:$libraries" 2>/dev/null || exit 0
chmod 755 "$work"
mkdir "$work/record"
chmod 1777 "$work/record"
expect 0 env KFUSE_RECORD="$work/record/plain" "$work/init"
[ -e "$work/record/plain" ] || fail "nothing was recorded"
chown $somebody "$work/init"
chmod u+s "$work/init"
KFUSE_RECORD=$work/record/raised KFUSE_LOG=$work/record/log KFUSE_STATS=$work/record/stats KFUSE_CACHE=$work/record/cache "$work/init" || exit 0
[ "$(ls "$work/record")" = plain ] || fail "a process with raised privileges wrote $(ls "$work/record")"
exit 0

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What record and run hand to the program: preload first and the rest kept, absolute paths, their own exit status.
. "$top_srcdir/tests/tools/functions.sh"
cd "$work" || exit 1
kept=$(ldconfig -p 2>/dev/null | awk '/libm\.so\.6/ { print $NF; exit }')
[ -n "$kept" ] || exit 77

LD_PRELOAD=$kept expect 0 "$kfuse" record -n 12 -o app.kftrace -- env
grep -qE "^LD_PRELOAD=/.*libkfuse\.so:$kept\$" "$work/out" || fail "LD_PRELOAD: $(grep LD_PRELOAD "$work/out")"
says "KFUSE_RECORD=$work/app.kftrace" "$work/out"
says KFUSE_RECORD_LAUNCHES=12 "$work/out"
says KFUSE_LOG=- "$work/out"

expect 0 "$kfuse" record -- "$(command -v env)"
says "KFUSE_RECORD=$work/env.kftrace" "$work/out"

KFUSE_LOG=/dev/null expect 0 "$kfuse" run --stats counts --hold-us 7 -- env
says "KFUSE_STATS=$work/counts" "$work/out"
says KFUSE_HOLD_US=7 "$work/out"
says KFUSE_LOG=/dev/null "$work/out"
grep -q '^KFUSE_PLAN=' "$work/out" && fail "a plan that nobody named"

expect 42 "$kfuse" run -- sh -c 'exit 42'
expect 42 "$kfuse" record -- sh -c 'exit 42'
expect 127 "$kfuse" run -- "$work/no-such-program"
says "$work/no-such-program: No such file or directory"
: >"$work/no-program"
expect 126 "$kfuse" run -- "$work/no-program"

# With the emulator its folder comes first; a kfuse that was built without it says so.
for command in record run; do
    case $(sed -n 's/^#define KFUSE_HAS_EMULATOR //p' "$top_builddir/config.h") in
    1)
        LD_LIBRARY_PATH=$work expect 0 "$kfuse" $command --emulate -- env
        grep -qE "^LD_LIBRARY_PATH=/.*emulator.*:$work\$" "$work/out" || fail "LD_LIBRARY_PATH: $(grep LD_LIBRARY_PATH "$work/out")"
        ;;
    0)
        expect 1 "$kfuse" $command --emulate -- env
        says "kfuse $command: --emulate: this kfuse was built without the emulator"
        ;;
    *) fail 'config.h does not tell whether there is an emulator' ;;
    esac
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libcudart.so.13 stands in for NVIDIA's: its name, the names that it exports and their version, and how it gets to the
# driver.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CUDA_HOME:=/usr/local/cuda}"
ours=$top_builddir/emulator/.libs/libcudart.so.13
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "cudart_symbols.sh: $*" >&2; failures=$((failures + 1)); }

functions() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort; }
functions "$ours" >"$work/ours"
[ -s "$work/ours" ] || fail "exports nothing"
unversioned=$(grep -v '@@libcudart\.so\.13$' "$work/ours" | tr '\n' ' ')
[ -z "$unversioned" ] || fail "not of version libcudart.so.13: $unversioned"
objdump -p "$ours" | grep -q 'SONAME *libcudart\.so\.13$' || fail "its name is not libcudart.so.13"

theirs=$CUDA_HOME/lib64/libcudart.so.13
if [ -r "$theirs" ] && [ "$(readlink -f "$theirs")" != "$(readlink -f "$ours")" ]; then
    functions "$theirs" >"$work/theirs"
    missing=$(LC_ALL=C comm -13 "$work/ours" "$work/theirs" | tr '\n' ' ')
    [ -z "$missing" ] || fail "not exported: $missing"
    more=$(LC_ALL=C comm -23 "$work/ours" "$work/theirs" | tr '\n' ' ')
    [ -z "$more" ] || fail "exported, but not by NVIDIA's: $more"
fi

# It finds the driver by dlopen: it neither needs it nor refers to its symbols.
objdump -p "$ours" | awk '$1 == "NEEDED" { print $2 }' | grep -q '^libcuda\.so' && fail "needs libcuda"
driver=$(nm -D --undefined-only "$ours" | awk '$2 ~ /^cu[A-Z]/ { print $2 }' | tr '\n' ' ')
[ -z "$driver" ] || fail "refers to the driver's symbols: $driver"
[ $failures = 0 ]

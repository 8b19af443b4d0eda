#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# driver.def against the toolkit, and what libkfuse.so exports and links against it.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CUDA_HOME:=/usr/local/cuda}"
library=$top_builddir/interpose/.libs/libkfuse.so
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "table.sh: $*" >&2; failures=$((failures + 1)); }

sed -n 's/^ENTRY(\([A-Za-z0-9_]*\), *\([A-Z]*\))$/\1 \2/p' "$top_srcdir/interpose/driver.def" >"$work/rows"
cut -d' ' -f1 "$work/rows" | LC_ALL=C sort >"$work/table"
[ "$(grep -c '^ENTRY' "$top_srcdir/interpose/driver.def")" = "$(wc -l <"$work/rows")" ] || fail "a row is malformed"
[ -z "$(uniq -d "$work/table")" ] || fail "listed twice: $(uniq -d "$work/table" | tr '\n' ' ')"
unknown=$(cut -d' ' -f2 "$work/rows" | grep -Ev '^(PASS|FLUSH|TRACKED|LAUNCH)$')
[ -z "$unknown" ] || fail "no such class: $unknown"

# Every entry point that the toolkit's stub library has is in the table.
stub=$CUDA_HOME/lib64/stubs/libcuda.so
if [ -r "$stub" ]; then
    nm -D --defined-only "$stub" | awk '$3 ~ /^cu[A-Z]/ { print $3 }' | LC_ALL=C sort -u >"$work/toolkit"
    missing=$(LC_ALL=C comm -23 "$work/toolkit" "$work/table" | tr '\n' ' ')
    [ -z "$missing" ] || fail "not in driver.def: $missing"
fi

# All variants of an entry point that may observe queued work do so: none is PASS while another flushes.
awk '{ base = $1; sub(/_pt[ds][sz]$/, "", base); sub(/_v[0-9]+$/, "", base)
       if ($2 == "PASS") pass[base] = 1; if ($2 == "FLUSH") flush[base] = 1 }
     END { for (base in pass) if (base in flush) print base }' "$work/rows" >"$work/mixed"
[ ! -s "$work/mixed" ] || fail "PASS and FLUSH under one name: $(tr '\n' ' ' <"$work/mixed")"

# The library exports the table, dlsym and the one function of NVRTC, and nothing else.
{ cat "$work/table"; echo dlsym; echo nvrtcGetCUBIN; } | LC_ALL=C sort >"$work/wanted"
nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort >"$work/exported"
cmp -s "$work/wanted" "$work/exported" ||
    fail "exports differ: $(LC_ALL=C comm -3 "$work/wanted" "$work/exported" | tr '\n' ' ')"

# It needs the C library only, and never ends or prints in the program's name.
needed=$(objdump -p "$library" | awk '$1 == "NEEDED" { print $2 }' | grep -Ev '^(libc\.so|ld-linux|lib[at]san|libubsan|libm\.so)')
[ -z "$needed" ] || fail "is linked to $needed"
banned=$(nm -D --undefined-only "$library" | awk '{ print $2 }' | sed 's/@.*//' |
    grep -Ex 'exit|_exit|abort|__assert_fail|printf|puts|putchar|perror|__printf_chk')
[ -z "$banned" ] || fail "calls $banned"
[ "$failures" -eq 0 ]

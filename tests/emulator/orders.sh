#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Order mode: a program whose streams are ordered gives the same result under every seed; one that forgot to order them
# gives another under some, and the same seed gives the same again.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc=$(PATH=$CUDA_HOME/bin:$PATH command -v nvcc) || exit 77
libraries=$top_builddir/emulator/.libs
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
"$nvcc" -arch=sm_90 -cudart shared -o "$work/orders" "$top_srcdir/tests/emulator/orders.cu" || exit 99
run() { # SEED [ARGUMENT]
    LD_LIBRARY_PATH=$libraries KFUSE_EMULATOR=seed=$1 timeout 60 "$work/orders" ${2-}
}

[ "$(LD_LIBRARY_PATH=$libraries "$work/orders")" = 512 ] || fail "without a seed operations run as they are submitted"
seen=
for seed in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(run $seed event)" = 512 ] || fail "seed $seed: the reader did not wait for the event"
    [ "$(run $seed legacy)" = 512 ] || fail "seed $seed: the legacy stream did not order the two"
    wrong=$(run $seed)
    [ "$wrong" = "$(run $seed)" ] || fail "seed $seed gives different results"
    seen="$seen $wrong"
done
case $seen in *" 0"*) ;; *) fail "no seed shows that the program forgot to wait:$seen" ;; esac
case $seen in *" 512"*) ;; *) fail "no seed runs the streams in the order of their calls:$seen" ;; esac

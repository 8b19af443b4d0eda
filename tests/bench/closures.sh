#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels that take closures by value are fused as those with plain arguments are, and results are the same.
. "$top_srcdir/tests/tools/functions.sh"
closures=$top_builddir/tests/bench/closures
for form in 1 2 3 4 5; do
    fuses "$closures" --form "$form" --steps 8
    [ "$form" = 1 ] && issued=$(stat_of issued) && cp "$work/original.dump" "$work/plain.dump"
    cmp "$work/plain.dump" "$work/original.dump" >&2 || fail "form $form does something else"
    [ "$(stat_of issued)" = "$issued" ] || {
        "$kfuse" explain "$work/app.kfplan" >&2
        fail "$(stat_of issued) launches issued with form $form, $issued with plain arguments"
    }
done

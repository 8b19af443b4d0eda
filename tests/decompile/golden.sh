#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C of known kernels: NAME.expected. After a change that is meant: golden.sh --update (in the build folder, with top_srcdir).
. "$top_srcdir/tests/tools/functions.sh"
cd "$top_srcdir" || exit 1
for file in tests/decompile/forms.ptx tests/codegen/stencils.ptx tests/analysis/loops.ptx; do
    golden=tests/decompile/$(basename "$file" .ptx).expected
    expect 0 "$kfuse" ptx --source "$file"
    [ "${1:-}" != --update ] || cp "$work/out" "$golden"
    diff -u "$golden" "$work/out" >&2 || fail "$file: other text than expected"
done

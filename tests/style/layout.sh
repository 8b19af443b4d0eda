#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is laid out as .clang-format says. Versions of clang-format make different things of the same settings, so only the
# one by which the tree is laid out is asked. To mend: clang-format -i FILE.
set -u
for tool in clang-format-14 clang-format none; do
    case $("$tool" --version 2>/dev/null) in *' version 14.'*) break ;; esac
done
if [ "$tool" = none ]; then
    echo 'there is no clang-format 14'
    exit 77
fi
cd "${top_srcdir:?}" || exit 99
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

if printf 'int  x;\n' | "$tool" --style=file --assume-filename=common/x.c --dry-run -Werror 2>/dev/null; then
    fail 'a planted blank is not seen'
fi
sources='bench common emulator fuser interpose profiler ptx tests tools'
# shellcheck disable=SC2086
[ "$(find $sources -name '*.[ch]' | wc -l)" -gt 400 ] || fail 'the C files are not found'
# shellcheck disable=SC2086
find $sources -name '*.[ch]' ! -path '*.tmp/*' -exec "$tool" --style=file --dry-run -Werror --ferror-limit=3 {} + >&2 ||
    fail "lay these files out: $tool -i FILE"

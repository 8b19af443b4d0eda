#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every subcommand has --help, and its man page names the same options.
. "$top_srcdir/tests/tools/functions.sh"

expect 0 "$kfuse" --help
commands=$(awk '/^  [a-z]/ && $1 != "kfuse" { print $1 }' "$work/out")
[ -n "$commands" ] || fail "no commands listed"
for command in $commands; do
    expect 0 "$kfuse" "$command" --help
    says "usage: kfuse $command" "$work/out"
    page=$top_srcdir/man/kfuse-$command.1
    [ -r "$page" ] || fail "no man page: $page"
    options=$(grep -oE '^ .*--[a-z-]+' "$work/out" | grep -oE -- '--[a-z-]+' | sort -u)
    for option in $options; do
        sed 's/\\-/-/g' "$page" | grep -qF -- "$option" || fail "$page does not name $option"
    done
    in_page=$(sed 's/\\-/-/g' "$page" | awk '/^\.SH OPTIONS/ { on = 1; next } /^\.SH/ { on = 0 } on' |
        grep -E '^\.(B|BR|BI|IR|RB)' | grep -oE -- '--[a-z-]+' | sort -u)
    for option in $in_page; do
        grep -qF -- "$option" "$work/out" || fail "--help of $command does not name $option"
    done
done

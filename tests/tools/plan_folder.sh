#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where kfuse plan and kfuse record write: nothing of the user's is replaced or removed, and what is interrupted leaves one plan.
. "$top_srcdir/tests/tools/functions.sh"
trace=$work/app.kftrace plan=$work/app.kfplan
vadd=$bench/vadd-shared
expect 0 within "$kfuse" record --emulate -o "$trace" -- "$vadd" --size 5000 --steps 4 --dump "$work/original.dump"

# with_plan: the plan is whole, and used
with_plan() {
    expect 0 "$kfuse" explain "$plan"
    expect 0 "$kfuse" report "$plan"
    expect 0 "$kfuse" explain --source "$plan"
    expect 0 within "$kfuse" run --emulate -p "$plan" -- "$vadd" --size 5000 --steps 4 --dump "$work/fused.dump"
    [ -s "$work/err" ] && says 'no such line'
    cmp "$work/original.dump" "$work/fused.dump" || fail "other results"
}

# a folder of the user's: as it was, and the message says what to do
mkdir "$work/mine"
for file in plan.json group-a.cu kernel-a.c verified notes; do echo mine >"$work/mine/$file"; done
expect 1 "$kfuse" plan -o "$work/mine" "$trace"
says "$work/mine: holds files ("
says 'choose another folder with -o'
for file in plan.json group-a.cu kernel-a.c verified notes; do [ "$(cat "$work/mine/$file")" = mine ] || fail "$file is another"; done
[ "$(ls -A "$work/mine" | wc -l)" = 5 ] || fail "other files"
expect 1 "$kfuse" plan -o "$work/mine/notes" "$trace"
[ "$(cat "$work/mine/notes")" = mine ] || fail "a file was replaced"

# an empty folder will do; what the user puts beside a plan stays when it is replaced
mkdir "$plan"
expect 0 "$kfuse" plan --keep-losing -o "$plan" "$trace"
with_plan
for file in group-mine.cu kernel-mine.c notes; do echo mine >"$plan/$file"; done
expect 0 "$kfuse" plan --keep-losing --store-all -o "$plan" "$trace"
for file in group-mine.cu kernel-mine.c notes; do [ "$(cat "$plan/$file")" = mine ] || fail "$file is another"; done
with_plan

# what the old plan alone had goes
ls "$plan"/group-g*.cu >"$work/before" || fail "no group"
expect 0 "$kfuse" plan --margin 0.99 -o "$plan" "$trace"
ls "$plan"/group-g*.cu 2>/dev/null && fail "files of the old plan are left"
[ "$(cat "$plan/group-mine.cu")" = mine ] || fail "group-mine.cu is another"
with_plan

# a file in the way
taken=$(sed -n '1s,.*/,,p' "$work/before")
echo mine >"$plan/$taken"
cp "$plan/plan.bin" "$work/old.bin"
expect 1 "$kfuse" plan --keep-losing -o "$plan" "$trace"
says "$plan/$taken: is in the way"
[ "$(cat "$plan/$taken")" = mine ] || fail "$taken is another"
cmp "$plan/plan.bin" "$work/old.bin" || fail "another plan.bin"
rm "$plan/$taken"
with_plan

# a write that fails leaves the old plan, and nothing else
ls -A "$plan" >"$work/before"
(ulimit -f 1 && expect 1 "$kfuse" plan --keep-losing -o "$plan" "$trace") || exit 1
cmp "$plan/plan.bin" "$work/old.bin" || fail "another plan.bin"
ls -A "$plan" | diff "$work/before" - >&2 || fail "other files"
(ulimit -f 1 && expect 1 "$kfuse" plan --keep-losing -o "$work/new.kfplan" "$trace") || exit 1
[ -e "$work/new.kfplan" ] && fail "half a plan is left"

# killed while the files were written: the old plan; after plan.bin: the new one
expect 0 "$kfuse" plan --keep-losing -o "$work/new.kfplan" "$trace"
stage() {
    for file in "$work"/new.kfplan/*.*; do
        case $file in *plan.bin) ;; *) cp "$file" "$plan/.kfuse-next-${file##*/}" ;; esac
    done
}
stage
head -c 100 "$work/new.kfplan/plan.bin" >"$plan/.plan.bin.7"
with_plan
cmp "$plan/plan.bin" "$work/old.bin" || fail "another plan.bin"
mv "$work/new.kfplan/plan.bin" "$plan/plan.bin"
expect 0 within "$kfuse" run --emulate -p "$plan" --stats "$work/stats" -- "$vadd" --size 5000 --steps 4
[ -s "$work/err" ] && says 'no such line'
[ "$(stat_of fused)" -gt 0 ] || fail "the new plan is not used"
with_plan
for file in "$work"/new.kfplan/*; do cmp "$file" "$plan/${file##*/}" || fail "another $file"; done
stage
expect 0 "$kfuse" plan --keep-losing -o "$plan" "$trace"
ls -A "$plan" | grep '^\.' && fail "something staged is left"
[ "$(cat "$plan/group-mine.cu")" = mine ] || fail "group-mine.cu is another"

# record: no file that is not a trace
expect 0 within "$kfuse" record --emulate -o "$plan/notes" -- "$vadd" --size 5000 --steps 4
says 'notes: it holds something else than a trace'
[ "$(cat "$plan/notes")" = mine ] || fail "notes is another"
expect 0 within "$kfuse" record --emulate -o "$trace" -- "$vadd" --size 5000 --steps 4
[ -s "$work/err" ] && says 'no such line'
exit 0

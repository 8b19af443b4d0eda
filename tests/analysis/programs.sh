#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs of bench/ and tests/ at small sizes: what their launches touch on the emulator lies in the relations of the
# analysis, and equals those that claim to be exact (watch_launches.c). Every kernel of a program is launched and held, or
# named below with a reason. programs.sh [PROGRAM]...: these alone.
. "${top_srcdir:?}/tests/tools/functions.sh"
watcher=$top_builddir/tests/analysis/.libs/libwatch.so

# Kernels that a program has and does not launch: PROGRAM KERNEL...
exempt='
bench/kernel-summation-shared axpy copy copy_matrix dot sum gemv gemvt_tiles ger scal
tests/planner/exactness call call_free call_more rolled
'

# watched ARGUMENT...: a run of $program; its lines come to $work/lines
watched() {
    : >"$work/run"
    KFUSE_WATCH=$work/run LD_PRELOAD=$watcher on_emulator "$top_builddir/$program" "$@" >"$work/out" 2>"$work/err" || {
        cat "$work/err" >&2
        fail "the program itself fails: $program $*"
    }
    awk '$1 == "held" { n += $5 } END { exit n > 0 }' "$work/run" || {
        grep -m 20 '^kernel ' "$work/err" >&2
        fail "launches do what the analysis does not know: $program $*"
    }
    grep '^refused ' "$work/run" >&2 && fail "not analysed: $program $*"
    cat "$work/run" >>"$work/lines"
}

# modes PROGRAM: those that it says there are
modes() { on_emulator "$top_builddir/$1" --mode x 2>&1 | sed -n 's/.*no such mode; there are: //p'; }

run_program() {
    case ${program##*/} in
    vadd-shared)
        for form in inplace temporary hand-inplace hand-temporary copy; do watched --size 5000 --steps 2 --form $form; done
        ;;
    chain-shared)
        watched --size 3000 --steps 2
        watched --size 1000 --steps 2 --length 11
        watched --size 1000 --steps 2 --hand
        watched --size 1000 --steps 2 --hand --length 11
        ;;
    shallow-shared)
        for border in '' --border; do
            # shellcheck disable=SC2086
            for hand in '' --hand; do watched --size 32 --steps 3 $border $hand; done
        done
        ;;
    lecture-shared)
        watched --size 3000 --steps 2
        watched --size 3000 --size2 5000 --steps 2 --form independent
        ;;
    listings-shared)
        watched --nx 70 --ny 30 --steps 2 --nz 3
        watched --nx 70 --ny 30 --steps 2 --nz 7 --loop
        watched --nx 70 --ny 30 --steps 2 --nz 3 --hand
        ;;
    nofuse-shared) watched --size 1000 --steps 2 ;;
    kernel-summation-shared)
        watched --m 40 --n 50 --k 9
        watched --m 40 --n 50 --k 9 --rows
        for n in 50 52; do watched --m 40 --n $n --k 9 --variant flat; done
        watched --m 40 --n 50 --k 9 --variant limit
        ;;
    blas-shared)
        watched --size 10000 # sums in more than one launch
        on_emulator "$bench/blas-shared" --list >"$work/list"
        while read -r sequence _; do watched --sequence "$sequence" --size 70 --columns 50 --steps 2; done <"$work/list"
        while read -r sequence _; do watched --sequence "$sequence" --size 70 --columns 50 --variant limit; done < <(grep limit "$work/list")
        ;;
    client) watched --pattern sdgo ;;
    exactness) watched ;;
    columns) for levels in 3 5; do watched --nz $levels; done ;;
    orders) watched event ;;
    attack) # one past the end of an array is the start of the next one, as on a GPU
        for mode in $(modes "$program"); do KFUSE_EMULATOR=packed=1 watched --mode "$mode" --variant 1; done
        ;;
    corners) for mode in poll free capture; do watched --mode $mode; done ;;
    threads) for mode in streams one-stream events captures short-streams; do watched --mode $mode; done ;;
    patterns | reach | verified) for mode in $(modes "$program"); do watched --mode "$mode"; done ;;
    *) fail "how to run $program?" ;;
    esac
}

# Every kernel of the program was held.
check_kernels() {
    local kernel name spared
    spared=" $(sed -n "s,^$program ,,p" <<<"$exempt") "
    "$kfuse" ptx --list "$top_builddir/$program" >"$work/list" || fail "no kernels in $program"
    while read -r kernel; do
        for name in $spared; do [[ $kernel =~ ^_Z[0-9]+${name}(_kernel)?[iP] ]] && continue 2; done
        grep -q "^held $kernel " "$work/lines" || fail "$program: $kernel is not held"
    done < <(sed -n 's/^\([^ ]*\): .*/\1/p' "$work/list")
}

programs=(bench/{vadd,chain,shallow,lecture,listings,nofuse,kernel-summation,blas}-shared bench/client
    tests/bench/{columns,attack,corners,threads,patterns,reach} tests/interpose/verified tests/planner/exactness tests/emulator/orders)
[ $# = 0 ] || programs=("$@")
for program in "${programs[@]}"; do
    : >"$work/lines"
    run_program
    check_kernels
    awk -v name="$program" '
        $1 == "held" { launches++; exact += $4; kernels += !seen[$2]++ }
        END { printf "%s: %d kernels, %d launches, %d accesses compared instance by instance\n", name, kernels, launches, exact }
        END { exit !exact }' "$work/lines" || fail "nothing was compared: $program"
done

# Were the arrays 4 bytes further on, it would be seen.
program=bench/vadd-shared
(KFUSE_WATCH_OFFSET=4 watched --size 100 --steps 1) 2>"$work/planted" && fail 'accesses beside their arrays are not seen'
says 'is in the exact relation, but did not happen' "$work/planted"

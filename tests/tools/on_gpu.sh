# SPDX-License-Identifier: Apache-2.0
# For the scripts that try programs on a machine with a GPU: sourced; needs top_builddir. No run lasts longer than LIMIT seconds
# (environment; 30; planning: four times that), and what fails does not keep the rest from being tried. A folder of the emulator in LD_LIBRARY_PATH
# stands in for a GPU.
top_builddir=$(cd "$top_builddir" && pwd) || exit 2
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
export top_builddir
# shellcheck disable=SC2034
emulate='' limit=${LIMIT:-30}
. "$top_srcdir/tests/tools/functions.sh"
export KFUSE_HOLD_US=10000000 LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${CUDA_HOME:-/usr/local/cuda}/lib64"

# tries TEXT FUNCTION ARGUMENT...: the function in a shell of its own, which `fail` ends; one line tells what came of it and what
# the function printed; false when it failed
tries() {
    tried=$1
    shift
    if ("$@") >"$work/said" 2>"$work/why"; then
        printf 'passed: %s: %s\n' "$tried" "$(paste -sd';' "$work/said")"
    else
        printf 'FAILED: %s: %s\n' "$tried" "$(sed 's/^FAILED: //' "$work/why" | paste -sd' ' | cut -c1-500)"
        return 1
    fi
}

# is_wanted PROGRAM/MODE WANTED...: nothing is named, or this mode is, or all modes of the program are
is_wanted() {
    word=$1
    shift
    [ $# -gt 0 ] || return 0
    case " $* " in *" $word "* | *" ${word%%/*} "*) ;; *) return 1 ;; esac
}

# total: copies the lines of `tries`, and ends in "N passed, N failed"; nothing tried is a failure
total() {
    awk '{ n[$1]++; print; fflush() }
        END { printf "%d passed, %d failed\n", n["passed:"], n["FAILED:"]; exit n["FAILED:"] > 0 || !n["passed:"] }'
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the scripts that make tables: numbers one a line. Sourced.

# median [FILE]; of nothing: -
median() {
    sort -g "$@" 2>/dev/null | awk '{ v[NR] = $1 } END { print NR ? (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) : "-" }'
}
# ratios FILE FILE: line by line, which drifts of the machine hardly touch where the samples were taken one after the other
ratios() { paste "$1" "$2" | awk '$2 > 0 { print $1 / $2 }'; }
# deviation FILE: twice the standard error of the mean; of fewer than two numbers: -
deviation() {
    awk '{ n++; sum += $1; squares += $1 * $1 }
        END { if (n < 2) print "-"; else { v = (squares - sum * sum / n) / (n - 1); print 2 * sqrt((v > 0 ? v : 0) / n) } }' "$1"
}

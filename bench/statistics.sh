# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the scripts that make tables: numbers one a line. Sourced.

# median [FILE]; of nothing: -
median() {
    sort -g "$@" 2>/dev/null | awk '{ v[NR] = $1 } END { print NR ? (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) : "-" }'
}
# ratios FILE FILE: line by line, which drifts of the machine hardly touch where the samples were taken one after the other
ratios() { paste "$1" "$2" | awk '$2 > 0 { print $1 / $2 }'; }
# deviation FILE: half the width of the mean's 95% confidence interval (Student's t); of fewer than two numbers: -
deviation() {
    awk '{ n++; sum += $1; squares += $1 * $1 }
        END {
            if (n < 2) { print "-"; exit }
            split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093 2.086", t, " ")
            v = (squares - sum * sum / n) / (n - 1)
            print (n <= 21 ? t[n - 1] : 2.08) * sqrt((v > 0 ? v : 0) / n)
        }' "$1"
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the scripts that make tables: numbers one a line. Sourced.

# median [FILE]; of nothing: -
median() {
    sort -g "$@" 2>/dev/null | awk '{ v[NR] = $1 } END { print NR ? (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) : "-" }'
}
average() { awk '{ sum += $1 } END { printf "%.4f", sum / NR }' "$1"; }
# ratios FILE FILE: line by line, which drifts of the machine hardly touch where the samples were taken one after the other
ratios() { paste "$1" "$2" | awk '$2 > 0 { print $1 / $2 }'; }
# deviation FILE: half the width of a 95% confidence interval of what the numbers lie around; of fewer than two: -. Fewer than six:
# of the mean, by Student's t. More: of the median of all pairs' means (Hodges and Lehmann), by Wilcoxon's signed ranks, which one
# run that something disturbed hardly moves.
deviation() {
    local count
    count=$(grep -c . "$1")
    if [ "$count" -lt 6 ]; then
        awk '{ n++; sum += $1; squares += $1 * $1 }
            END {
                if (n < 2) { print "-"; exit }
                split("12.71 4.303 3.182 2.776", t, " ")
                v = (squares - sum * sum / n) / (n - 1)
                print t[n - 1] * sqrt((v > 0 ? v : 0) / n)
            }' "$1"
    else
        awk '{ v[++n] = $1; for (i = 1; i <= n; i++) print (v[i] + v[n]) / 2 }' "$1" | sort -g |
            awk -v n="$count" '{ pair[NR] = $1 }
                END {
                    outer = int(n * (n + 1) / 4 - 1.96 * sqrt(n * (n + 1) * (2 * n + 1) / 24))
                    if (outer < 1) outer = 1
                    print (pair[NR + 1 - outer] - pair[outer]) / 2
                }'
    fi
}

# SPDX-License-Identifier: Apache-2.0
# From kfuse explain, a line each: "group" and its members; "fused", two neighbours, and how; "alone", a kernel that can be
# no member, and why; "apart", two neighbours that can, and why not; "handed", what a block hands on in shared memory. Use with sort -u.
{ gsub(/_kernel/, "") }
/^    [A-Za-z_0-9]+  grid / { group = group (group ? "+" : "") $1 }
/^    array .* loads take what / { sub(/^ */, ""); print "handed " $0 }
/^  a use: / { print "group " group; group = "" }
/ cannot be a member: / { alone[$2]; name = $2; sub(/.* — /, ""); print "alone " name ": " $0 }
/^(apart|fused): .*, then / {
    how = $1; one = $2; two = $4
    sub(/:/, "", how)
    sub(/,/, "", one)
    if (one in alone || two in alone || /: between them: /) next
    sub(/^[^(]*\([0-9]+ times\): /, "")
    if (how == "apart" && match($0, /kernel [^ ]* line [0-9]+ .* another thread: e\.g\./))
        $0 = substr($0, RSTART, RLENGTH - 6)
    else if (how == "apart" && !/ \(projected: /)
        sub(/.*: /, "")
    sub(/ in group [^, ]*/, "")
    if (/ — /) sub(/.* — /, "blocks stay whole, of other shapes: ")
    gsub(/ line [0-9]+/, "")
    gsub(/ \(its argument at byte [0-9]+\)/, "")
    print how " " one ", " two ": " $0
}

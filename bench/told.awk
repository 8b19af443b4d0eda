# SPDX-License-Identifier: Apache-2.0
# From kfuse explain, a line each: "fused" and the members of a group; "alone", a kernel that can be no member, and why;
# "apart", two kernels that can, and why not. Use with sort -u.
{ gsub(/_kernel/, "") }
/^    [A-Za-z_0-9]+  grid / { group = group (group ? "+" : "") $1 }
/^  a use: / { print "fused " group; group = "" }
/ cannot be a member: / { alone[$2]; name = $2; sub(/.* — /, ""); print "alone " name ": " $0 }
/^apart: / {
    one = $2; two = $4
    sub(/,/, "", one)
    getline
    if (!(one in alone) && !(two in alone)) { sub(/^ *(.*: )?/, ""); print "apart " one ", " two ": " $0 }
}

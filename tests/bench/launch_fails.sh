#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch that is refused: the same errors at the same calls.
. "$top_srcdir/tests/tools/functions.sh"
corner fail

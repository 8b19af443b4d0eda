#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An array that is freed right after a launch on it.
. "$top_srcdir/tests/tools/functions.sh"
corner free

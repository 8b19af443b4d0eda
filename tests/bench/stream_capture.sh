#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches in a stream capture pass through.
. "$top_srcdir/tests/tools/functions.sh"
corner capture

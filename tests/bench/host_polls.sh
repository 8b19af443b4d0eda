#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A host that polls mapped memory never waits for a launch that is held back.
. "$top_srcdir/tests/tools/functions.sh"
corner poll

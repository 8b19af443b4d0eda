#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch that faults: the same errors as without kfuse.
. "$top_srcdir/tests/tools/functions.sh"
corner fault

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch that is passed through costs no more instructions than bench/cost allows: counted by valgrind, on the emulator.
ONLY=passed exec "$top_srcdir/bench/cost" "$top_builddir"

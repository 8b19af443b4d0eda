#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that ends with launches in flight.
. "$top_srcdir/tests/tools/functions.sh"
corner exit

# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += tests/emulator/golden.h tests/emulator/golden_cases.def tests/emulator/golden_record.c

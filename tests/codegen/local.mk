# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += tests/codegen/kernels.cu tests/codegen/kernels.ptx \
	tests/codegen/hand.c tests/codegen/hand.h tests/codegen/test_group.c

// SPDX-License-Identifier: Apache-2.0
// Kernels that stage in shared memory what they read, those of tests/bench/staged.sh: test_staging.c says what is told of them.
// launch edges grid 3 2 1 block 16 16 1 args p:4000 p:4000 i32:40 i32:25
// launch clamped grid 3 2 1 block 16 16 1 args p:4000 p:4000 i32:40 i32:25
// launch box grid 3 2 1 block 16 16 1 args p:4000 p:4000 i32:40 i32:25
// launch periodic grid 3 2 1 block 16 16 1 args p:4000 p:4000 i32:40 i32:25
// launch cleared grid 3 2 1 block 16 16 1 args p:4000 p:4000 i32:40 i32:25
// launch row grid 8 1 1 block 128 1 1 shared 528 args p:4000 p:4000 i32:1000
// launch beside grid 8 1 1 block 128 1 1 args p:4000 p:4000 i32:1000 i32:3
// launch grey grid 3 2 1 block 16 16 1 args p:1000 p:1000 i32:40 i32:25
// launch late grid 8 1 1 block 128 1 1 args p:4000 p:4000 i32:1000
// launch in_place grid 8 1 1 block 128 1 1 args p:4000 i32:1000
// launch refilled grid 8 1 1 block 128 1 1 args p:4000 p:4000 i32:1000
// launch sums grid 8 1 1 block 128 1 1 args p:4000 p:4000 i32:1000
extern "C" {
#include "../bench/staged_kernels.h"
}

/* SPDX-License-Identifier: Apache-2.0
 * The lane operations once more, for x86-64 processors with AVX2 and FMA. */
#include "ptx/ptx.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#define LANES(name) name##_fast
#include "emulator/lanes_integer.c"
#include "emulator/lanes_float.c"
#include "emulator/lanes_half.c"
#include "emulator/lanes_convert.c"
#include "emulator/lanes_move.c"
#endif

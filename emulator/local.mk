# SPDX-License-Identifier: Apache-2.0
# --- the engine (driver and runtime link libengine.la)
noinst_LTLIBRARIES += liblanes.la libengine.la
# Lane loops vectorise; rounding and the sign of zero stay as written.
liblanes_la_CFLAGS = $(AM_CFLAGS) -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fno-strict-aliasing
liblanes_la_SOURCES = \
	emulator/half.h \
	emulator/lanes.c emulator/lanes.h \
	emulator/lanes_convert.c \
	emulator/lanes_fast.c \
	emulator/lanes_float.c \
	emulator/lanes_half.c \
	emulator/lanes_integer.c \
	emulator/lanes_move.c
liblanes_la_LIBADD = -lm
libengine_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fno-strict-aliasing
libengine_la_SOURCES = \
	emulator/access.c \
	emulator/atomic.c \
	emulator/barrier.c \
	emulator/clock.c emulator/clock.h \
	emulator/collective.c \
	emulator/decode.c emulator/decode.h \
	emulator/decode_arithmetic.c \
	emulator/decode_call.c \
	emulator/decode_compare.c \
	emulator/decode_convert.c \
	emulator/decode_memory.c \
	emulator/decode_operand.c \
	emulator/decode_warp.c \
	emulator/engine.h \
	emulator/exec.h \
	emulator/frame.c \
	emulator/liveness.c \
	emulator/machine.c emulator/machine.h \
	emulator/memory.c emulator/memory.h \
	emulator/program.c \
	emulator/races.c \
	emulator/traffic.c \
	emulator/warp.c
libengine_la_LIBADD = liblanes.la libptx.la -lpthread

# what a profiler may ask of the emulated driver
EXTRA_DIST += emulator/activity.h

# SPDX-License-Identifier: Apache-2.0
# --- the engine (driver and runtime link libengine.la)
if EMULATOR
noinst_LTLIBRARIES += liblanes.la libengine.la
endif
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
	emulator/forms.c emulator/forms.def emulator/forms.h \
	emulator/frame.c \
	emulator/liveness.c \
	emulator/machine.c emulator/machine.h \
	emulator/memory.c emulator/memory.h \
	emulator/output.c \
	emulator/program.c \
	emulator/race_grid.c emulator/race_order.c \
	emulator/races.c emulator/races.h \
	emulator/run.c \
	emulator/traffic.c \
	emulator/warp.c \
	emulator/worker.c
libengine_la_LIBADD = liblanes.la libptx.la -lpthread

# what a profiler may ask of the emulated driver
EXTRA_DIST += emulator/activity.h

# --- the driver and the runtime: programs find them through LD_LIBRARY_PATH
emulatordir = $(pkglibdir)/emulator
emulator_LTLIBRARIES =
if EMULATOR
emulator_LTLIBRARIES += emulator/libcuda.la emulator/libcudart.la
endif
emulator_libcuda_la_SOURCES = \
	emulator/activity.h \
	emulator/driver.def \
	emulator/driver.h \
	emulator/driver_activity.c \
	emulator/driver_attributes.def \
	emulator/driver_capture.c \
	emulator/driver_context.c \
	emulator/driver_copy.c \
	emulator/driver_device.c \
	emulator/driver_event.c \
	emulator/driver_fill.c \
	emulator/driver_graph.c \
	emulator/driver_host.c \
	emulator/driver_kernel.c \
	emulator/driver_launch.c \
	emulator/driver_memory.c \
	emulator/driver_module.c \
	emulator/driver_object.c \
	emulator/driver_operation.c \
	emulator/driver_output.c \
	emulator/driver_queue.c \
	emulator/driver_serve.c \
	emulator/driver_state.c \
	emulator/driver_stream.c \
	emulator/driver_stubs.S \
	emulator/driver_table.c \
	emulator/driver_value.c \
	emulator/driver_virtual.c \
	emulator/driver_watch.c \
	emulator/errors.def \
	emulator/watch.h
# The stubs reach driver_is_per_thread without a call. An entry point never binds to a preloaded library's.
emulator_libcuda_la_CFLAGS = $(AM_CFLAGS) -ftls-model=initial-exec
emulator_libcuda_la_CCASFLAGS = $(AM_CPPFLAGS)
emulator_libcuda_la_LDFLAGS = -shared -version-number 1 -no-undefined -Wl,-Bsymbolic \
	-export-symbols-regex '^(cu[A-Z].*|emu[A-Z].*)$$'
emulator_libcuda_la_LIBADD = libengine.la -lpthread
# --- the runtime: for programs built with nvcc -cudart shared
emulator_libcudart_la_CFLAGS = $(AM_CFLAGS) -fno-strict-aliasing
emulator_libcudart_la_SOURCES = \
	emulator/cudart.h \
	emulator/cudart_copy.c emulator/cudart_copy.def \
	emulator/cudart_device.c emulator/cudart_properties.def \
	emulator/cudart_driver.def \
	emulator/cudart_forward.c emulator/cudart_forward.def \
	emulator/cudart_launch.c emulator/cudart_kernel.def \
	emulator/cudart_memory.c \
	emulator/cudart_module.c \
	emulator/cudart_state.c \
	emulator/cudart_unsupported.c emulator/cudart_unsupported.def
emulator_libcudart_la_LDFLAGS = -shared -version-number 13 -no-undefined -Wl,-Bsymbolic \
	-Wl,--version-script=$(top_srcdir)/emulator/cudart.map
emulator_libcudart_la_LIBADD = libcommon.la -ldl -lpthread
emulator_libcudart_la_DEPENDENCIES = libcommon.la emulator/cudart.map
EXTRA_DIST += emulator/cudart.map

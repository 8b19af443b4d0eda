# SPDX-License-Identifier: Apache-2.0
# C tests use cmocka and are named tests/AREA/test_NOUN.c; shell tests are tests/AREA/NOUN.sh. Exit 77 skips.
c_tests =
# What configure --disable-emulator leaves out: programs that are linked with the emulator, C tests among them, and scripts that use
# it. Scripts that also need programs that nvcc has built are in bench_scripts, those that need these alone in nvcc_scripts.
emulator_tests =
emulator_check_programs =
emulator_scripts =
bench_scripts =
nvcc_scripts =
# Tests of which make check runs a share and make check-long the whole: they see KFUSE_TEST_LONG=1 then.
long_tests =
KFUSE_TEST_LONG = 0
# Programs of tests/ that a GPU user would build with nvcc, one .cu file each; with the shared runtime, for the emulator.
cuda_tests =
# Some of them once more, with a default stream of each thread's own.
own_stream_tests =
cuda_test_headers = bench/bench.h tests/bench/driver_call.h tests/bench/modes.h tests/bench/scale_shift.h
include tests/common/local.mk
include tests/ptx/local.mk
include tests/emulator/local.mk
include tests/interpose/local.mk
include tests/profiler/local.mk
include tests/analysis/local.mk
include tests/fusion/local.mk
include tests/codegen/local.mk
include tests/decompile/local.mk
include tests/planner/local.mk
include tests/tools/local.mk
include tests/bench/local.mk
include tests/referee/local.mk
include tests/fuzz/local.mk
include tests/style/local.mk
if EMULATOR
c_tests += $(emulator_tests)
check_PROGRAMS += $(emulator_check_programs)
dist_check_SCRIPTS += $(emulator_scripts)
if BENCH
dist_check_SCRIPTS += $(bench_scripts)
endif
endif
if BENCH
dist_check_SCRIPTS += $(nvcc_scripts)
cuda_programs += $(cuda_tests) $(own_stream_tests:=-own)
endif
check_PROGRAMS += $(c_tests)
EXTRA_DIST += $(cuda_tests:=.cu) $(cuda_test_headers)
tests/%-own: tests/%.cu $(cuda_test_headers)
	@$(MKDIR_P) $(@D)
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -default-stream per-thread -I$(top_srcdir) -cudart shared -Xlinker -z,lazy -o $@ $<
tests/%: tests/%.cu $(cuda_test_headers)
	@$(MKDIR_P) $(@D)
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -I$(top_srcdir) -cudart shared -Xlinker -z,lazy -o $@ $<
TESTS += $(c_tests) $(dist_check_SCRIPTS)
TEST_EXTENSIONS = .sh
AM_TESTS_ENVIRONMENT = top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; CUDA_HOME='$(CUDA_HOME)'; KFUSE_TEST_LONG='$(KFUSE_TEST_LONG)'; export top_srcdir top_builddir CUDA_HOME KFUSE_TEST_LONG;

.PHONY: check-long
check-long:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter $(long_tests),$(TESTS))' KFUSE_TEST_LONG=1

# The C tests and the replays of tests/fuzz: what a build with --enable-sanitizers runs. A library that is preloaded and hooks
# dlsym cannot stand before the sanitizer's own: tests that start programs with it are left to make check.
unit_tests = $(filter-out $(preload_tests),$(c_tests))
.PHONY: check-unit
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) $(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) $(check_LTLIBRARIES) $(unit_tests) $(fuzz_replays)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(unit_tests) tests/fuzz/replay.sh'

# SPDX-License-Identifier: Apache-2.0
# Whole programs on the emulator: record, plan, run, compare. The programs are bench/*-shared and $(cuda_tests).
bench_scripts += \
	tests/bench/attack.sh \
	tests/bench/behind.sh tests/bench/beside.sh \
	tests/bench/lazy.sh tests/bench/lazy_overwritten.sh tests/bench/lazy_streams.sh \
	tests/bench/blas.sh \
	tests/bench/chain.sh \
	tests/bench/chains.sh \
	tests/bench/closures.sh \
	tests/bench/columns.sh \
	tests/bench/jacobi.sh \
	tests/bench/waits.sh \
	tests/bench/exit_unsynchronised.sh \
	tests/bench/flat.sh \
	tests/bench/freed_at_once.sh \
	tests/bench/constants.sh \
	tests/bench/host_polls.sh \
	tests/bench/kernel_summation.sh \
	tests/bench/killed.sh \
	tests/bench/launch_fails.sh \
	tests/bench/launch_faults.sh \
	tests/bench/lecture.sh \
	tests/bench/levels.sh \
	tests/bench/listings.sh \
	tests/bench/managed.sh \
	tests/bench/memops.sh \
	tests/bench/no_ptx.sh \
	tests/bench/nofuse.sh \
	tests/bench/order.sh \
	tests/bench/own_stream.sh \
	tests/bench/other_size.sh \
	tests/bench/parts_missing.sh \
	tests/bench/patterns.sh \
	tests/bench/pieces.sh \
	tests/bench/plan_damaged.sh \
	tests/bench/plan_other.sh \
	tests/bench/plan_wrong_code.sh \
	tests/bench/preload.sh \
	tests/bench/programs.sh \
	tests/bench/reach.sh \
	tests/bench/read_only.sh \
	tests/bench/shallow.sh \
	tests/bench/stencil.sh \
	tests/bench/sparse.sh \
	tests/bench/stream_capture.sh \
	tests/bench/colours.sh \
	tests/bench/fields.sh \
	tests/bench/ghosts.sh tests/bench/staged.sh \
	tests/bench/strides.sh \
	tests/bench/in_place.sh \
	tests/bench/sweeps.sh \
	tests/bench/threads.sh \
	tests/bench/turning.sh \
	tests/bench/trace_damaged.sh \
	tests/bench/unseen.sh \
	tests/bench/vadd.sh
long_tests += tests/bench/attack.sh tests/bench/lazy.sh tests/bench/lazy_streams.sh tests/bench/unseen.sh
EXTRA_DIST += tests/bench/check_patterns.sh tests/bench/block_kernels.h tests/bench/staged_kernels.h tests/bench/pattern_kernels.h tests/bench/arrays.h tests/bench/on_gpu
cuda_tests += tests/bench/attack tests/bench/behind tests/bench/closures tests/bench/colours tests/bench/columns tests/bench/constants tests/bench/corners tests/bench/fields tests/bench/flat tests/bench/ghosts tests/bench/in_place tests/bench/jacobi tests/bench/lazy tests/bench/levels tests/bench/managed tests/bench/memops tests/bench/order tests/bench/patterns tests/bench/pieces tests/bench/reach tests/bench/regions tests/bench/sparse tests/bench/staged tests/bench/strides tests/bench/sweeps tests/bench/threads tests/bench/turning tests/bench/unseen tests/bench/waits
own_stream_tests += tests/bench/corners tests/bench/managed tests/bench/memops tests/bench/threads
tests/bench/behind tests/bench/colours tests/bench/fields tests/bench/ghosts tests/bench/in_place tests/bench/pieces tests/bench/staged tests/bench/strides tests/bench/sweeps: tests/bench/arrays.h
tests/bench/staged: tests/bench/staged_kernels.h
tests/bench/patterns: tests/bench/pattern_kernels.h tests/bench/block_kernels.h

check_PROGRAMS += tests/bench/patch_plan
tests_bench_patch_plan_SOURCES = tests/bench/patch_plan.c $(patched_file)

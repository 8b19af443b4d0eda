# SPDX-License-Identifier: Apache-2.0
# A harness a reader. make check replays seeds and past crashes; make fuzz-readers searches for new ones.
fuzz_harness = tests/fuzz/harness.h tests/fuzz/replay.c
fuzz_replays = tests/fuzz/replay_ptx tests/fuzz/replay_fatbin tests/fuzz/replay_trace tests/fuzz/replay_plan \
	tests/fuzz/replay_analysis tests/fuzz/replay_cubin tests/fuzz/replay_measured
check_PROGRAMS += $(fuzz_replays)
tests_fuzz_replay_ptx_SOURCES = $(fuzz_harness) tests/fuzz/harness_ptx.c tests/ptx/reread.c tests/ptx/reread.h
tests_fuzz_replay_ptx_LDADD = libptx.la
tests_fuzz_replay_fatbin_SOURCES = $(fuzz_harness) tests/fuzz/harness_fatbin.c tests/fuzz/memory_file.c
tests_fuzz_replay_fatbin_LDADD = libptx.la
tests_fuzz_replay_trace_SOURCES = $(fuzz_harness) tests/fuzz/harness_trace.c tests/fuzz/memory_file.c \
	tools/trace_text.c tools/trace_text.h
tests_fuzz_replay_trace_LDADD = libfuser.la
tests_fuzz_replay_plan_SOURCES = $(fuzz_harness) tests/fuzz/harness_plan.c tests/fuzz/memory_file.c \
	tests/common/follow_plan.c tests/common/follow_plan.h interpose/match.c interpose/match.h \
	interpose/guard_cache.c interpose/guard_cache.h
tests_fuzz_replay_plan_LDADD = libcommon.la
tests_fuzz_replay_analysis_SOURCES = $(fuzz_harness) tests/fuzz/harness_analysis.c
tests_fuzz_replay_analysis_LDADD = libfuser.la
tests_fuzz_replay_cubin_SOURCES = $(fuzz_harness) tests/fuzz/harness_cubin.c
tests_fuzz_replay_cubin_LDADD = libfuser.la
tests_fuzz_replay_measured_SOURCES = $(fuzz_harness) tests/fuzz/harness_measured.c
tests_fuzz_replay_measured_LDADD = libcommon.la
dist_check_SCRIPTS += tests/fuzz/replay.sh
EXTRA_DIST += tests/fuzz/run tests/fuzz/seeds tests/fuzz/crashes

# make fuzz-readers SECONDS=n [READERS='ptx trace'] [FUZZ_CORPUS=FOLDER]: so long each; goes on where the last run ended.
FUZZ_CORPUS = $(abs_top_builddir)/fuzz-readers
.PHONY: fuzz-readers
fuzz-readers:
	@[ -n '$(SECONDS)' ] || { echo 'usage: make fuzz-readers SECONDS=n' >&2; exit 1; }
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' CUDA_HOME='$(CUDA_HOME)' \
		$(top_srcdir)/tests/fuzz/run '$(SECONDS)' '$(FUZZ_CORPUS)' $(READERS)

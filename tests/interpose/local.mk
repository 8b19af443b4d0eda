# SPDX-License-Identifier: Apache-2.0
# The programs start themselves again under LD_PRELOAD; the fake driver's SONAME is libcuda.so.1.
check_LTLIBRARIES += tests/interpose/libcuda.la
tests_interpose_libcuda_la_SOURCES = tests/interpose/fake_driver.c tests/interpose/fake_driver.h \
	tests/interpose/fake_graph.c
tests_interpose_libcuda_la_LDFLAGS = -rpath /nowhere -version-info 1:0:0
tests_interpose_libcuda_la_LIBADD = -ldl -lpthread

check_LTLIBRARIES += tests/interpose/lookups/libcuda.la
tests_interpose_lookups_libcuda_la_SOURCES = tests/interpose/lookup_log.c
tests_interpose_lookups_libcuda_la_LDFLAGS = -rpath /nowhere -version-info 1:0:0

preload_tests = tests/interpose/test_alone tests/interpose/test_chain \
	tests/interpose/test_entry tests/interpose/test_measure tests/interpose/test_measure_steps tests/interpose/test_own_stream tests/interpose/test_pace tests/interpose/test_refusals \
	tests/interpose/test_rename tests/interpose/test_replay tests/interpose/test_through tests/interpose/test_verify
interpose_tests = $(preload_tests) tests/interpose/test_match tests/interpose/test_guard_cache tests/interpose/test_own_thread \
	tests/interpose/test_verify_memory
c_tests += $(interpose_tests)
dist_check_SCRIPTS += tests/interpose/observers.sh tests/interpose/table.sh
bench_scripts += tests/interpose/cost.sh tests/interpose/measure.sh tests/interpose/rename.sh tests/interpose/runtime.sh \
	tests/interpose/verify.sh
interpose_preload = tests/interpose/preload.c tests/interpose/preload.h tests/interpose/fake_driver.h
tests_interpose_test_entry_SOURCES = tests/interpose/test_entry.c $(interpose_preload)
tests_interpose_test_entry_LDADD = tests/interpose/libcuda.la libcommon.la -ldl
tests_interpose_test_entry_DEPENDENCIES = tests/interpose/libcuda.la libcommon.la interpose/libkfuse.la
interpose_replay = $(interpose_preload) tests/interpose/plan_fixture.c tests/interpose/plan_fixture.h \
	tests/interpose/replay_program.c tests/interpose/replay_program.h
tests_interpose_test_replay_SOURCES = tests/interpose/test_replay.c $(interpose_replay)
tests_interpose_test_replay_LDADD = tests/interpose/libcuda.la libcommon.la -ldl -lpthread
tests_interpose_test_replay_DEPENDENCIES = tests/interpose/libcuda.la libcommon.la interpose/libkfuse.la
tests_interpose_test_alone_SOURCES = tests/interpose/test_alone.c $(interpose_replay)
tests_interpose_test_alone_LDFLAGS = -Wl,--export-dynamic-symbol=pthread_create
tests_interpose_test_alone_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_alone_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_chain_SOURCES = tests/interpose/test_chain.c $(interpose_replay)
tests_interpose_test_chain_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_chain_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_refusals_SOURCES = tests/interpose/test_refusals.c $(interpose_replay)
tests_interpose_test_refusals_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_refusals_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_pace_SOURCES = tests/interpose/test_pace.c $(interpose_replay)
tests_interpose_test_pace_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_pace_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_measure_SOURCES = tests/interpose/test_measure.c $(interpose_replay)
tests_interpose_test_measure_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_measure_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_measure_steps_SOURCES = tests/interpose/test_measure_steps.c $(interpose_replay)
tests_interpose_test_measure_steps_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_measure_steps_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_own_stream_SOURCES = tests/interpose/test_own_stream.c $(interpose_replay)
tests_interpose_test_own_stream_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_own_stream_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_through_SOURCES = tests/interpose/test_through.c $(interpose_replay)
tests_interpose_test_through_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_through_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_rename_SOURCES = tests/interpose/test_rename.c $(interpose_replay)
tests_interpose_test_rename_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_rename_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_verify_SOURCES = tests/interpose/test_verify.c $(interpose_preload) \
	tests/interpose/plan_fixture.c tests/interpose/plan_fixture.h
tests_interpose_test_verify_LDADD = $(tests_interpose_test_replay_LDADD)
tests_interpose_test_verify_DEPENDENCIES = $(tests_interpose_test_replay_DEPENDENCIES)
tests_interpose_test_own_thread_SOURCES = tests/interpose/test_own_thread.c interpose/own_thread.c
tests_interpose_test_own_thread_LDADD = $(CMOCKA_LIBS) -lpthread
tests_interpose_test_verify_memory_SOURCES = tests/interpose/test_verify_memory.c interpose/verify_memory.c
tests_interpose_test_verify_memory_LDADD = $(CMOCKA_LIBS)
tests_interpose_test_match_SOURCES = tests/interpose/test_match.c interpose/match.c interpose/guard_cache.c \
	interpose/starts.c interpose/track_memory.c
tests_interpose_test_match_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_interpose_test_guard_cache_SOURCES = tests/interpose/test_guard_cache.c interpose/guard_cache.c
tests_interpose_test_guard_cache_LDADD = libcommon.la $(CMOCKA_LIBS)

# The program of rename.sh, for any driver; its kernels are PTX, as the plan has them.
check_PROGRAMS += tests/interpose/renamed
tests_interpose_renamed_SOURCES = tests/interpose/renamed.c
tests_interpose_renamed_LDADD = libcommon.la -ldl
EXTRA_DIST += tests/interpose/renamed.cu
if BENCH
check_DATA = tests/interpose/renamed.ptx
endif
CLEANFILES += tests/interpose/renamed.ptx
tests/interpose/renamed.ptx: tests/interpose/renamed.cu
	@$(MKDIR_P) tests/interpose
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -ptx -o $@ $<

clean-local: clean-interpose-tests
clean-interpose-tests:
	rm -rf $(top_builddir)/tests/interpose/*.tmp
.PHONY: clean-interpose-tests

EXTRA_DIST += tests/interpose/verify_on_gpu
cuda_tests += tests/interpose/measured tests/interpose/verified

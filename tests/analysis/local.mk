# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/analysis/print_accesses
tests_analysis_print_accesses_SOURCES = \
	tests/analysis/launch_file.c tests/analysis/launch_file.h \
	tests/analysis/print_accesses.c
tests_analysis_print_accesses_LDADD = libfuser.la
dist_check_SCRIPTS += tests/analysis/accesses.sh
emulator_scripts += tests/analysis/random_indices.sh
emulator_tests += tests/analysis/test_soundness
launch_run = \
	tests/analysis/launch_file.c tests/analysis/launch_file.h \
	tests/analysis/launch_run.c tests/analysis/launch_run.h
tests_analysis_test_soundness_SOURCES = $(launch_run) \
	tests/analysis/members.c tests/analysis/members.h \
	tests/analysis/soundness.c tests/analysis/soundness.h \
	tests/analysis/test_soundness.c
tests_analysis_test_soundness_LDADD = libfuser.la libengine.la
# Preloaded into programs on the emulator.
check_LTLIBRARIES += tests/analysis/libwatch.la
tests_analysis_libwatch_la_SOURCES = \
	tests/analysis/members.c tests/analysis/members.h \
	tests/analysis/soundness.c tests/analysis/soundness.h \
	tests/analysis/watch_launches.c
tests_analysis_libwatch_la_CFLAGS = $(AM_CFLAGS)
tests_analysis_libwatch_la_LDFLAGS = -rpath /nowhere -module -avoid-version
tests_analysis_libwatch_la_LIBADD = libfuser.la
bench_scripts += tests/analysis/programs.sh
analysis_goldens = blocks calls control corners counters elementwise indices loops parameters stencils strides tiles unrolled waiting
EXTRA_DIST += tests/analysis/update $(analysis_goldens:%=tests/analysis/%.cu) \
	$(analysis_goldens:%=tests/analysis/%.ptx) $(analysis_goldens:%=tests/analysis/%.expected)
c_tests += tests/analysis/test_grid_stride
tests_analysis_test_grid_stride_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/analysis/test_staging
tests_analysis_test_staging_SOURCES = tests/analysis/test_staging.c tests/analysis/launch_file.c tests/analysis/launch_file.h
tests_analysis_test_staging_LDADD = libfuser.la $(CMOCKA_LIBS) $(ISL_LIBS)
c_tests += tests/analysis/test_reroll
tests_analysis_test_reroll_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/analysis/test_moved
tests_analysis_test_moved_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/analysis/test_plain tests/analysis/test_chosen_loads tests/analysis/test_chosen_arrays
tests_analysis_test_chosen_arrays_SOURCES = tests/analysis/test_chosen_arrays.c tests/analysis/new_registers.h
tests_analysis_test_chosen_loads_SOURCES = tests/analysis/test_chosen_loads.c tests/analysis/new_registers.h
tests_analysis_test_chosen_arrays_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_analysis_test_chosen_loads_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_analysis_test_plain_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/analysis/test_product tests/analysis/test_pointer_use
tests_analysis_test_pointer_use_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_analysis_test_product_LDADD = libfuser.la $(CMOCKA_LIBS)
CLEANFILES += tests/analysis/random_indices.failed.ptx

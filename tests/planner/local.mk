# SPDX-License-Identifier: Apache-2.0
c_tests += tests/planner/test_answers tests/planner/test_exactness_copy tests/planner/test_planner tests/planner/test_guards tests/planner/test_runs
tests_planner_test_answers_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_planner_test_exactness_copy_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_planner_test_runs_LDADD = libfuser.la $(CMOCKA_LIBS)
written_trace_sources = tests/planner/written_trace.c tests/planner/written_trace.h
tests_planner_test_planner_SOURCES = tests/planner/test_planner.c $(written_trace_sources)
tests_planner_test_planner_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_planner_test_guards_SOURCES = tests/planner/test_guards.c $(temporary) $(written_trace_sources)
tests_planner_test_guards_LDADD = libfuser.la $(CMOCKA_LIBS)
check_PROGRAMS += tests/planner/patch_trace
tests_planner_patch_trace_SOURCES = tests/planner/patch_trace.c $(patched_file) $(patched_trace)
emulator_scripts += tests/planner/exactness.sh tests/planner/straight.sh
cuda_tests += tests/planner/exactness

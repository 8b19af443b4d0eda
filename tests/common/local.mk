# SPDX-License-Identifier: Apache-2.0
# for other folders too
patched_file = tests/common/patched_file.c tests/common/patched_file.h
patched_trace = tests/common/patched_trace.c tests/common/patched_trace.h
temporary = tests/common/temporary.c tests/common/temporary.h
common_tests = tests/common/test_arena tests/common/test_gain tests/common/test_guard tests/common/test_hash \
	tests/common/test_image tests/common/test_measured tests/common/test_own_write tests/common/test_plan \
	tests/common/test_setting tests/common/test_symbol tests/common/test_trace tests/common/test_trusted
c_tests += $(common_tests)
tests_common_test_plan_SOURCES = tests/common/follow_plan.c tests/common/follow_plan.h tests/common/test_plan.c
tests_common_test_own_write_SOURCES = tests/common/test_own_write.c $(temporary)
tests_common_test_trace_SOURCES = tests/common/test_trace.c $(temporary)
tests_common_test_measured_SOURCES = tests/common/test_measured.c $(temporary)

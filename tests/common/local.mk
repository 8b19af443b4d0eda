# SPDX-License-Identifier: Apache-2.0
common_tests = tests/common/test_arena tests/common/test_guard tests/common/test_hash tests/common/test_image \
	tests/common/test_plan tests/common/test_setting tests/common/test_trace
c_tests += $(common_tests)
tests_common_test_arena_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_arena_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_guard_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_guard_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_hash_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_hash_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_image_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_image_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_plan_SOURCES = tests/common/follow_plan.c tests/common/follow_plan.h tests/common/test_plan.c
tests_common_test_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_plan_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_setting_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_setting_LDADD = libcommon.la $(CMOCKA_LIBS)
tests_common_test_trace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_trace_LDADD = libcommon.la $(CMOCKA_LIBS)

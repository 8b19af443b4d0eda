# SPDX-License-Identifier: Apache-2.0
c_tests += tests/common/test_trace
tests_common_test_trace_SOURCES = tests/common/test_trace.c
tests_common_test_trace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_common_test_trace_LDADD = libcommon.la $(CMOCKA_LIBS)

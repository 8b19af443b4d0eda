# SPDX-License-Identifier: Apache-2.0
c_tests += tests/profiler/test_period tests/profiler/test_recorder
tests_profiler_test_period_LDADD = librecorder.la $(CMOCKA_LIBS)
tests_profiler_test_recorder_LDADD = librecorder.la libcommon.la $(CMOCKA_LIBS) -lpthread
c_tests += tests/profiler/test_cupti
tests_profiler_test_cupti_LDADD = $(CMOCKA_LIBS) -ldl

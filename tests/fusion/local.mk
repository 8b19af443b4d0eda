# SPDX-License-Identifier: Apache-2.0
c_tests += tests/fusion/test_check_oracle
tests_fusion_test_check_oracle_SOURCES = tests/fusion/test_check_oracle.c \
	tests/fusion/scene.c tests/fusion/scene.h tests/fusion/truth.c tests/fusion/truth.h
tests_fusion_test_check_oracle_LDADD = libfuser.la
dist_check_SCRIPTS += tests/fusion/oracle.sh
long_tests += tests/fusion/oracle.sh
emulator_scripts += tests/fusion/shadow.sh
EXTRA_DIST += tests/fusion/shadow_wrap.c
c_tests += tests/fusion/test_check
tests_fusion_test_check_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/fusion/test_box
tests_fusion_test_box_LDADD = libfuser.la $(CMOCKA_LIBS)
c_tests += tests/fusion/test_moves
tests_fusion_test_moves_LDADD = libfuser.la $(CMOCKA_LIBS)

# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/analysis/print_accesses
tests_analysis_print_accesses_SOURCES = \
	tests/analysis/launch_file.c tests/analysis/launch_file.h \
	tests/analysis/print_accesses.c
tests_analysis_print_accesses_LDADD = libfuser.la
dist_check_SCRIPTS += tests/analysis/accesses.sh
analysis_goldens = \
	elementwise
EXTRA_DIST += tests/analysis/update $(analysis_goldens:%=tests/analysis/%.cu) \
	$(analysis_goldens:%=tests/analysis/%.ptx) $(analysis_goldens:%=tests/analysis/%.expected)

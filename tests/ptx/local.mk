# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/ptx/print_module
tests_ptx_print_module_SOURCES = tests/ptx/print_module.c
tests_ptx_print_module_LDADD = libptx.la

check_PROGRAMS += tests/ptx/list_texts
tests_ptx_list_texts_SOURCES = tests/ptx/list_texts.c
tests_ptx_list_texts_LDADD = libptx.la

dist_check_SCRIPTS += tests/ptx/fatbin.sh
EXTRA_DIST += tests/ptx/empty.cu
dist_check_SCRIPTS += tests/ptx/roundtrip.sh
EXTRA_DIST += tests/ptx/basic.cu tests/ptx/inline.cu tests/ptx/data.cu

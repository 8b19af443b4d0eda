# SPDX-License-Identifier: Apache-2.0
ptx_tests = tests/ptx/test_cfg tests/ptx/test_fatbin tests/ptx/test_garbage tests/ptx/test_parser
c_tests += $(ptx_tests)
ptx_test_libraries = libptx.la $(CMOCKA_LIBS)
tests_ptx_test_cfg_LDADD = $(ptx_test_libraries)
tests_ptx_test_fatbin_LDADD = $(ptx_test_libraries) $(ZSTD_LIBS) $(LZ4_LIBS)
tests_ptx_test_garbage_SOURCES = tests/ptx/reread.c tests/ptx/reread.h tests/ptx/test_garbage.c
tests_ptx_test_garbage_LDADD = $(ptx_test_libraries)
tests_ptx_test_parser_LDADD = $(ptx_test_libraries)

check_PROGRAMS += tests/ptx/print_module
tests_ptx_print_module_SOURCES = tests/ptx/print_module.c tests/ptx/rebuild.c tests/ptx/rebuild.h
tests_ptx_print_module_LDADD = libptx.la
check_PROGRAMS += tests/ptx/compare_code
tests_ptx_compare_code_SOURCES = tests/ptx/compare_code.c tests/ptx/cubin.c tests/ptx/cubin.h
check_PROGRAMS += tests/ptx/check_layout
tests_ptx_check_layout_SOURCES = tests/ptx/check_layout.c tests/ptx/cubin.c tests/ptx/cubin.h
tests_ptx_check_layout_LDADD = libptx.la
check_PROGRAMS += tests/ptx/list_texts
tests_ptx_list_texts_LDADD = libptx.la

dist_check_SCRIPTS += tests/ptx/fatbin.sh tests/ptx/golden.sh tests/ptx/roundtrip.sh
EXTRA_DIST += tests/ptx/empty.cu tests/ptx/basic.cu tests/ptx/inline.cu tests/ptx/data.cu
EXTRA_DIST += \
	tests/ptx/golden/calls.ptx tests/ptx/golden/calls.expected \
	tests/ptx/golden/gather.ptx tests/ptx/golden/gather.expected \
	tests/ptx/golden/scopes.ptx tests/ptx/golden/scopes.expected \
	tests/ptx/golden/unread.ptx tests/ptx/golden/unread.expected

# Sources of the round trip; the whole of it writes its table.
roundtrip_corpus = cub_by_key cub_each cub_histogram cub_merge_sort cub_radix_sort cub_reduce cub_scan cub_segmented \
	cub_select language thrust_sets
EXTRA_DIST += $(roundtrip_corpus:%=tests/ptx/corpus/%.cu)
.PHONY: roundtrip
roundtrip: tests/ptx/print_module tests/ptx/compare_code tests/ptx/check_layout
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' CUDA_HOME='$(CUDA_HOME)' \
		$(top_srcdir)/tests/ptx/roundtrip.sh --all $(abs_top_builddir)/roundtrip.txt
	mkdir -p $(top_srcdir)/bench/results
	mv $(abs_top_builddir)/roundtrip.txt $(top_srcdir)/bench/results/roundtrip.txt

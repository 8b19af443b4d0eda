# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/ptx/print_module
tests_ptx_print_module_SOURCES = tests/ptx/print_module.c
tests_ptx_print_module_LDADD = libptx.la

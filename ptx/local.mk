# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += libptx.la
libptx_la_SOURCES = \
	ptx/cfg.c \
	ptx/fatbin.c \
	ptx/fatbin_file.c \
	ptx/instruction.c \
	ptx/lexer.c ptx/lexer.h \
	ptx/modifiers.def \
	ptx/opcodes.def \
	ptx/parse_body.c \
	ptx/parse_expression.c \
	ptx/parse_function.c \
	ptx/parse_initial.c \
	ptx/parse_instruction.c \
	ptx/parse_module.c \
	ptx/parse_operand.c \
	ptx/parse_variable.c \
	ptx/parser.c ptx/parser.h \
	ptx/print.c \
	ptx/ptx.h \
	ptx/scope.c ptx/scope.h \
	ptx/words.c ptx/words.h
libptx_la_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(LZ4_CFLAGS)
libptx_la_LIBADD = libcommon.la $(ZSTD_LIBS) $(LZ4_LIBS)

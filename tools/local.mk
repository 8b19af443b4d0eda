# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += tools/kfuse
tools_kfuse_SOURCES = \
	tools/commands.h \
	tools/explain.c \
	tools/kfuse.c \
	tools/preload.c tools/preload.h \
	tools/record.c \
	tools/run.c
tools_kfuse_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DKFUSE_LIBDIR='"$(libdir)"'
tools_kfuse_LDADD = libcommon.la $(JANSSON_LIBS)

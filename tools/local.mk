# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += tools/kfuse
tools_kfuse_SOURCES = \
	tools/commands.h \
	tools/explain.c tools/explain.h tools/explain_pairs.c tools/explain_source.c \
	tools/kfuse.c \
	tools/plan.c \
	tools/plan_file.c tools/plan_file.h \
	tools/preload.c tools/preload.h \
	tools/ptx.c \
	tools/record.c \
	tools/report.c tools/report.h tools/report_apart.c tools/report_measured.c tools/report_plan.c tools/report_verified.c \
	tools/run.c \
	tools/trace_summary.c tools/trace_summary.h \
	tools/trace_text.c tools/trace_text.h
tools_kfuse_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DKFUSE_LIBDIR='"$(libdir)"'
tools_kfuse_LDADD = libfuser.la libptx.la libcommon.la $(ISL_LIBS) $(JANSSON_LIBS) -ldl

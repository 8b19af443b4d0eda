# SPDX-License-Identifier: Apache-2.0
# The recorder is linked into libkfuse.so; CUPTI stays in a plugin that is loaded only while recording.
noinst_LTLIBRARIES += librecorder.la
librecorder_la_SOURCES = \
	profiler/activity.h \
	profiler/period.c profiler/period.h \
	profiler/recorder.c profiler/recorder.h \
	profiler/source.c profiler/source.h
librecorder_la_CPPFLAGS = $(AM_CPPFLAGS) -DKFUSE_PKGLIBDIR='"$(pkglibdir)"'

pkglib_LTLIBRARIES += profiler/libkfuse-cupti.la
profiler_libkfuse_cupti_la_SOURCES = profiler/activity.h profiler/cupti.c
profiler_libkfuse_cupti_la_LDFLAGS = -module -avoid-version -shared
profiler_libkfuse_cupti_la_LIBADD = libcommon.la -ldl

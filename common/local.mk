# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += libcommon.la
libcommon_la_SOURCES = \
	common/arena.c common/arena.h \
	common/cache.c common/cache.h \
	common/gain.c common/gain.h \
	common/guard.c common/guard.h \
	common/hash.c common/hash.h \
	common/image.c common/image.h \
	common/log.c common/log.h \
	common/driver_call.c common/driver_call.h \
	common/measured.c common/measured.h \
	common/memop.h \
	common/outlet.c common/outlet.h \
	common/own_file.h \
	common/own_write.c common/own_write.h \
	common/plan.h common/plan_build.c common/plan_build.h common/plan_map.c \
	common/setting.c common/setting.h \
	common/symbol.c common/symbol.h \
	common/trace.h common/trace_reader.c common/trace_writer.c \
	common/trusted.c common/trusted.h \
	common/waits.h

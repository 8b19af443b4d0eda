# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += libfuser.la
libfuser_la_SOURCES =
libfuser_la_LIBADD = libptx.la libcommon.la $(ISL_LIBS) -ldl

# conflicts between launches, groups
libfuser_la_SOURCES += \
	fuser/analysis/access.h \
	fuser/analysis/conflict.c fuser/analysis/conflict.h \
	fuser/analysis/forward.c fuser/analysis/forward.h \
	fuser/analysis/frame.c fuser/analysis/frame.h \
	fuser/analysis/group.c fuser/analysis/group.h \
	fuser/analysis/leave.c \
	fuser/analysis/order.c fuser/analysis/order.h \
	fuser/analysis/overlap.c \
	fuser/analysis/place.c \
	fuser/analysis/product.c fuser/analysis/product.h \
	fuser/analysis/remap.c

# SPDX-License-Identifier: Apache-2.0
# libkfuse.so goes to $(libdir), where LD_PRELOAD=libkfuse.so finds it; plugins and the emulator to $(pkglibdir).
lib_LTLIBRARIES += interpose/libkfuse.la
interpose_libkfuse_la_SOURCES = \
	interpose/driver.def interpose/observers.def \
	interpose/entry.c interpose/entry.h \
	interpose/blocked.c interpose/blocked.h \
	interpose/chain.c interpose/chain.h interpose/chain_backlog.c interpose/chain_backlog.h interpose/chain_graph.c interpose/chain_graph.h \
	interpose/contents.c interpose/contents.h \
	interpose/deferred.c interpose/deferred.h interpose/home_stream.c interpose/home_stream.h \
	interpose/gate.c interpose/gate.h \
	interpose/held.c interpose/held.h \
	interpose/hook.h \
	interpose/hook_attributes.c \
	interpose/hook_copy.c \
	interpose/hook_entry.c \
	interpose/hook_launch.c \
	interpose/hook_memory.c \
	interpose/hook_module.c \
	interpose/hook_nvrtc.c \
	interpose/hook_share.c \
	interpose/hook_stream.c \
	interpose/issue.c interpose/issue.h \
	interpose/guard_cache.c interpose/guard_cache.h interpose/match.c interpose/match.h \
	interpose/own_thread.c interpose/own_thread.h \
	interpose/arrivals.c interpose/arrivals.h \
	interpose/account.c interpose/held_words.c interpose/queue.c interpose/queue.h \
	interpose/queue_chain.c interpose/queue_memory.c interpose/queue_others.c interpose/queue_parts.h \
	interpose/cadence.c interpose/cadence.h interpose/measure.c interpose/measure.h \
	interpose/memop.c interpose/memop.h \
	interpose/record.c interpose/record.h \
	interpose/relaxed.h \
	interpose/rename.c interpose/rename.h \
	interpose/replay.c interpose/replay.h \
	interpose/screen.c interpose/screen.h \
	interpose/shadow.c interpose/shadow.h \
	interpose/shim.c interpose/shim.h \
	interpose/starts.c interpose/starts.h \
	interpose/stubs.S \
	interpose/own_stream.c interpose/own_stream.h interpose/through.c interpose/through.h \
	interpose/timer.c interpose/timer.h \
	interpose/queue_lock.h \
	interpose/track.h \
	interpose/track_memory.c \
	interpose/track_module.c \
	interpose/track_stream.c \
	interpose/variables.c interpose/variables.h \
	interpose/verify.c interpose/verify.h \
	interpose/verify_memory.c interpose/verify_memory.h \
	interpose/verify_rest.c interpose/verify_rest.h
# In a preloaded library thread-local variables need no call.
interpose_libkfuse_la_CFLAGS = $(AM_CFLAGS) -ftls-model=initial-exec
interpose_libkfuse_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^(cu[A-Z].*|dlsym|nvrtcGetCUBIN)$$'
interpose_libkfuse_la_LIBADD = librecorder.la libcommon.la -ldl -lpthread

# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += libfuser.la
libfuser_la_SOURCES =
libfuser_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libfuser_la_LIBADD = libptx.la $(ISL_LIBS) $(JANSSON_LIBS) -ldl

# accesses of one launch
libfuser_la_SOURCES += \
	fuser/analysis/access.c fuser/analysis/access.h \
	fuser/analysis/access_print.c \
	fuser/analysis/affine.c \
	fuser/analysis/analysis.h \
	fuser/analysis/answers.c fuser/analysis/answers.h \
	fuser/analysis/domains.c \
	fuser/analysis/dominators.c fuser/analysis/dominators.h \
	fuser/analysis/evaluate.c \
	fuser/analysis/exports.c \
	fuser/analysis/induction.c \
	fuser/analysis/inline.c fuser/analysis/inline.h \
	fuser/analysis/inline_move.c fuser/analysis/inline_move.h \
	fuser/analysis/integer.c \
	fuser/analysis/iterations.c \
	fuser/analysis/legality.c \
	fuser/analysis/loops.c fuser/analysis/loops.h \
	fuser/analysis/memory.c \
	fuser/analysis/predicate.c \
	fuser/analysis/range.h \
	fuser/analysis/shifts.c \
	fuser/analysis/sources.c \
	fuser/analysis/ssa.c fuser/analysis/ssa.h \
	fuser/analysis/uniform.c fuser/analysis/uniform.h \
	fuser/analysis/value.c \
	fuser/analysis/unwind.c fuser/analysis/unwind.h \
	fuser/analysis/unwind_values.c \
	fuser/analysis/variables.c fuser/analysis/variables.h

# conflicts between launches, groups
libfuser_la_SOURCES += \
	fuser/analysis/array_range.c fuser/analysis/array_range.h \
	fuser/analysis/block_pattern.c fuser/analysis/block_pattern.h \
	fuser/analysis/block_tile.c fuser/analysis/block_tile.h \
	fuser/analysis/block_tile_box.c \
	fuser/analysis/conflict.c fuser/analysis/conflict.h \
	fuser/analysis/deadline.c fuser/analysis/deadline.h \
	fuser/analysis/failure.c \
	fuser/analysis/forward.c fuser/analysis/forward.h \
	fuser/analysis/frame.c fuser/analysis/frame.h \
	fuser/analysis/group.c fuser/analysis/group.h \
	fuser/analysis/halo.c fuser/analysis/halo.h \
	fuser/analysis/halo_origin.c fuser/analysis/halo_parts.h \
	fuser/analysis/halo_serve.c fuser/analysis/halo_small.c \
	fuser/analysis/halo_source.c fuser/analysis/halo_source.h \
	fuser/analysis/rename.c fuser/analysis/rename.h fuser/analysis/rename_box.c \
	fuser/analysis/halo_tile.c fuser/analysis/halo_tile.h \
	fuser/analysis/join.c fuser/analysis/join.h fuser/analysis/joining.h \
	fuser/analysis/join_order.c \
	fuser/analysis/join_parts.c \
	fuser/analysis/leave.c \
	fuser/analysis/memo.c fuser/analysis/memo.h \
	fuser/analysis/moved.c fuser/analysis/moved.h \
	fuser/analysis/order.c fuser/analysis/order.h \
	fuser/analysis/overlap.c \
	fuser/analysis/place.c \
	fuser/analysis/product.c fuser/analysis/product.h \
	fuser/analysis/quota.c fuser/analysis/quota.h \
	fuser/analysis/reuse.c fuser/analysis/reuse.h \
	fuser/analysis/stale.c fuser/analysis/stale.h \
	fuser/analysis/traffic.c fuser/analysis/traffic.h \
	fuser/analysis/remap.c \
	fuser/analysis/share.c fuser/analysis/share.h \
	fuser/analysis/witness.c fuser/analysis/witness.h

# fused kernels
libfuser_la_SOURCES += \
	fuser/codegen/body.c fuser/codegen/body.h fuser/codegen/body_code.h \
	fuser/codegen/codegen.h \
	fuser/codegen/collect.c \
	fuser/codegen/compile.c \
	fuser/codegen/compiler.c fuser/codegen/compiler.h \
	fuser/codegen/cubin.c fuser/codegen/cubin.h \
	fuser/codegen/joined.c \
	fuser/codegen/machine_code.c fuser/codegen/machine_code.h \
	fuser/codegen/machine_code.def \
	fuser/codegen/nvrtc.c fuser/codegen/nvrtc.h \
	fuser/codegen/reference.c fuser/codegen/reference.h \
	fuser/codegen/remap_code.c fuser/codegen/remap_code.h \
	fuser/codegen/settle.c fuser/codegen/settle.h \
	fuser/codegen/contraction.c fuser/codegen/contraction.h \
	fuser/codegen/source.c fuser/codegen/source.h \
	fuser/codegen/tile_code.c fuser/codegen/tile_code.h \
	fuser/codegen/stage_code.c fuser/codegen/stage_code.h \
	fuser/codegen/turn_code.c \
	fuser/codegen/variables.c

# kernels as C for people
libfuser_la_SOURCES += \
	fuser/decompile/address.c \
	fuser/decompile/code.h \
	fuser/decompile/decompile.c fuser/decompile/decompile.h \
	fuser/decompile/expression.c \
	fuser/decompile/flow.c fuser/decompile/flow.h \
	fuser/decompile/group.c fuser/decompile/group.h \
	fuser/decompile/operand.c \
	fuser/decompile/pointers.c \
	fuser/decompile/registers.c \
	fuser/decompile/spelling.def \
	fuser/decompile/statement.c \
	fuser/decompile/types.c \
	fuser/decompile/writer.c fuser/decompile/writer.h

# planner
include fuser/planner/local.mk
libfuser_la_SOURCES += $(planner_sources)

# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += libfuser.la
libfuser_la_SOURCES =
libfuser_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libfuser_la_LIBADD = libptx.la $(ISL_LIBS) $(JANSSON_LIBS) -ldl -lm

# questions to isl: their bounds and answers
libfuser_la_SOURCES += \
	fuser/solver/answers.c fuser/solver/answers.h \
	fuser/solver/deadline.c fuser/solver/deadline.h \
	fuser/solver/memo.c fuser/solver/memo.h \
	fuser/solver/quota.c fuser/solver/quota.h

# facts of one kernel
libfuser_la_SOURCES += \
	fuser/kernel/dead_code.c fuser/kernel/dead_code.h \
	fuser/kernel/dominators.c fuser/kernel/dominators.h \
	fuser/kernel/global_index.c fuser/kernel/global_index.h \
	fuser/kernel/grid_stride.c fuser/kernel/grid_stride.h \
	fuser/kernel/reroll.c fuser/kernel/reroll.h fuser/kernel/reroll_holds.c \
	fuser/kernel/symbolic_run.c fuser/kernel/symbolic_run.h \
	fuser/kernel/symbols.c fuser/kernel/symbols.h \
	fuser/kernel/callees.c fuser/kernel/callees.h \
	fuser/kernel/inline.c fuser/kernel/inline.h \
	fuser/kernel/inline_move.c fuser/kernel/inline_move.h \
	fuser/kernel/liveness.c fuser/kernel/liveness.h \
	fuser/kernel/loops.c fuser/kernel/loops.h \
	fuser/kernel/order.c fuser/kernel/order.h \
	fuser/kernel/places.c fuser/kernel/places.h \
	fuser/kernel/plain.c fuser/kernel/plain.h \
	fuser/kernel/chosen_arrays.c fuser/kernel/chosen_arrays.h \
	fuser/kernel/chosen_loads.c fuser/kernel/chosen_loads.h \
	fuser/kernel/pointer_use.c fuser/kernel/pointer_use.h \
	fuser/kernel/from_data.c fuser/kernel/from_data.h \
	fuser/kernel/product.c fuser/kernel/product.h \
	fuser/kernel/ssa.c fuser/kernel/ssa.h \
	fuser/kernel/variables.c fuser/kernel/variables.h

# what one launch touches
libfuser_la_SOURCES += \
	fuser/access/access.c fuser/access/access.h \
	fuser/access/access_print.c \
	fuser/access/access_summary.c \
	fuser/access/affine.c \
	fuser/access/analysis.h \
	fuser/access/array_range.c fuser/access/array_range.h \
	fuser/access/pieces.c fuser/access/pieces.h \
	fuser/access/array_rows.c fuser/access/array_rows.h \
	fuser/access/bases.c \
	fuser/access/binding.h \
	fuser/access/domains.c \
	fuser/access/evaluate.c \
	fuser/access/exports.c \
	fuser/access/induction.c \
	fuser/access/instances.c \
	fuser/access/integer.c \
	fuser/access/iterations.c \
	fuser/access/legality.c \
	fuser/access/line.c fuser/access/line.h \
	fuser/access/stride.c fuser/access/stride.h \
	fuser/access/memory.c \
	fuser/access/moved.c fuser/access/moved.h \
	fuser/access/operand.c \
	fuser/access/overlap.c fuser/access/overlap.h \
	fuser/access/predicate.c \
	fuser/access/range.h \
	fuser/access/reason.c \
	fuser/access/regrid.c fuser/access/regrid.h \
	fuser/access/shifts.c \
	fuser/access/sources.c \
	fuser/access/staging.c fuser/access/staging.h fuser/access/staging_finding.h \
	fuser/access/staging_load.c fuser/access/staging_phase.c fuser/access/staging_store.c \
	fuser/access/unstage.c fuser/access/unstage.h \
	fuser/access/uniform.c fuser/access/uniform.h \
	fuser/access/expansion.c fuser/access/expansion.h \
	fuser/access/expansion_values.c \
	fuser/access/value.c \
	fuser/access/waiting.c

# several launches together
libfuser_la_SOURCES += \
	fuser/fusion/box.c fuser/fusion/box.h \
	fuser/fusion/apart.c fuser/fusion/apart.h \
	fuser/fusion/check.c fuser/fusion/check.h \
	fuser/fusion/check_row.c fuser/fusion/check_row.h \
	fuser/fusion/schedule.c fuser/fusion/schedule.h \
	fuser/fusion/block_pattern.c fuser/fusion/block_pattern.h \
	fuser/fusion/block_tile.c fuser/fusion/block_tile.h \
	fuser/fusion/block_tile_box.c \
	fuser/fusion/conflict.c fuser/fusion/conflict.h \
	fuser/fusion/failure.c \
	fuser/fusion/forward.c fuser/fusion/forward.h \
	fuser/fusion/space.c fuser/fusion/space.h \
	fuser/fusion/space_pattern.c fuser/fusion/space_pattern.h \
	fuser/fusion/group.c fuser/fusion/group.h \
	fuser/fusion/group_decide.c \
	fuser/fusion/group_schedule.c fuser/fusion/group_schedule.h \
	fuser/fusion/halo.c fuser/fusion/halo.h \
	fuser/fusion/halo_march.c fuser/fusion/halo_march.h \
	fuser/fusion/halo_writer.c \
	fuser/fusion/prefetch.c fuser/fusion/prefetch.h \
	fuser/fusion/halo_parts.c fuser/fusion/halo_parts.h \
	fuser/fusion/halo_kept.c fuser/fusion/halo_moves.c fuser/fusion/halo_moves.h fuser/fusion/halo_nearest.c fuser/fusion/halo_nearest.h \
	fuser/fusion/halo_serve.c \
	fuser/fusion/halo_small.c \
	fuser/fusion/halo_source.c fuser/fusion/halo_source.h \
	fuser/fusion/halo_tile.c fuser/fusion/halo_tile.h \
	fuser/fusion/inter_block.c fuser/fusion/inter_block.h fuser/fusion/last_block.c fuser/fusion/last_block.h \
	fuser/fusion/join.c fuser/fusion/join.h \
	fuser/fusion/join_order.c \
	fuser/fusion/join_chunks.c \
	fuser/fusion/joining.h \
	fuser/fusion/leave.c \
	fuser/fusion/place.c \
	fuser/fusion/remap.c \
	fuser/fusion/rename.c fuser/fusion/rename.h \
	fuser/fusion/reuse.c fuser/fusion/reuse.h \
	fuser/fusion/rows.c fuser/fusion/rows.h \
	fuser/fusion/coarsening.c fuser/fusion/coarsening.h \
	fuser/fusion/coarsening_map.c \
	fuser/fusion/stale.c fuser/fusion/stale.h \
	fuser/fusion/traffic.c fuser/fusion/traffic.h \
	fuser/fusion/witness.c fuser/fusion/witness.h

# fused kernels
libfuser_la_SOURCES += \
	fuser/codegen/body.c fuser/codegen/body.h \
	fuser/codegen/body_code.c fuser/codegen/body_code.h \
	fuser/codegen/body_write.c \
	fuser/codegen/codegen.h \
	fuser/codegen/collect.c \
	fuser/codegen/compile.c \
	fuser/codegen/compiler.c fuser/codegen/compiler.h \
	fuser/codegen/cubin.c fuser/codegen/cubin.h \
	fuser/codegen/joined.c \
	fuser/codegen/machine_code.c fuser/codegen/machine_code.h \
	fuser/codegen/machine_code.def \
	fuser/codegen/mnemonic.c fuser/codegen/mnemonic.h \
	fuser/codegen/nvrtc.c fuser/codegen/nvrtc.h \
	fuser/codegen/reference.c fuser/codegen/reference.h \
	fuser/codegen/relation_text.c fuser/codegen/relation_text.h \
	fuser/codegen/remap_code.c fuser/codegen/remap_code.h \
	fuser/codegen/recover.c fuser/codegen/recover.h \
	fuser/codegen/contraction.c fuser/codegen/contraction.h \
	fuser/codegen/source.c fuser/codegen/source.h \
	fuser/codegen/tile_code.c fuser/codegen/tile_code.h \
	fuser/codegen/stage_code.c fuser/codegen/stage_code.h \
	fuser/codegen/stage_version.c fuser/codegen/stage_version.h \
	fuser/codegen/issue.c fuser/codegen/issue.h \
	fuser/codegen/iteration_code.c \
	fuser/codegen/variables.c

# kernels as C for people
libfuser_la_SOURCES += \
	fuser/decompile/address.c \
	fuser/decompile/code.h \
	fuser/decompile/decompile.c fuser/decompile/decompile.h \
	fuser/decompile/expression.c \
	fuser/decompile/flow.c fuser/decompile/flow.h \
	fuser/decompile/fold.c \
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

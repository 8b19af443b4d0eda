# SPDX-License-Identifier: Apache-2.0
planner_sources = \
	fuser/planner/ahead.c fuser/planner/ahead.h \
	fuser/planner/early.c fuser/planner/early.h \
	fuser/planner/contents.c fuser/planner/contents.h \
	fuser/planner/crew.c fuser/planner/crew.h \
	fuser/planner/draft.c fuser/planner/draft.h \
	fuser/planner/exactness.c fuser/planner/exactness.h fuser/planner/exactness_copy.c fuser/planner/exactness_copy.h \
	fuser/planner/group_code.c fuser/planner/group_code.h \
	fuser/planner/grids.c fuser/planner/grids.h \
	fuser/planner/guards.c fuser/planner/guards.h \
	fuser/planner/launch_class.c fuser/planner/launch_class.h \
	fuser/planner/varying.c fuser/planner/varying.h \
	fuser/planner/dead_stores.c fuser/planner/dead_stores.h \
	fuser/planner/deferred.c fuser/planner/deferred.h fuser/planner/deferred_prefix.c fuser/planner/overwrites.c fuser/planner/overwrites.h \
	fuser/planner/memop.c fuser/planner/memop.h \
	fuser/planner/measurements.c fuser/planner/measurements.h \
	fuser/planner/neighbours.c fuser/planner/neighbours.def fuser/planner/neighbours.h \
	fuser/planner/pairs.c fuser/planner/pairs.h \
	fuser/planner/plan_folder.c fuser/planner/plan_folder.h fuser/planner/plan_json.c fuser/planner/plan_write.c fuser/planner/plan_write.h \
	fuser/planner/plan_source.c fuser/planner/plan_source.h \
	fuser/planner/planner.c fuser/planner/planner.h \
	fuser/planner/pointer_words.c fuser/planner/pointer_words.h fuser/planner/program.c fuser/planner/program.h \
	fuser/planner/runs.c fuser/planner/runs.h \
	fuser/planner/rivals.c fuser/planner/rivals.h \
	fuser/planner/redirect.c fuser/planner/redirect.h \
	fuser/planner/projection.c fuser/planner/projection.h \
	fuser/planner/situations.c fuser/planner/situations.h \
	fuser/planner/search.c fuser/planner/search.h fuser/planner/search_memo.h \
	fuser/planner/shift.c fuser/planner/shift.h \
	fuser/planner/verdict.c fuser/planner/verdict.h \
	fuser/planner/choice.c \
	fuser/planner/holding.c fuser/planner/holding.h \
	fuser/planner/profit.c fuser/planner/profit.h

# SPDX-License-Identifier: Apache-2.0
# The random-program referee: HACKING.md tells how to use it.
emulator_check_programs += tests/referee/referee tests/referee/player
tests_referee_referee_SOURCES = \
	tests/analysis/members.c tests/analysis/members.h \
	tests/analysis/soundness.c tests/analysis/soundness.h \
	tests/referee/compile.c \
	tests/referee/contents.c \
	tests/referee/generate.c tests/referee/generate.h \
	tests/referee/judge.c tests/referee/judge.h \
	tests/referee/kernel.c tests/referee/kernel.h tests/referee/kernel_access.c tests/referee/kernel_map.c \
	tests/referee/kernel_loop.c tests/referee/kernel_struct.c tests/referee/kernel_constant.c \
	tests/referee/kernel_block.c tests/referee/kernel_scene.c tests/referee/kernel_step.c tests/referee/kernel_data.c tests/referee/kernel_unseen.c \
	tests/referee/kernel_writer.h \
	tests/referee/launch.c tests/referee/launch.h \
	tests/referee/observe.c \
	tests/referee/random.h \
	tests/referee/reasons.c tests/referee/reasons.h \
	tests/referee/referee.c \
	tests/referee/refusals.c \
	tests/referee/say.c \
	tests/referee/script.c tests/referee/script.h \
	tests/referee/sequence.c tests/referee/sequence.h \
	tests/referee/shrink.c \
	tests/referee/tally.c tests/referee/tally.h \
	tests/referee/vary.c \
	tests/referee/witness.c tests/referee/witness.h \
	$(patched_file) $(patched_trace)
tests_referee_referee_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_referee_referee_LDADD = libfuser.la libengine.la $(JANSSON_LIBS)
tests_referee_player_SOURCES = \
	tests/referee/held.c tests/referee/held.h \
	tests/referee/player.c \
	tests/referee/script.c tests/referee/script.h
tests_referee_player_LDADD = libcommon.la -ldl

# make fuzz COUNT=n SEED=s: goes on where it was interrupted; failing programs come to tests/referee/failures, smaller.
COUNT = 500
SEED = 1
TABLE = tests/referee/fuzz-$(SEED).txt
.PHONY: fuzz
if EMULATOR
fuzz: $(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) $(emulator_LTLIBRARIES) tools/kfuse tests/referee/referee tests/referee/player
	@$(MKDIR_P) tests/referee/failures
	tests/referee/referee --count $(COUNT) --seed $(SEED) --state tests/referee/fuzz-$(SEED).state \
		--failures tests/referee/failures --table $(TABLE) \
		--commit "$$(git -C $(srcdir) rev-parse --short HEAD 2>/dev/null || echo $(VERSION))"
else
fuzz:
	$(no_emulator)
endif

# make mutants COUNT=n SEED=s: plants faults, which the referee must catch; goes on where it was interrupted.
.PHONY: mutants
mutants:
	$(srcdir)/tests/referee/mutants --state mutants.state . $(COUNT) $(SEED) >mutants.txt || { cat mutants.txt; exit 1; }
	mv mutants.txt $(srcdir)/bench/results/mutants.txt

# Programs that failed once, and a few drawn ones; faults that can still be planted.
dist_check_SCRIPTS += tests/referee/mutants.sh
emulator_scripts += tests/referee/cases.sh tests/referee/run.sh
long_tests += tests/referee/cases.sh
EXTRA_DIST += tests/referee/mutants tests/referee/mutants.txt
EXTRA_DIST += tests/referee/on_gpu tests/referee/cases/dynamic_shared.program tests/referee/cases/joined_lag.program tests/referee/cases/many_divisions.program tests/referee/cases/other_arrays.program tests/referee/cases/passed_over.program tests/referee/cases/renewed_stream.program tests/referee/cases/three_shapes.program tests/referee/cases/unread_pointer.program tests/referee/cases/unrun_source.program tests/referee/cases/wide_numbers.program
clean-local: clean-referee
clean-referee:
	rm -rf tests/referee/failures tests/referee/fuzz-*.state tests/referee/fuzz-*.state.old tests/referee/fuzz-*.txt mutants.txt mutants.state
.PHONY: clean-referee

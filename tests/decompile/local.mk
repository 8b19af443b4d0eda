# SPDX-License-Identifier: Apache-2.0
emulator_tests += tests/decompile/test_decompile
tests_decompile_test_decompile_SOURCES = tests/decompile/test_decompile.c $(launch_run)
tests_decompile_test_decompile_LDADD = libfuser.la libengine.la
dist_check_SCRIPTS += tests/decompile/accesses.sh tests/decompile/golden.sh
emulator_scripts += tests/decompile/random_indices.sh
decompile_goldens = forms loops stencils
EXTRA_DIST += $(decompile_goldens:%=tests/decompile/%.expected) tests/decompile/forms.ptx

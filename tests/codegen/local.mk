# SPDX-License-Identifier: Apache-2.0
c_tests += tests/codegen/test_group tests/codegen/test_machine_code tests/codegen/test_recover
emulator_tests += tests/codegen/test_fused tests/codegen/test_random tests/codegen/test_source tests/codegen/test_halo \
	tests/codegen/test_joined tests/codegen/test_tiles tests/codegen/test_expansion tests/codegen/test_rename \
	tests/codegen/test_border tests/codegen/test_block_tile tests/codegen/test_stale tests/codegen/test_coarsening \
	tests/codegen/test_parameters tests/codegen/test_rows tests/codegen/test_one_block tests/codegen/test_last_block tests/codegen/test_inter_block \
	tests/codegen/test_march tests/codegen/test_layers
hand_sources = tests/codegen/hand.c tests/codegen/hand.h
scene_sources = tests/codegen/scene.c tests/codegen/scene.h tests/codegen/device.c tests/codegen/device.h \
	tests/fusion/shadow.c tests/fusion/shadow.h $(hand_sources)
scene_cflags = $(AM_CFLAGS) -Wno-missing-field-initializers
tests_codegen_test_group_SOURCES = tests/codegen/test_group.c $(hand_sources)
tests_codegen_test_group_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_codegen_test_fused_SOURCES = tests/codegen/test_fused.c $(scene_sources)
tests_codegen_test_fused_CFLAGS = $(scene_cflags)
tests_codegen_test_fused_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_halo_SOURCES = tests/codegen/test_halo.c $(scene_sources)
tests_codegen_test_halo_CFLAGS = $(scene_cflags)
tests_codegen_test_halo_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_march_SOURCES = tests/codegen/test_march.c $(scene_sources)
tests_codegen_test_march_CFLAGS = $(scene_cflags)
tests_codegen_test_march_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_layers_SOURCES = tests/codegen/test_layers.c $(scene_sources)
tests_codegen_test_layers_CFLAGS = $(scene_cflags)
tests_codegen_test_layers_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_rows_SOURCES = tests/codegen/test_rows.c $(scene_sources)
tests_codegen_test_rows_CFLAGS = $(scene_cflags)
tests_codegen_test_rows_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_one_block_SOURCES = tests/codegen/test_one_block.c $(scene_sources)
tests_codegen_test_one_block_CFLAGS = $(scene_cflags)
tests_codegen_test_one_block_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_last_block_SOURCES = tests/codegen/test_last_block.c $(scene_sources)
tests_codegen_test_last_block_CFLAGS = $(scene_cflags)
tests_codegen_test_last_block_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_inter_block_SOURCES = tests/codegen/test_inter_block.c $(scene_sources)
tests_codegen_test_inter_block_CFLAGS = $(scene_cflags)
tests_codegen_test_inter_block_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_joined_SOURCES = tests/codegen/test_joined.c $(scene_sources)
tests_codegen_test_joined_CFLAGS = $(scene_cflags)
tests_codegen_test_joined_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_tiles_SOURCES = tests/codegen/test_tiles.c $(scene_sources)
tests_codegen_test_tiles_CFLAGS = $(scene_cflags)
tests_codegen_test_tiles_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_expansion_SOURCES = tests/codegen/test_expansion.c $(scene_sources)
tests_codegen_test_expansion_CFLAGS = $(scene_cflags)
tests_codegen_test_expansion_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_stale_SOURCES = tests/codegen/test_stale.c $(scene_sources)
tests_codegen_test_stale_CFLAGS = $(scene_cflags)
tests_codegen_test_stale_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_rename_SOURCES = tests/codegen/test_rename.c $(scene_sources)
tests_codegen_test_rename_CFLAGS = $(scene_cflags)
tests_codegen_test_rename_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_parameters_SOURCES = tests/codegen/test_parameters.c $(scene_sources)
tests_codegen_test_parameters_CFLAGS = $(scene_cflags)
tests_codegen_test_parameters_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_border_SOURCES = tests/codegen/test_border.c $(scene_sources)
tests_codegen_test_border_CFLAGS = $(scene_cflags)
tests_codegen_test_border_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_block_tile_SOURCES = tests/codegen/test_block_tile.c $(scene_sources)
tests_codegen_test_block_tile_CFLAGS = $(scene_cflags)
tests_codegen_test_block_tile_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_coarsening_SOURCES = tests/codegen/test_coarsening.c $(scene_sources)
tests_codegen_test_coarsening_CFLAGS = $(scene_cflags)
tests_codegen_test_coarsening_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_random_SOURCES = tests/codegen/test_random.c $(scene_sources)
tests_codegen_test_random_CFLAGS = $(scene_cflags)
tests_codegen_test_random_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_source_SOURCES = tests/codegen/test_source.c $(scene_sources)
tests_codegen_test_source_CFLAGS = $(scene_cflags)
tests_codegen_test_source_LDADD = libfuser.la libengine.la $(CMOCKA_LIBS) -ldl
tests_codegen_test_machine_code_LDADD = libfuser.la $(CMOCKA_LIBS)
tests_codegen_test_recover_LDADD = libfuser.la $(CMOCKA_LIBS)
EXTRA_DIST += tests/codegen/kernels.cu tests/codegen/kernels.ptx tests/codegen/stencils.cu tests/codegen/stencils.ptx \
	tests/codegen/loops.cu tests/codegen/loops.ptx tests/codegen/tiles.cu tests/codegen/tiles.ptx \
	tests/codegen/expansion.cu tests/codegen/expansion.ptx tests/codegen/handed.cu tests/codegen/handed.ptx tests/codegen/coarsening.cu tests/codegen/coarsening.ptx \
	tests/codegen/borders.cu tests/codegen/borders.ptx tests/codegen/chain.golden.cu \
	tests/codegen/parameters.cu tests/codegen/parameters.ptx tests/codegen/rows.cu tests/codegen/rows.ptx \
	tests/codegen/layers.cu tests/codegen/layers.ptx
emulator_scripts += tests/codegen/gpu.sh tests/codegen/contracted.sh
long_tests += tests/codegen/contracted.sh tests/codegen/test_random

# SPDX-License-Identifier: Apache-2.0
# --- the engine
engine_tests = tests/emulator/test_engine tests/emulator/test_engine_faults tests/emulator/test_memory \
	tests/emulator/test_races tests/emulator/test_run tests/emulator/test_vectors
emulator_tests += $(engine_tests)
EXTRA_DIST += tests/emulator/engine_kernels.cu tests/emulator/engine_kernels.ptx \
	tests/emulator/golden_vectors.zst
engine_fixture = tests/emulator/engine_fixture.c tests/emulator/engine_fixture.h
tests_emulator_test_engine_SOURCES = tests/emulator/test_engine.c $(engine_fixture)
tests_emulator_test_engine_LDADD = libengine.la $(CMOCKA_LIBS)
tests_emulator_test_engine_faults_SOURCES = tests/emulator/test_engine_faults.c $(engine_fixture)
tests_emulator_test_engine_faults_LDADD = libengine.la $(CMOCKA_LIBS)
tests_emulator_test_races_SOURCES = tests/emulator/test_races.c $(engine_fixture)
tests_emulator_test_races_LDADD = libengine.la $(CMOCKA_LIBS)
tests_emulator_test_run_SOURCES = tests/emulator/test_run.c $(engine_fixture)
tests_emulator_test_run_LDADD = libengine.la $(CMOCKA_LIBS)
tests_emulator_test_vectors_SOURCES = tests/emulator/test_vectors.c tests/emulator/vector_bounds.c \
	tests/emulator/vector_bounds.h tests/emulator/vector_bounds.def $(golden_vectors)
tests_emulator_test_vectors_LDADD = libengine.la $(CMOCKA_LIBS) $(ZSTD_LIBS) -lm
tests_emulator_test_memory_LDADD = libengine.la $(CMOCKA_LIBS)
# Records golden_vectors.zst on a GPU (bench/golden); compares it.
golden_vectors = tests/emulator/vectors.c tests/emulator/vectors.h tests/emulator/vector_values.c \
	tests/emulator/vector_values.h tests/emulator/vector_file.c tests/emulator/vector_file.h
emulator_check_programs += tests/emulator/vector_record
tests_emulator_vector_record_SOURCES = tests/emulator/vector_record.c $(golden_vectors)
tests_emulator_vector_record_LDADD = libengine.la $(ZSTD_LIBS) -ldl
emulator_check_programs += tests/emulator/bench_engine
tests_emulator_bench_engine_SOURCES = tests/emulator/bench_engine.c $(engine_fixture)
tests_emulator_bench_engine_LDADD = libengine.la $(CMOCKA_LIBS)

# --- the driver
driver_tests = tests/emulator/test_driver tests/emulator/test_driver_capture tests/emulator/test_driver_launch \
	tests/emulator/test_driver_memory tests/emulator/test_driver_streams tests/emulator/test_driver_values \
	tests/emulator/test_driver_virtual
emulator_tests += $(driver_tests) tests/emulator/test_handles tests/emulator/test_streams
driver_fixture = tests/emulator/driver_fixture.c tests/emulator/driver_fixture.h
driver_libraries = emulator/libcuda.la $(CMOCKA_LIBS)
tests_emulator_test_driver_SOURCES = tests/emulator/test_driver.c $(driver_fixture)
tests_emulator_test_driver_LDADD = $(driver_libraries)
tests_emulator_test_driver_capture_SOURCES = tests/emulator/test_driver_capture.c $(driver_fixture)
tests_emulator_test_driver_capture_LDADD = $(driver_libraries)
tests_emulator_test_driver_launch_SOURCES = tests/emulator/test_driver_launch.c $(driver_fixture)
tests_emulator_test_driver_launch_LDADD = $(driver_libraries)
tests_emulator_test_driver_memory_SOURCES = tests/emulator/test_driver_memory.c $(driver_fixture)
tests_emulator_test_driver_memory_LDADD = $(driver_libraries)
tests_emulator_test_driver_streams_SOURCES = tests/emulator/test_driver_streams.c $(driver_fixture)
tests_emulator_test_driver_streams_LDADD = $(driver_libraries) -lpthread
tests_emulator_test_driver_values_SOURCES = tests/emulator/test_driver_values.c $(driver_fixture)
tests_emulator_test_driver_values_LDADD = $(driver_libraries)
tests_emulator_test_driver_virtual_SOURCES = tests/emulator/test_driver_virtual.c $(driver_fixture)
tests_emulator_test_driver_virtual_LDADD = $(driver_libraries)
tests_emulator_test_handles_LDADD = $(driver_libraries)
tests_emulator_test_streams_LDADD = $(driver_libraries)
emulator_check_programs += tests/emulator/run_image
tests_emulator_run_image_LDADD = emulator/libcuda.la
long_tests += tests/emulator/driver.sh
emulator_scripts += tests/emulator/driver.sh tests/emulator/images.sh tests/emulator/orders.sh \
	tests/emulator/print.sh
cuda_tests += tests/emulator/orders
EXTRA_DIST += tests/emulator/images.cu tests/emulator/print.cu
# --- the runtime library
emulator_scripts += tests/emulator/cudart_programs.sh tests/emulator/cudart_symbols.sh
EXTRA_DIST += tests/emulator/cudart_calls.cu tests/emulator/cudart_calls.txt

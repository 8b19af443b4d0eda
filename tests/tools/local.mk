# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/tools/explain.sh tests/tools/help.sh tests/tools/report.sh tests/tools/start.sh tests/tools/usage.sh
bench_scripts += tests/tools/dies.sh tests/tools/jobs.sh tests/tools/neighbours.sh tests/tools/plan_folder.sh tests/tools/seconds.sh \
	tests/tools/source.sh tests/tools/trusted.sh
nvcc_scripts += tests/tools/ptx.sh
EXTRA_DIST += tests/tools/functions.sh tests/tools/on_gpu.sh tests/tools/explain.expected tests/tools/explain.kfplan/plan.json
EXTRA_DIST += tests/tools/report_plan.expected tests/tools/report_trace.expected
check_PROGRAMS += tests/tools/kfuse_dies
tests_tools_kfuse_dies_SOURCES = $(tools_kfuse_SOURCES) tests/tools/dies.c
tests_tools_kfuse_dies_CPPFLAGS = $(tools_kfuse_CPPFLAGS)
tests_tools_kfuse_dies_LDADD = $(tools_kfuse_LDADD)
tests_tools_kfuse_dies_LDFLAGS = -Wl,--wrap=isl_set_foreach_point
check_PROGRAMS += tests/tools/write_samples
tests_tools_write_samples_LDADD = libcommon.la

# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += \
	man/kfuse.1 \
	man/kfuse-explain.1 \
	man/kfuse-plan.1 \
	man/kfuse-ptx.1 \
	man/kfuse-record.1 \
	man/kfuse-report.1 \
	man/kfuse-run.1 \
	man/kfuse-plan.5 \
	man/kfuse-trace.5 \
	man/libkfuse.7
if EMULATOR
man_MANS = man/kfuse-emulator.7
endif
EXTRA_DIST += man/kfuse-emulator.7

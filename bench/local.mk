# SPDX-License-Identifier: Apache-2.0
# The evaluation programs, built as a user would: X with the static runtime, as nvcc does unless told; X-shared with the
# shared one, which the emulator can stand in for. floor answers the static runtime's dlsym: it has no shared form.
bench_programs = bench/beside bench/blas bench/chain bench/kernel-summation bench/lecture bench/listings bench/nofuse \
	bench/shallow bench/stencil bench/vadd
bench_headers = bench/bench.h bench/chain.h
if BENCH
cuda_programs += $(bench_programs) $(bench_programs:=-shared) bench/floor
endif
EXTRA_DIST += $(bench_programs:=.cu) bench/floor.cu $(bench_headers) bench/chains bench/cost bench/demo bench/endurance bench/golden bench/gpu \
	bench/planning bench/programs bench/statistics.sh bench/steady bench/told.awk $(bench_routines)
bench_routines = $(addprefix bench/routines/,add_tiles.cuh axpy.cuh by_hand.cuh copy.cuh cublas.cuh dot.cuh gemm.cuh \
	gemv.cuh gemv_tiles.cuh gemvt_tiles.cuh ger.cuh host.cuh library.cuh scal.cuh sequences.cuh sums.cuh)
bench/blas bench/blas-shared bench/kernel-summation bench/kernel-summation-shared: $(bench_routines)
NVCCFLAGS = -arch=sm_90 -O2
nvcc_verbose = $(nvcc_verbose_@AM_V@)
nvcc_verbose_ = $(nvcc_verbose_@AM_DEFAULT_V@)
nvcc_verbose_0 = @echo "  NVCC     $@";

bench/%-shared: bench/%.cu $(bench_headers)
	@$(MKDIR_P) bench
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -cudart shared -Xlinker -z,lazy -o $@ $<

bench/%: bench/%.cu $(bench_headers)
	@$(MKDIR_P) $(@D)
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -o $@ $<

# Programs as scientists write them, for bench/programs and bench/apps/*.list.
bench_apps = $(addprefix bench/apps/,heatcg hydro image lbm mesh montecarlo multigrid net pic rk4 spcg split wave3d weather)
EXTRA_DIST += $(bench_apps:=.cu) bench/apps/small.list bench/apps/large.list
bench/apps/rk4: NVCCFLAGS += --extended-lambda
.PHONY: apps
apps: $(bench_apps)
CLEANFILES += $(bench_apps)

# Reaches the driver without the runtime; its kernels are embedded as nvcc would.
if BENCH
noinst_PROGRAMS += bench/client
endif
bench_client_SOURCES = bench/client.c bench/runtime_lookup.def
bench_client_LDADD = -ldl
EXTRA_DIST += bench/client_kernels.cu
CLEANFILES += bench/client_kernels.fatbin
bench/client.$(OBJEXT): bench/client_kernels.fatbin
bench/client_kernels.fatbin: bench/client_kernels.cu
	@$(MKDIR_P) bench
	$(nvcc_verbose)$(NVCC) $(NVCCFLAGS) -fatbin -o $@ $<

# Records, plans and runs shallow: on the GPU if there is one, else on the emulator.
.PHONY: demo
if BENCH
demo: all
	$(SHELL) $(top_srcdir)/bench/demo $(abs_top_builddir)
else
demo:
	@echo 'make demo needs bench/, which was left out: configure found no nvcc, or was told --disable-bench' >&2; exit 1
endif

# Thread instructions a second that the emulator runs, on this machine.
.PHONY: bench-emulator
if EMULATOR
bench-emulator: tests/emulator/bench_engine
	@sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | uniq -c
	@top_srcdir=$(abs_top_srcdir) tests/emulator/bench_engine
else
bench-emulator:
	$(no_emulator)
endif

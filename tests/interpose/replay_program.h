/* SPDX-License-Identifier: Apache-2.0
 * The program that test_replay.c and test_refusals.c run against the fake driver: three kernels, in one
 * context. */
#ifndef KFUSE_TESTS_INTERPOSE_REPLAY_PROGRAM_H
#define KFUSE_TESTS_INTERPOSE_REPLAY_PROGRAM_H

#include "common/measured.h"
#include "tests/interpose/fake_driver.h"
#include "tests/interpose/plan_fixture.h"
#include "tests/interpose/preload.h"

#include <cuda.h>
#include <stdbool.h>

extern CUcontext context;
extern CUmodule module;
extern CUfunction a, b, c;

void start_program(void);
/* What is measured does not depend on how busy the machine is. */
void start_program_on_own_clock(void);
/* Of 4 blocks of 32 threads. */
CUresult launch(CUfunction function, CUstream stream, void **arguments);
CUresult launch_a(CUdeviceptr pointer, int value, CUstream stream);
CUresult launch_b(CUdeviceptr first, CUdeviceptr second, CUstream stream);
CUresult launch_c(CUdeviceptr pointer, CUstream stream);

#define OK(call)          CHECK((call) == CUDA_SUCCESS)
#define A_LINE(arguments) "launch a 4,1,1 32,1,1 0 0 " arguments
#define B_LINE(arguments) "launch b 4,1,1 32,1,1 0 0 " arguments
#define C_LINE(arguments) "launch _Z1cPf 4,1,1 32,1,1 0 0 " arguments

/* A use of FIXTURE_AB. */
void use_ab(void);

/* How many of the fake driver's lines, from this one on, begin so. */
size_t lines(size_t from, const char *text);

/* Before the program starts: a file in the test's own folder; the name is valid until the next call. */
const char *in_folder(const char *name);
/* What is held is held for a second; counts go to the file stats. */
void use_plan(const struct fixture *fixture);
void plan_ab(void);
void plan_cc(void);

/* Of these groups, measured as KFUSE_MEASURE says; a use takes so long that much may be spent soon. */
void use_measured(uint32_t groups, const char *setting);

/* What earlier runs have measured of the plan's first group. plan: added to the plan's own check. */
void remember_measured(struct measured_group group);

/* After it has ended, in the parent. */
#define EXPECT(condition)                                                                                    \
    if (!(condition)) exit((fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), 1))
bool file_has(const char *name, const char *text);
/* Of the file stats; -1: it has no such line. */
long stat_of(const char *key);

#endif

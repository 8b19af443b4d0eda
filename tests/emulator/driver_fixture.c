/* SPDX-License-Identifier: Apache-2.0
 * See the header. */
#include "tests/emulator/driver_fixture.h"

const char driver_text[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".visible .entry step(.param .u64 x, .param .u32 n)\n"
    "{\n"
    "  .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;\n"
    "  ld.param.u64 %d1, [x]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p, %r5, %r1;\n"
    "  @%p bra done;\n"
    "  mul.wide.s32 %d2, %r5, 4; add.s64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r6, [%d3]; mad.lo.u32 %r7, %r6, 3, %r5; st.global.u32 [%d3], %r7;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry note(.param .u64 list, .param .u32 mark)\n"
    "{\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [list]; ld.param.u32 %r1, [mark];\n"
    "  atom.global.add.u32 %r2, [%d1], 1;\n"
    "  mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3+4], %r1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry wild()\n"
    "{\n"
    "  .reg .b64 %d; mov.u64 %d, 16; st.global.u64 [%d], %d; ret;\n"
    "}\n";

struct driver_fixture gpu;

int open_device(void **state)
{
    (void)state;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    must(cuCtxSetCurrent(gpu.context));
    must(cuModuleLoadData(&gpu.module, driver_text));
    must(cuModuleGetFunction(&gpu.step, gpu.module, "step"));
    must(cuModuleGetFunction(&gpu.note, gpu.module, "note"));
    must(cuModuleGetFunction(&gpu.wild, gpu.module, "wild"));
    return 0;
}

CUresult step(CUdeviceptr x, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &n};
    return cuLaunchKernel(gpu.step, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
}

CUresult note(CUdeviceptr list, uint32_t mark, CUstream stream)
{
    void *arguments[] = {&list, &mark};
    return cuLaunchKernel(gpu.note, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

uint32_t stepped(uint32_t start, uint32_t i, int count)
{
    while (count-- > 0) start = 3 * start + i;
    return start;
}

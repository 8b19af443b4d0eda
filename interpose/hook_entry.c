/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of start and of the ways in. */
#include "interpose/hook.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/queue.h"

#include <stdio.h>
#include <string.h>

HOOK(cuInit, unsigned flags)
{
    shim_enter();
    CUresult result = REAL(cuInit)(flags);
    if (result == CUDA_SUCCESS) shim_begin();
    return result;
}

/* --- the ways in --- */

HOOK(cuGetProcAddress, const char *symbol, void **function, int version, cuuint64_t flags)
{
    shim_enter();
    CUresult result = REAL(cuGetProcAddress)(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && function) *function = entry_route(*function, symbol);
    return result;
}

HOOK(cuGetProcAddress_v2, const char *symbol, void **function, int version, cuuint64_t flags,
     CUdriverProcAddressQueryResult *status)
{
    shim_enter();
    CUresult result = REAL(cuGetProcAddress_v2)(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS && function) *function = entry_route(*function, symbol);
    return result;
}

/* The export tables that the CUDA runtime and NVIDIA's run-time compilers ask for, seen in their 13.0
 * libraries; the runtimes before 13 also ask for those in the middle. None of their functions launches a
 * kernel for a program. */
static const char *const harmless_tables[] = {
    "6bd5fb6c5bf4e74a8987d93912fd9df9", "a094798c2e742e7493f20800200c0a66",
    "42d85a8123f6cb478298f6e78a3aecdc", "c693336e1121df11a8c368f355d89593",
    "d4082055bde6704b8d34ba123c66e1f2", "263e88607cd2614392f6bbd5006dfa7e",
    "f8cff95121468b4eb9e2fb469e7c0dd9", "0ca50b8c1004929a89a7d0df10e77286",
    "195bcbf4d67d024aacc51d29cea631ae", "b10541e1f7c7c74a9f64f223be99f1e2",
    "1734dc26800d47458726c0f1e7dd8bca", /* NVRTC, nvJitLink */
    "da9151d33ae6cc41a5c04f26d533e328", /* NVRTC, nvJitLink */
};

/* The functions behind any other table could launch or observe without our knowing. A profiler's only observe. */
static void check_table(const CUuuid *id)
{
    char text[33];
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
    for (size_t i = 0; i < sizeof harmless_tables / sizeof harmless_tables[0]; i++)
        if (!strcmp(text, harmless_tables[i])) return;
    log_write(LOG_INFO, "entry", "export table %s is not one of the CUDA runtime's", text);
    if (setting_is_on("KFUSE_PROFILED")) return;
    if (!record_is_on())
        shim_latch_format("a library uses the driver's export table %s, which nobody knows", text);
    queue_defer_nothing("a library may work with the device by ways that nobody knows");
}

HOOK(cuGetExportTable, const void **table, const CUuuid *id)
{
    shim_enter();
    CUresult result = REAL(cuGetExportTable)(table, id);
    if (result == CUDA_SUCCESS && id) check_table(id);
    return result;
}

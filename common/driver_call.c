/* SPDX-License-Identifier: Apache-2.0
 * See driver_call.h. */
#include "common/driver_call.h"

#include <stddef.h>
#include <string.h>

static bool begins_with_one_of(const char *name, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i]))) return true;
    return false;
}

#define BEGINS(name, list) begins_with_one_of(name, list, sizeof list / sizeof *list)

bool driver_call_writes_nothing(const char *name)
{
    static const char *const harmless[] = {"cuArrayDestroy",
                                           "cuCtx",
                                           "cuDevice",
                                           "cuEvent",
                                           "cuFlushGPUDirectRDMAWrites",
                                           "cuFuncSet",
                                           "cuGraphExecDestroy",
                                           "cuGraphInstantiate",
                                           "cuGreenCtx",
                                           "cuIpcGetEventHandle",
                                           "cuKernelSet",
                                           "cuLaunchHostFunc",
                                           "cuLibrary",
                                           "cuMemAddressFree",
                                           "cuMemAdvise",
                                           "cuMemExportToShareableHandle",
                                           "cuMemFree",
                                           "cuMemPool",
                                           "cuMemPrefetch",
                                           "cuMemRelease",
                                           "cuMemSetAccess",
                                           "cuMipmappedArrayDestroy",
                                           "cuModule",
                                           "cuParamSet",
                                           "cuProfiler",
                                           "cuStream",
                                           "cuSurf",
                                           "cuTex"};
    static const char *const others[] = {"cuStreamWriteValue", "cuStreamBatchMemOp", "cuMemPoolImport",
                                         "cuEventCreateFromEGL"};
    return BEGINS(name, harmless) && !BEGINS(name, others);
}

bool driver_call_holds_up(const char *name)
{
    static const char *const gates[] = {
        "cuGraphLaunch",      "cuLaunchHostFunc",  "cuStreamAddCallback",
        "cuStreamBatchMemOp", "cuStreamWaitValue", "cuWaitExternalSemaphores",
    };
    return BEGINS(name, gates);
}

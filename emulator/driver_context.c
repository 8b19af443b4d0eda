/* SPDX-License-Identifier: Apache-2.0
 * Contexts: the primary one and those that a program creates, and the stack of current ones in each thread.
 * All share the one device's memory; each has its own streams and its own error. */
#include "emulator/driver.h"

static _Thread_local struct driver_context *context_stack[DRIVER_STACK];
static _Thread_local unsigned context_depth;

struct driver_context *driver_current(void)
{
    return context_depth ? context_stack[context_depth - 1] : NULL;
}

static const size_t context_limits[DRIVER_LIMITS] = {
    [CU_LIMIT_STACK_SIZE] = 1024,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 8650752,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608,
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    [CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 9830400,
};

static struct driver_context *context_create_object(void)
{
    struct driver_context *context = driver_object_create(DRIVER_CONTEXT);
    if (!context) return NULL;
    context->next = driver.contexts;
    driver.contexts = context;
    return context;
}

CUresult driver_context_open(struct driver_context **result, bool is_primary, unsigned flags)
{
    struct driver_context *context = is_primary ? driver.primary : NULL;
    if (!context) context = context_create_object();
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    if (is_primary) driver.primary = context;
    *result = context;
    if (context->is_alive) return CUDA_SUCCESS;
    context->is_primary = is_primary;
    context->is_alive = true;
    context->flags = flags;
    context->error = CUDA_SUCCESS;
    context->id = ++driver.identity;
    for (int i = 0; i < DRIVER_LIMITS; i++) context->limits[i] = context_limits[i];
    context->legacy = driver_stream_open(context, 0, 0);
    if (!context->legacy) return CUDA_ERROR_OUT_OF_MEMORY;
    context->legacy->is_legacy = true;
    return CUDA_SUCCESS;
}

void driver_context_close(struct driver_context *context)
{
    if (!context->is_alive) return;
    driver_run_context(context);
    for (struct driver_stream *stream = driver.streams, *next; stream; stream = next) {
        next = stream->next;
        if (stream->context == context) driver_stream_close(stream);
    }
    for (struct driver_event *event = driver.events, *next; event; event = next) {
        next = event->next;
        if (event->context == context) driver_event_close(event);
    }
    for (struct driver_module *module = driver.modules, *next; module; module = next) {
        next = module->next;
        if (module->context == context) driver_module_close(module);
    }
    for (struct driver_module *module = driver.modules; module && context->is_primary; module = module->next)
        if (module->library) emu_program_reset(module->program); /* a library is loaded into the next one */
    driver_memory_close(context);
    context->is_alive = false;
    context->legacy = NULL;
}

/* --- the primary context --- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    struct driver_context *context;
    CUresult result = driver_context_open(&context, true, driver.primary_flags);
    if (result != CUDA_SUCCESS) return result;
    driver.primary_uses++;
    *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (driver.primary_uses == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--driver.primary_uses == 0) driver_context_close(driver.primary);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (driver.primary) driver_context_close(driver.primary);
    driver.primary_uses = 0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    driver.primary_flags = flags;
    if (driver.primary) driver.primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (flags) *flags = driver.primary_flags;
    if (active) *active = driver.primary && driver.primary->is_alive;
    return CUDA_SUCCESS;
}

/* --- others --- */

static CUresult context_create(CUcontext *result, unsigned flags, CUdevice device)
{
    struct driver_context *context;
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (context_depth == DRIVER_STACK) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = driver_context_open(&context, false, flags);
    if (error != CUDA_SUCCESS) return error;
    context_stack[context_depth++] = context;
    *result = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return context_create(pctx, flags, dev);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
                        CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (paramsArray && numParams > 0) return CUDA_ERROR_NOT_SUPPORTED;
    return context_create(pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (ctxCreateParams && ctxCreateParams->numExecAffinityParams > 0) return CUDA_ERROR_NOT_SUPPORTED;
    return context_create(pctx, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct driver_context *context = (struct driver_context *)ctx;
    if (!driver_object_is(context, DRIVER_CONTEXT) || context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
    driver_context_close(context);
    if (driver_current() == context) context_depth--;
    return CUDA_SUCCESS; /* the object stays: another thread may still have it as its current context */
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!driver_object_is(ctx, DRIVER_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context_depth == DRIVER_STACK) return CUDA_ERROR_OUT_OF_MEMORY;
    context_stack[context_depth++] = (struct driver_context *)ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (context_depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    struct driver_context *context = context_stack[--context_depth];
    if (pctx) *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (ctx && !driver_object_is(ctx, DRIVER_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context_depth) context_depth--;
    if (ctx) context_stack[context_depth++] = (struct driver_context *)ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)driver_current();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_CURRENT);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (ctx ? !driver_object_is(ctx, DRIVER_CONTEXT) : !driver_current()) return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_CURRENT);
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = driver_current()->flags | CU_CTX_MAP_HOST;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_CURRENT);
    driver_current()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    DRIVER_ENTER(DRIVER_OPEN);
    const struct driver_context *context = ctx ? (struct driver_context *)ctx : driver_current();
    if (!driver_object_is(context, DRIVER_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!ctxId) return CUDA_ERROR_INVALID_VALUE;
    *ctxId = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (ctx ? !driver_object_is(ctx, DRIVER_CONTEXT) : !driver_current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    driver_run_context(driver_current());
    return driver_current()->error;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_UNCAPTURED);
    struct driver_context *context = ctx ? (struct driver_context *)ctx : driver_current();
    if (!driver_object_is(context, DRIVER_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->is_alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    driver_run_context(context);
    return context->error;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if ((unsigned)limit >= DRIVER_LIMITS) return CUDA_ERROR_INVALID_VALUE;
    if (context_limits[limit] == 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    driver_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!pvalue || (unsigned)limit >= DRIVER_LIMITS) return CUDA_ERROR_INVALID_VALUE;
    if (context_limits[limit] == 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = driver_current()->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!pconfig) return CUDA_ERROR_INVALID_VALUE;
    *pconfig = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!pConfig) return CUDA_ERROR_INVALID_VALUE;
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (leastPriority) *leastPriority = 0;
    if (greatestPriority) *greatestPriority = -5;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 * Asks the driver for the addresses of variables, and remembers them until the program launches another
 * handle or unloads a module: handles are used again. */
#include "interpose/variables.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

struct known { /* of one kernel of the plan */
    CUfunction function;
    uint64_t unloads;
    bool is_refused;
    uint64_t *addresses;
};
static struct {
    const struct plan *plan;
    struct known *kernels;
} variables;

bool variables_start(const struct plan *plan)
{
    uint32_t count = plan->header->kernels.count;
    variables.plan = plan;
    variables.kernels = calloc((size_t)count + 1, sizeof *variables.kernels);
    for (uint32_t i = 0; variables.kernels && i < count; i++) {
        variables.kernels[i].addresses =
            calloc((size_t)plan->kernels[i].variable_count + 1, sizeof(uint64_t));
        if (!variables.kernels[i].addresses) return false;
    }
    return variables.kernels;
}

/* The module or library that the handle is of; one of them is NULL. */
static bool find_module(const struct track_kernel *known, CUfunction function, CUmodule *module,
                        CUlibrary *library)
{
    bool is_library_kernel = known->is_library_kernel && known->handle == function;
    *module = NULL;
    *library = NULL;
    if (!is_library_kernel && REAL(cuFuncGetModule)(module, function) == CUDA_SUCCESS) return true;
    *module = NULL;
    return REAL(cuKernelGetLibrary)(library, (CUkernel)function) == CUDA_SUCCESS;
}

static bool find_all(uint32_t kernel, const struct track_kernel *known, CUfunction function)
{
    const struct plan_kernel *planned = &variables.plan->kernels[kernel];
    CUmodule module;
    CUlibrary library;
    if (!find_module(known, function, &module, &library)) return false;
    for (uint32_t i = 0; i < planned->variable_count; i++) {
        const char *name =
            variables.plan->strings + variables.plan->variables[planned->first_variable + i].name;
        CUdeviceptr address = 0;
        size_t size = 0;
        CUresult result = module ? REAL(cuModuleGetGlobal_v2)(&address, &size, module, name)
                                 : REAL(cuLibraryGetGlobal)(&address, &size, library, name);
        if (result != CUDA_SUCCESS || !address) {
            log_write(LOG_WARNING, "queue",
                      "%s is not held: where its variable %s is, the driver does not say (error %d)",
                      known->name, name, (int)result);
            return false;
        }
        track_memory_add(address, size, TRACE_MEMORY_VARIABLE);
        variables.kernels[kernel].addresses[i] = address;
    }
    return true;
}

bool variables_put(uint32_t kernel, const struct track_kernel *known, CUfunction function, void *words)
{
    struct known *found = &variables.kernels[kernel];
    uint64_t unloads = atomic_load_explicit(&track_unloads, memory_order_acquire);
    if (found->function != function || found->unloads != unloads) {
        found->function = function;
        found->unloads = unloads;
        found->is_refused = !find_all(kernel, known, function);
    }
    if (found->is_refused) return false;
    memcpy(words, found->addresses, variables.plan->kernels[kernel].variable_count * sizeof(uint64_t));
    return true;
}

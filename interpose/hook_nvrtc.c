/* SPDX-License-Identifier: Apache-2.0
 * NVRTC: a program that compiles at run time and loads machine code still has the PTX in reach at the moment
 * when it takes the machine code. Exported, so that programs linked to libnvrtc come through here. */
#include "interpose/record.h"

#include "common/log.h"
#include "interpose/shim.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>

typedef nvrtcResult (*get_cubin)(nvrtcProgram program, char *cubin);
typedef nvrtcResult (*get_size)(nvrtcProgram program, size_t *size);
typedef nvrtcResult (*get_ptx)(nvrtcProgram program, char *ptx);

static nvrtcResult get_and_keep(void *library, get_cubin real, nvrtcProgram program, char *cubin);

/* A process may have several versions of libnvrtc: the right one is the one that the caller depends on. */
static void *library_of(const void *caller)
{
    Dl_info info;
    void *library =
        dladdr(caller, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!library) library = dlopen(NULL, RTLD_NOW);
    return library;
}

static void *find(void *library, const char *name)
{
    void *(*lookup)(void *, const char *) = (void *(*)(void *, const char *))entry_find_dlsym();
    return lookup ? lookup(library, name) : NULL;
}

__attribute__((visibility("default"))) nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    void *library = library_of(__builtin_return_address(0));
    get_cubin real = (get_cubin)find(library, "nvrtcGetCUBIN");
    if (!real || real == nvrtcGetCUBIN) {
        library = RTLD_NEXT;
        real = (get_cubin)find(library, "nvrtcGetCUBIN");
    }
    if (!real) return NVRTC_ERROR_INTERNAL_ERROR;
    return get_and_keep(library, real, program, cubin);
}

/* The library that a program opened itself and asked for the function. */
static _Atomic(void *) opened_library;
static nvrtcResult opened_get_cubin(nvrtcProgram program, char *cubin)
{
    void *library = atomic_load(&opened_library);
    get_cubin real = (get_cubin)find(library, "nvrtcGetCUBIN");
    return get_and_keep(library, real, program, cubin);
}

void *record_nvrtc_hook(void *handle, const void *caller)
{
    void *none = NULL, *real;
    (void)caller;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || shim_is_latched()) return NULL;
    real = find(handle, "nvrtcGetCUBIN");
    if (!real || real == (void *)nvrtcGetCUBIN) return NULL;
    bool is_first = atomic_compare_exchange_strong(&opened_library, &none, handle);
    if (is_first || none == handle) return (void *)opened_get_cubin;
    log_write(LOG_INFO, "record",
              "a second copy of libnvrtc: what it compiles is known as machine code only");
    return NULL;
}

static nvrtcResult get_and_keep(void *library, get_cubin real, nvrtcProgram program, char *cubin)
{
    get_size cubin_size = (get_size)find(library, "nvrtcGetCUBINSize");
    get_size ptx_size = (get_size)find(library, "nvrtcGetPTXSize");
    get_ptx ptx_text = (get_ptx)find(library, "nvrtcGetPTX");
    nvrtcResult result = real(program, cubin);
    size_t size = 0, length = 0;
    if (result != NVRTC_SUCCESS || shim_is_latched() || !cubin_size || !ptx_size || !ptx_text) return result;
    if (cubin_size(program, &size) || !size || ptx_size(program, &length) || length < 2) return result;
    char *ptx = calloc(1, length + 1);
    if (ptx && !ptx_text(program, ptx)) track_module_made(cubin, size, ptx);
    free(ptx);
    return result;
}

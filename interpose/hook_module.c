/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of modules, libraries, kernels and module variables. The image is looked at after the driver has
 * accepted it: until then nothing says that it is one. */
#include "interpose/hook.h"

#include "common/hash.h"
#include "interpose/through.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- loading --- */

static void loaded(void *handle, const struct track_image *image)
{
    char text[33];
    struct track_module *module = track_module_add(handle, image);
    if (!module) return;
    hash_text(module->record.hash, text);
    if (module->record.flags & TRACE_MODULE_HAS_PTX) shim_consider_module(text);
    record_module(module, image);
    replay_module_loaded(module);
    replay_service();
}

static void loaded_with(void *handle, const void *bytes, CUjit_option *options, void **values, unsigned count)
{
    loaded(
        handle,
        &(struct track_image){
            .bytes = bytes, .limit = SIZE_MAX, .options = options, .values = values, .option_count = count});
}

/* A file that cannot be read again is known by its name only. */
static void loaded_file(void *handle, const char *path, struct track_image *image)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && !fstat(file, &status) && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        image->bytes = path;
        image->limit = strlen(path);
        image->flags = TRACE_MODULE_LINKED;
        loaded(handle, image);
    } else {
        image->bytes = bytes;
        image->limit = (size_t)status.st_size;
        loaded(handle, image);
        munmap(bytes, (size_t)status.st_size);
    }
    if (file >= 0) close(file);
}

HOOK(cuModuleLoad, CUmodule *module, const char *path)
{
    shim_enter();
    CUresult result = REAL(cuModuleLoad)(module, path);
    struct track_image image = {0};
    if (result == CUDA_SUCCESS) loaded_file(*module, path, &image);
    return result;
}

HOOK(cuModuleLoadData, CUmodule *module, const void *bytes)
{
    shim_enter();
    CUresult result = REAL(cuModuleLoadData)(module, bytes);
    if (result == CUDA_SUCCESS) loaded_with(*module, bytes, NULL, NULL, 0);
    return result;
}

HOOK(cuModuleLoadFatBinary, CUmodule *module, const void *bytes)
{
    shim_enter();
    CUresult result = REAL(cuModuleLoadFatBinary)(module, bytes);
    if (result == CUDA_SUCCESS) loaded_with(*module, bytes, NULL, NULL, 0);
    return result;
}

HOOK(cuModuleLoadDataEx, CUmodule *module, const void *bytes, unsigned count, CUjit_option *options,
     void **values)
{
    shim_enter();
    CUresult result = REAL(cuModuleLoadDataEx)(module, bytes, count, options, values);
    if (result == CUDA_SUCCESS) loaded_with(*module, bytes, options, values, count);
    return result;
}

HOOK(cuLibraryLoadData, CUlibrary *library, const void *bytes, CUjit_option *options, void **values,
     unsigned count, CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    shim_enter();
    CUresult result = REAL(cuLibraryLoadData)(library, bytes, options, values, count, library_options,
                                              library_values, library_count);
    if (result == CUDA_SUCCESS) loaded_with(*library, bytes, options, values, count);
    return result;
}

HOOK(cuLibraryLoadFromFile, CUlibrary *library, const char *path, CUjit_option *options, void **values,
     unsigned count, CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    shim_enter();
    CUresult result = REAL(cuLibraryLoadFromFile)(library, path, options, values, count, library_options,
                                                  library_values, library_count);
    struct track_image image = {.options = options, .values = values, .option_count = count};
    if (result == CUDA_SUCCESS) loaded_file(*library, path, &image);
    return result;
}

HOOK(cuModuleUnload, CUmodule module)
{
    shim_enter_flush();
    record_wall("cuModuleUnload", NULL, true);
    GATE;
    queue_forget_chains();
    track_module_remove(module);
    return REAL(cuModuleUnload)(module);
}

HOOK(cuLibraryUnload, CUlibrary library)
{
    shim_enter_flush();
    record_wall("cuLibraryUnload", NULL, true);
    GATE;
    queue_forget_chains();
    track_module_remove(library);
    return REAL(cuLibraryUnload)(library);
}

HOOK(cuLibraryGetModule, CUmodule *module, CUlibrary library)
{
    shim_enter();
    CUresult result = REAL(cuLibraryGetModule)(module, library);
    if (result == CUDA_SUCCESS) track_module_alias(*module, library);
    return result;
}

HOOK(cuLinkComplete, CUlinkState link, void **cubin, size_t *size)
{
    shim_enter();
    CUresult result = REAL(cuLinkComplete)(link, cubin, size);
    if (result == CUDA_SUCCESS && cubin && size) track_module_made(*cubin, *size, NULL);
    return result;
}

/* --- kernels --- */

static void found(void *handle, bool is_library_kernel, void *module, const char *name)
{
    if (name)
        track_kernel_add(handle, is_library_kernel, module, name);
    else
        track_kernel_discover(handle, is_library_kernel, module);
    replay_service();
}

HOOK(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
{
    shim_enter();
    CUresult result = REAL(cuModuleGetFunction)(function, module, name);
    if (result == CUDA_SUCCESS) found(*function, false, module, name);
    return result;
}

HOOK(cuLibraryGetKernel, CUkernel *kernel, CUlibrary library, const char *name)
{
    shim_enter();
    CUresult result = REAL(cuLibraryGetKernel)(kernel, library, name);
    if (result == CUDA_SUCCESS) found(*kernel, true, library, name);
    return result;
}

HOOK(cuModuleEnumerateFunctions, CUfunction *functions, unsigned count, CUmodule module)
{
    shim_enter();
    CUresult result = REAL(cuModuleEnumerateFunctions)(functions, count, module);
    for (unsigned i = 0; result == CUDA_SUCCESS && functions && i < count && functions[i]; i++)
        found(functions[i], false, module, NULL);
    return result;
}

HOOK(cuLibraryEnumerateKernels, CUkernel *kernels, unsigned count, CUlibrary library)
{
    shim_enter();
    CUresult result = REAL(cuLibraryEnumerateKernels)(kernels, count, library);
    unsigned there = 0;
    if (result == CUDA_SUCCESS && REAL(cuLibraryGetKernelCount)(&there, library) != CUDA_SUCCESS) there = 0;
    for (unsigned i = 0; kernels && i < count && i < there; i++) found(kernels[i], true, library, NULL);
    return result;
}

HOOK(cuKernelGetFunction, CUfunction *function, CUkernel kernel)
{
    shim_enter();
    CUresult result = REAL(cuKernelGetFunction)(function, kernel);
    struct track_kernel *known = result == CUDA_SUCCESS ? track_kernel_find(kernel) : NULL;
    if (known)
        track_kernel_alias(*function, known);
    else if (result == CUDA_SUCCESS) /* the handle may have been another kernel's */
        track_kernel_discover(*function, false, NULL);
    return result;
}

/* --- module variables --- */

static bool is_managed_memory(CUdeviceptr address)
{
    int is_managed = 0;
    return REAL(cuPointerGetAttribute)(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) ==
               CUDA_SUCCESS &&
           is_managed;
}

static void variable(void *module, const char *name, const CUdeviceptr *address, size_t size, bool is_managed)
{
    if (!*address) return;
    if (is_managed || (through_on() && is_managed_memory(*address)))
        queue_end_through("the program has a managed variable, which the host sees without a call");
    track_memory_add(*address, size, is_managed ? TRACE_MEMORY_MANAGED : TRACE_MEMORY_VARIABLE);
    record_variable(module, name, *address, size, is_managed);
}

/* The size is asked for even where the program does not: the allocation may have all variables of the module. */
HOOK(cuModuleGetGlobal_v2, CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
    shim_enter();
    size_t own = 0, *bytes = size || !address ? size : &own;
    CUresult result = REAL(cuModuleGetGlobal_v2)(address, bytes, module, name);
    if (result == CUDA_SUCCESS && address) variable(module, name, address, *bytes, false);
    return result;
}

HOOK(cuLibraryGetGlobal, CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    shim_enter();
    size_t own = 0, *bytes = size || !address ? size : &own;
    CUresult result = REAL(cuLibraryGetGlobal)(address, bytes, library, name);
    if (result == CUDA_SUCCESS && address) variable(library, name, address, *bytes, false);
    return result;
}

HOOK(cuLibraryGetManaged, CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    shim_enter();
    size_t own = 0, *bytes = size || !address ? size : &own;
    CUresult result = REAL(cuLibraryGetManaged)(address, bytes, library, name);
    if (result == CUDA_SUCCESS && address) variable(library, name, address, *bytes, true);
    return result;
}

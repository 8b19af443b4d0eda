/* SPDX-License-Identifier: Apache-2.0
 * Modules and libraries: a load image's PTX, given to the engine. Machine code cannot be run, so an image
 * without PTX for the device is refused. */
#include "emulator/driver.h"

#include "common/arena.h"
#include "common/image.h"
#include "common/log.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct module_options { /* of the JIT options: where messages go */
    char *log;
    size_t size;
};

static struct module_options module_options(unsigned count, const CUjit_option *options, void **values)
{
    struct module_options result = {0};
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) result.log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) result.size = (size_t)(uintptr_t)values[i];
    }
    return result;
}

static CUresult module_refuse(const struct module_options *options, CUresult result, const char *reason)
{
    driver_say("module not loaded: %s", reason);
    if (options->log && options->size) snprintf(options->log, options->size, "%s", reason);
    return result;
}

/* The number after `.target sm_`, or 0. */
static uint32_t module_target(const char *ptx)
{
    const char *target = strstr(ptx, ".target");
    const char *number = target ? strstr(target, "sm_") : NULL;
    return number && number - target < 64 ? (uint32_t)strtoul(number + 3, NULL, 10) : 0;
}

/* The PTX of an image for this device, in the arena, or NULL with *result set. */
static const char *module_ptx(struct arena *arena, const void *bytes, const struct module_options *options,
                              CUresult *result)
{
    struct image image = image_examine(bytes, SIZE_MAX);
    if (image.kind == IMAGE_PTX && strstr(image.bytes, ".version")) {
        if (module_target(image.bytes) <= DRIVER_SM) return image.bytes;
        *result = module_refuse(options, CUDA_ERROR_INVALID_PTX, "its PTX is for a newer device than sm_90");
        return NULL;
    }
    if (image.kind == IMAGE_PTX || image.kind == IMAGE_UNKNOWN) {
        *result = module_refuse(options, CUDA_ERROR_INVALID_IMAGE,
                                "the image is neither PTX, nor a fatbin, nor a cubin");
        return NULL;
    }
    struct ptx_text *texts = NULL;
    uint32_t count =
        image.kind == IMAGE_FATBIN ? ptx_texts_of_image(arena, image.bytes, image.size, &texts) : 0;
    const struct ptx_text *text = ptx_text_for(texts, count, DRIVER_SM);
    if (text) return text->text;
    *result =
        module_refuse(options, CUDA_ERROR_NO_BINARY_FOR_GPU,
                      count ? "the PTX in it is for a newer device than sm_90"
                            : "there is no PTX in it, and the emulator cannot run machine code; build with "
                              "nvcc -arch=sm_90 (not -arch=native or code=sm_90)");
    return NULL;
}

static bool module_functions(struct driver_module *module)
{
    module->function_count = emu_program_kernel_count(module->program);
    module->functions = calloc(module->function_count + 1, sizeof *module->functions);
    for (uint32_t i = 0; module->functions && i < module->function_count; i++) {
        struct driver_function *function = driver_object_create(DRIVER_FUNCTION);
        if (!function) return false;
        function->module = module;
        function->kernel = emu_program_kernel_at(module->program, i);
        function->carveout = -1;
        emu_kernel_info(function->kernel, &function->info);
        uint32_t most = 49152 - function->info.static_shared;
        function->dynamic_shared = function->info.static_shared < 49152 ? (int)most : 0;
        module->functions[i] = function;
    }
    return module->functions != NULL;
}

void driver_module_close(struct driver_module *module)
{
    for (struct driver_module **link = &driver.modules; *link; link = &(*link)->next)
        if (*link == module) {
            *link = module->next;
            break;
        }
    for (uint32_t i = 0; module->functions && i < module->function_count; i++)
        driver_object_destroy(module->functions[i]);
    free(module->functions);
    emu_program_unload(module->program);
    driver_object_destroy(module);
}

static CUresult module_load(struct driver_module **result, struct driver_context *context, const void *bytes,
                            const struct module_options *options)
{
    CUresult error = CUDA_ERROR_INVALID_IMAGE;
    struct arena *arena = arena_create();
    const char *ptx = arena ? module_ptx(arena, bytes, options, &error) : NULL;
    struct driver_module *module = ptx ? driver_object_create(DRIVER_MODULE) : NULL;
    if (module) {
        char *message = NULL;
        module->context = context;
        module->sm = module_target(ptx);
        module->program = emu_program_load("module", ptx, &message);
        if (!module->program)
            error = module_refuse(options, CUDA_ERROR_INVALID_PTX, message ? message : "out of memory");
        free(message);
    }
    arena_free(arena);
    if (!module) return error;
    module->next = driver.modules;
    driver.modules = module;
    if (module->program && module_functions(module)) {
        *result = module;
        return CUDA_SUCCESS;
    }
    driver_module_close(module);
    return error;
}

/* A file's bytes, NUL-terminated, to be freed. */
static char *module_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file) return NULL;
    char *bytes = fstat(fileno(file), &status) == 0 ? calloc(1, (size_t)status.st_size + 1) : NULL;
    if (bytes && fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static CUresult module_open(CUmodule *result, const void *bytes, struct module_options options)
{
    struct driver_module *module;
    if (!result || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = module_load(&module, driver_current(), bytes, &options);
    if (error == CUDA_SUCCESS) *result = (CUmodule)module;
    return error;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (!fname) return CUDA_ERROR_INVALID_VALUE;
    char *bytes = module_file(fname);
    if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = module_open(module, bytes, (struct module_options){0});
    free(bytes);
    return result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return module_open(module, image, (struct module_options){0});
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return module_open(module, image, module_options(numOptions, options, optionValues));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return module_open(module, fatCubin, (struct module_options){0});
}

CUresult cuModuleUnload(CUmodule hmod)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    struct driver_module *module = (struct driver_module *)hmod;
    if (!driver_object_is(module, DRIVER_MODULE) || module->library) return CUDA_ERROR_INVALID_HANDLE;
    driver_run_all();
    driver_module_close(module);
    return CUDA_SUCCESS;
}

static struct driver_function *module_function(const struct driver_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i]->info.name, name) == 0) return module->functions[i];
    return NULL;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!hfunc || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(hmod, DRIVER_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    struct driver_function *function = module_function((struct driver_module *)hmod, name);
    if (!function) return CUDA_ERROR_NOT_FOUND;
    *hfunc = (CUfunction)function;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(mod, DRIVER_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    *count = ((struct driver_module *)mod)->function_count;
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!functions) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(mod, DRIVER_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    const struct driver_module *module = (struct driver_module *)mod;
    for (unsigned i = 0; i < numFunctions && i < module->function_count; i++)
        functions[i] = (CUfunction)module->functions[i];
    return CUDA_SUCCESS;
}

static CUresult module_variable(const struct driver_module *module, const char *name, bool must_be_managed,
                                CUdeviceptr *address, size_t *size)
{
    uint64_t start, bytes;
    struct emu_allocation allocation;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!emu_program_variable(module->program, name, &start, &bytes)) return CUDA_ERROR_NOT_FOUND;
    if (must_be_managed && (!emu_memory_find(start, &allocation) || allocation.kind != EMU_MEMORY_MANAGED))
        return CUDA_ERROR_NOT_FOUND;
    if (address) *address = start;
    if (size) *size = bytes;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!driver_object_is(hmod, DRIVER_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    return module_variable((struct driver_module *)hmod, name, false, dptr, bytes);
}

/* --- libraries --- */

static bool library_kernels(struct driver_library *library)
{
    struct driver_module *module = library->module;
    library->kernels = calloc(module->function_count + 1, sizeof *library->kernels);
    for (uint32_t i = 0; library->kernels && i < module->function_count; i++) {
        struct driver_kernel *kernel = driver_object_create(DRIVER_KERNEL);
        if (!kernel) return false;
        kernel->library = library;
        kernel->function = module->functions[i];
        library->kernels[i] = kernel;
    }
    return library->kernels != NULL;
}

static void library_close(struct driver_library *library)
{
    for (uint32_t i = 0; library->kernels && i < library->module->function_count; i++)
        driver_object_destroy(library->kernels[i]);
    free(library->kernels);
    if (library->module) driver_module_close(library->module);
    driver_object_destroy(library);
}

static CUresult library_load(CUlibrary *result, const void *bytes, struct module_options options)
{
    if (!result || !bytes) return CUDA_ERROR_INVALID_VALUE;
    struct driver_library *library = driver_object_create(DRIVER_LIBRARY);
    if (!library) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = module_load(&library->module, NULL, bytes, &options);
    if (error == CUDA_SUCCESS) {
        library->module->library = library;
        if (!library_kernels(library)) error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (error == CUDA_SUCCESS)
        *result = (CUlibrary)library;
    else
        library_close(library);
    return error;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_UNCAPTURED);
    (void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
    return library_load(library, code, module_options(numJitOptions, jitOptions, jitOptionsValues));
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_UNCAPTURED);
    (void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
    if (!fileName) return CUDA_ERROR_INVALID_VALUE;
    char *bytes = module_file(fileName);
    if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result =
        library_load(library, bytes, module_options(numJitOptions, jitOptions, jitOptionsValues));
    free(bytes);
    return result;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_UNCAPTURED);
    if (!driver_object_is(library, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    driver_run_all();
    library_close((struct driver_library *)library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!pKernel || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(library, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    const struct driver_library *owner = (struct driver_library *)library;
    for (uint32_t i = 0; i < owner->module->function_count; i++)
        if (strcmp(owner->kernels[i]->function->info.name, name) == 0) {
            *pKernel = (CUkernel)owner->kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(lib, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    *count = ((struct driver_library *)lib)->module->function_count;
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!kernels) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(lib, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    const struct driver_library *library = (struct driver_library *)lib;
    for (unsigned i = 0; i < numKernels && i < library->module->function_count; i++)
        kernels[i] = (CUkernel)library->kernels[i];
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!pMod) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(library, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    *pMod = (CUmodule)((struct driver_library *)library)->module;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!driver_object_is(library, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    return module_variable(((struct driver_library *)library)->module, name, false, dptr, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!driver_object_is(library, DRIVER_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    return module_variable(((struct driver_library *)library)->module, name, true, dptr, bytes);
}

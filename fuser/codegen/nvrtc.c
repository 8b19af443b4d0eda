/* SPDX-License-Identifier: Apache-2.0
 * Where NVRTC is looked for: the loader's path, $CUDA_HOME, the toolkit that kfuse was built with, the folder
 * of toolkit wheels beside the sources (.cuda). The library stays loaded. */
#include "config.h"

#include "fuser/codegen/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nvrtc {
    void *library;
    __typeof__(nvrtcCreateProgram) *create;
    __typeof__(nvrtcDestroyProgram) *destroy;
    __typeof__(nvrtcCompileProgram) *compile;
    __typeof__(nvrtcGetPTXSize) *ptx_size;
    __typeof__(nvrtcGetPTX) *ptx;
    __typeof__(nvrtcGetCUBINSize) *cubin_size;
    __typeof__(nvrtcGetCUBIN) *cubin;
    __typeof__(nvrtcGetProgramLogSize) *log_size;
    __typeof__(nvrtcGetProgramLog) *log;
    __typeof__(nvrtcGetErrorString) *error_string;
    __typeof__(nvrtcVersion) *version;
};

/* NVRTC opens its builtins by name, and finds them beside itself only when they are loaded already. */
static void open_builtins(const char *folder, const char *place)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/libnvrtc-builtins.so.*", folder, place);
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_GLOBAL);
    globfree(&found);
}

static void *open_in(const char *folder)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12"};
    static const char *const places[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
    char path[4096];
    if (!folder || !*folder) return NULL;
    for (size_t place = 0; place < sizeof places / sizeof places[0]; place++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", folder, places[place], names[i]);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library) continue;
            open_builtins(folder, places[place]);
            return library;
        }
    return NULL;
}

static void *open_library(void)
{
    const char *file = getenv("KFUSE_NVRTC");
    if (file) return dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *library = open_in(getenv("CUDA_HOME"));
    if (!library) library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = open_in(KFUSE_CUDA_HOME);
    if (!library) library = dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
    return library ? library : open_in("/usr/local/cuda");
}

static bool nvrtc_open(struct nvrtc *nvrtc)
{
    memset(nvrtc, 0, sizeof *nvrtc);
    nvrtc->library = open_library();
    if (!nvrtc->library) return false;
    const struct {
        void *slot;
        const char *name;
    } symbols[] = {
        {&nvrtc->create, "nvrtcCreateProgram"},
        {&nvrtc->destroy, "nvrtcDestroyProgram"},
        {&nvrtc->compile, "nvrtcCompileProgram"},
        {&nvrtc->ptx_size, "nvrtcGetPTXSize"},
        {&nvrtc->ptx, "nvrtcGetPTX"},
        {&nvrtc->cubin_size, "nvrtcGetCUBINSize"},
        {&nvrtc->cubin, "nvrtcGetCUBIN"},
        {&nvrtc->log_size, "nvrtcGetProgramLogSize"},
        {&nvrtc->log, "nvrtcGetProgramLog"},
        {&nvrtc->error_string, "nvrtcGetErrorString"},
        {&nvrtc->version, "nvrtcVersion"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(nvrtc->library, symbols[i].name);
        if (!symbol) return false;
        memcpy(symbols[i].slot, &symbol, sizeof symbol);
    }
    return true;
}

static const char *program_log(const struct nvrtc *nvrtc, struct arena *arena, nvrtcProgram program)
{
    size_t size = 0;
    if (nvrtc->log_size(program, &size) != NVRTC_SUCCESS || !size) return "";
    char *log = arena_alloc(arena, size + 1);
    if (!log || nvrtc->log(program, log) != NVRTC_SUCCESS) return "";
    return log;
}

static bool take_results(const struct nvrtc *nvrtc, struct arena *arena, nvrtcProgram program,
                         struct nvrtc_output *output)
{
    size_t ptx_size = 0;
    if (nvrtc->ptx_size(program, &ptx_size) != NVRTC_SUCCESS ||
        nvrtc->cubin_size(program, &output->cubin_size) != NVRTC_SUCCESS)
        return false;
    char *ptx = arena_alloc(arena, ptx_size + 1), *cubin = arena_alloc(arena, output->cubin_size + 1);
    if (!ptx || !cubin) return false;
    output->ptx = ptx;
    output->cubin = cubin;
    return nvrtc->ptx(program, ptx) == NVRTC_SUCCESS && nvrtc->cubin(program, cubin) == NVRTC_SUCCESS;
}

/* From 12.9 on NVRTC keeps what it compiled, and says nothing of registers and spills when it gives that
 * again. */
static bool has_cache(const struct nvrtc *nvrtc)
{
    int major = 0, minor = 0;
    return nvrtc->version(&major, &minor) == NVRTC_SUCCESS && (major > 12 || (major == 12 && minor >= 9));
}

static void compile_program(const struct nvrtc *nvrtc, struct arena *arena, nvrtcProgram program,
                            const char *architecture, uint32_t max_registers, struct nvrtc_output *output)
{
    char target[48], registers[48];
    const char *options[6];
    int count = 0;
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    snprintf(registers, sizeof registers, "--maxrregcount=%u", max_registers);
    options[count++] = target;
    options[count++] = "-fmad=true";
    options[count++] = "--ptxas-options=-v";
    if (max_registers) options[count++] = registers;
    if (has_cache(nvrtc)) options[count++] = "--no-cache";
    nvrtcResult result = nvrtc->compile(program, count, options);
    output->log = program_log(nvrtc, arena, program);
    output->is_missing = result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE; /* half of it */
    if (result != NVRTC_SUCCESS)
        output->error = arena_printf(arena, "NVRTC: %s: %s", nvrtc->error_string(result), output->log);
    else if (!take_results(nvrtc, arena, program, output))
        output->error = "NVRTC gave no machine code; CUDA 12.1 or later is needed";
}

void nvrtc_compile(struct arena *arena, const char *name, const char *source, const char *architecture,
                   uint32_t max_registers, struct nvrtc_output *output)
{
    struct nvrtc nvrtc;
    nvrtcProgram program;
    memset(output, 0, sizeof *output);
    if (!nvrtc_open(&nvrtc)) {
        output->is_missing = true;
        output->error =
            "NVRTC not found: install the CUDA toolkit (or its wheel nvidia-cuda-nvrtc), or set CUDA_HOME "
            "to the folder that has lib64/libnvrtc.so";
        return;
    }
    nvrtcResult result = nvrtc.create(&program, source, name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        output->error = arena_printf(arena, "NVRTC: %s", nvrtc.error_string(result));
        return;
    }
    compile_program(&nvrtc, arena, program, architecture, max_registers, output);
    nvrtc.destroy(&program);
}

/* SPDX-License-Identifier: Apache-2.0
 * What runs a scene: the emulator, or with KFUSE_TEST_DEVICE=gpu the CUDA driver's first device. */
#ifndef KFUSE_TESTS_CODEGEN_DEVICE_H
#define KFUSE_TESTS_CODEGEN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_launch {
    const char *kernel;
    const uint32_t *grid, *block;
    const void *parameters;
    size_t parameter_bytes;
    uint32_t dynamic_shared;
    uint64_t seed; /* order of blocks and warps; the emulator's alone */
};
struct device {
    uint32_t (*open)(void); /* the architecture, e.g. 90; 0: there is no such device */
    uint64_t (*allocate)(size_t size);
    void (*release)(uint64_t address);
    void (*write)(uint64_t address, const void *bytes, size_t size);
    void (*read)(uint64_t address, void *bytes, size_t size);
    void *(*load)(const char *ptx, const void *cubin); /* cubin may be NULL; fails the test when it cannot */
    void (*unload)(void *module);
    void (*launch)(void *module, const struct device_launch *launch);
};
extern const struct device device_emulator, device_gpu;

#endif

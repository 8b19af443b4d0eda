/* SPDX-License-Identifier: Apache-2.0
 * The emulated device's memory: one reserved range of host addresses. A device address is the host address of
 * the same byte, so copies are memcpy. Thread safe. */
#ifndef KFUSE_EMULATOR_MEMORY_H
#define KFUSE_EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emu_memory_kind {
    EMU_MEMORY_DEVICE,
    EMU_MEMORY_MANAGED,
    EMU_MEMORY_HOST,
    EMU_MEMORY_VARIABLE,
    EMU_MEMORY_MAPPED /* at an address that the program chose: emu_memory_add */
};

struct emu_allocation {
    uint64_t start, size;
    enum emu_memory_kind kind;
    bool is_read_only; /* MAPPED */
};

/* Reserves addresses for capacity bytes of memory (untouched pages cost nothing), and twice as many behind
 * them for memory that programs map themselves. False when that fails. */
bool emu_memory_open(uint64_t capacity);

/* From now on no gaps between device allocations: call it before the first one. */
void emu_memory_pack(void);
/* Aligned to 256 bytes; 0 when out of memory. HOST allocations come from the heap of the host. */
uint64_t emu_memory_allocate(uint64_t size, enum emu_memory_kind kind);
/* Makes a range of host memory (registered) readable by kernels. */
bool emu_memory_register(uint64_t start, uint64_t size);
/* Makes memory known that the caller has put at addresses of emu_memory_virtual. */
bool emu_memory_add(const struct emu_allocation *allocation);
/* Memory without an address counts as used. False: there is not so much. */
bool emu_memory_take(uint64_t bytes);
void emu_memory_give(uint64_t bytes);
/* The addresses for memory that programs map. */
void emu_memory_virtual(uint64_t *start, uint64_t *end);
/* False when address is not the start of an allocation. Freed bytes are filled with 0xdd: the first MiB of
 * them; the pages of the rest are given back and read as zeros. */
bool emu_memory_release(uint64_t address);
/* The allocation that holds the byte at address. */
bool emu_memory_find(uint64_t address, struct emu_allocation *allocation);
void emu_memory_usage(uint64_t *free_bytes, uint64_t *total_bytes);
/* The reserved range; start == end when it is not open. */
void emu_memory_reserved(uint64_t *start, uint64_t *end);
/* EMU_WINDOW_BYTES of addresses that nothing else uses: where generic pointers to shared, local and parameter
 * memory point (ISA 5.2). Never backed by memory. */
enum { EMU_WINDOW_BYTES = 64 << 20 };
uint64_t emu_memory_window(void);

#endif

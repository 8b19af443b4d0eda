/* SPDX-License-Identifier: Apache-2.0
 * Which 32-byte sectors of device memory a launch touched: a bitmap a worker, merged and cleared at the end.
 */
#include "emulator/machine.h"

#include <sys/mman.h>

static size_t traffic_bytes(const struct machine *machine)
{
    return ((machine->memory_end - machine->memory_start) / SECTOR_BYTES + 63) / 64 * 8;
}

bool traffic_open(struct traffic *traffic, const struct machine *machine)
{
    void *bits = mmap(NULL, traffic_bytes(machine), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *traffic = (struct traffic){bits == MAP_FAILED ? NULL : bits, UINT64_MAX, 0};
    return traffic->bits != NULL;
}

void traffic_close(struct traffic *traffic, const struct machine *machine)
{
    if (traffic->bits != NULL) munmap(traffic->bits, traffic_bytes(machine));
    traffic->bits = NULL;
}

void traffic_mark(struct traffic *traffic, const struct machine *machine, uint64_t address, uint64_t bytes)
{
    uint64_t first = (address - machine->memory_start) / SECTOR_BYTES;
    uint64_t last = (address + bytes - 1 - machine->memory_start) / SECTOR_BYTES;
    if (first / 64 < traffic->low) traffic->low = first / 64;
    if (last / 64 > traffic->high) traffic->high = last / 64;
    for (uint64_t sector = first; sector <= last;) {
        uint64_t word = sector / 64, from = sector % 64;
        uint64_t count = last - sector + 1 < 64 - from ? last - sector + 1 : 64 - from;
        traffic->bits[word] |= (count == 64 ? ~0ull : (1ull << count) - 1) << from;
        sector += count;
    }
}

uint64_t traffic_sectors(struct traffic *const *traffic, uint32_t count)
{
    uint64_t low = UINT64_MAX, high = 0, sectors = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = traffic[i]->low < low ? traffic[i]->low : low;
        high = traffic[i]->high > high ? traffic[i]->high : high;
    }
    for (uint64_t word = low; low != UINT64_MAX && word <= high; word++) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (word < traffic[i]->low || word > traffic[i]->high || traffic[i]->bits[word] == 0) continue;
            bits |= traffic[i]->bits[word];
            traffic[i]->bits[word] = 0;
        }
        sectors += (uint64_t)__builtin_popcountll(bits);
    }
    for (uint32_t i = 0; i < count; i++) {
        traffic[i]->low = UINT64_MAX;
        traffic[i]->high = 0;
    }
    return sectors;
}

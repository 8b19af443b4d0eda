/* SPDX-License-Identifier: Apache-2.0
 * Which 32-byte sectors of device memory a launch touched: a bitmap a worker, with a second one of its words
 * that are not 0, merged and cleared at the end. */
#include "emulator/machine.h"

#include <sys/mman.h>

static size_t traffic_words(const struct machine *machine)
{
    return ((machine->memory_end - machine->memory_start) / SECTOR_BYTES + 63) / 64;
}

bool traffic_open(struct traffic *traffic, const struct machine *machine)
{
    size_t words = traffic_words(machine), bytes = (words + (words + 63) / 64) * sizeof *traffic->bits;
    if (traffic->bits != NULL && traffic->bytes == bytes) return true;
    traffic_close(traffic);
    void *bits =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *traffic = (struct traffic){.low = UINT64_MAX};
    if (bits == MAP_FAILED) return false;
    traffic->bits = bits;
    traffic->used = traffic->bits + words;
    traffic->bytes = bytes;
    return true;
}

void traffic_close(struct traffic *traffic)
{
    if (traffic->bits != NULL) munmap(traffic->bits, traffic->bytes);
    traffic->bits = NULL;
}

void traffic_mark(struct traffic *traffic, const struct machine *machine, uint64_t address, uint64_t bytes)
{
    uint64_t first = (address - machine->memory_start) / SECTOR_BYTES;
    uint64_t last = (address + bytes - 1 - machine->memory_start) / SECTOR_BYTES;
    for (uint64_t sector = first; sector <= last;) {
        uint64_t word = sector / 64, from = sector % 64;
        uint64_t count = last - sector + 1 < 64 - from ? last - sector + 1 : 64 - from;
        if (traffic->bits[word] == 0) {
            traffic->used[word / 64] |= 1ull << word % 64;
            if (word / 64 < traffic->low) traffic->low = word / 64;
            if (word / 64 > traffic->high) traffic->high = word / 64;
        }
        traffic->bits[word] |= (count == 64 ? ~0ull : (1ull << count) - 1) << from;
        sector += count;
    }
}

/* Distinct sectors in the words that place of used stands for. */
static uint64_t traffic_take(struct traffic *const *traffic, uint32_t count, uint64_t place)
{
    uint64_t used = 0, sectors = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (place < traffic[i]->low || place > traffic[i]->high) continue;
        used |= traffic[i]->used[place];
        traffic[i]->used[place] = 0;
    }
    for (; used != 0; used &= used - 1) {
        uint64_t word = place * 64 + (uint64_t)__builtin_ctzll(used), bits = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (place < traffic[i]->low || place > traffic[i]->high || traffic[i]->bits[word] == 0) continue;
            bits |= traffic[i]->bits[word];
            traffic[i]->bits[word] = 0;
        }
        sectors += (uint64_t)__builtin_popcountll(bits);
    }
    return sectors;
}

uint64_t traffic_sectors(struct traffic *const *traffic, uint32_t count)
{
    uint64_t low = UINT64_MAX, high = 0, sectors = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = traffic[i]->low < low ? traffic[i]->low : low;
        high = traffic[i]->high > high ? traffic[i]->high : high;
    }
    for (uint64_t place = low; low != UINT64_MAX && place <= high; place++)
        sectors += traffic_take(traffic, count, place);
    for (uint32_t i = 0; i < count; i++) {
        traffic[i]->low = UINT64_MAX;
        traffic[i]->high = 0;
    }
    return sectors;
}

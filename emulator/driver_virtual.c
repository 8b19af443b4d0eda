/* SPDX-License-Identifier: Apache-2.0
 * Virtual memory management: addresses that a program reserves, memory that it creates without an address,
 * and mappings of one at the other, several of one memory where the program wants that. Memory is a file
 * without a name; where nothing is mapped, or access is not given, an address is like one of no allocation.
 */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

enum { VIRTUAL_GRANULARITY = 2 << 20, VIRTUAL_PAGE = 4096 };

struct virtual_range {                     /* a reservation, or a mapping (with its memory) */
    struct virtual_range *previous, *next; /* by address */
    uint64_t start, size;
    struct driver_physical *physical;
    CUmemAccess_flags access;
};
static struct virtual_range *virtual_reservations, *virtual_mappings;

static bool is_multiple(uint64_t value, uint64_t of)
{
    return value % of == 0;
}

static int range_compare(const struct virtual_range *a, const struct virtual_range *b)
{
    return a->start < b->start ? -1 : a->start > b->start;
}

static struct virtual_range *range_add(struct virtual_range **list, uint64_t start, uint64_t size)
{
    struct virtual_range *range = calloc(1, sizeof *range);
    if (!range) return NULL;
    range->start = start;
    range->size = size;
    DL_INSERT_INORDER2(*list, range, range_compare, previous, next);
    return range;
}

static void range_remove(struct virtual_range **list, struct virtual_range *range)
{
    DL_DELETE2(*list, range, previous, next);
    free(range);
}

/* The first range of the list that has a byte of these, or NULL. */
static struct virtual_range *range_in(struct virtual_range *list, uint64_t start, uint64_t size)
{
    for (struct virtual_range *range = list; range; range = range->next)
        if (range->start < start + size && start < range->start + range->size) return range;
    return NULL;
}

/* --- addresses --- */

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* The first free addresses, 0: there are none. */
static uint64_t find_addresses(uint64_t size, uint64_t alignment, uint64_t hint)
{
    uint64_t first, end;
    emu_memory_virtual(&first, &end);
    bool is_hint_free = hint >= first && hint < end && size <= end - hint && is_multiple(hint, alignment) &&
                        !range_in(virtual_reservations, hint, size);
    if (is_hint_free) return hint;
    uint64_t start = align_up(first, alignment);
    for (struct virtual_range *range; start < end && size <= end - start;) {
        range = range_in(virtual_reservations, start, size);
        if (!range) return start;
        start = align_up(range->start + range->size, alignment);
    }
    return 0;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!ptr || size == 0 || flags != 0 || !is_multiple(size, VIRTUAL_PAGE) ||
        !is_multiple(addr, VIRTUAL_PAGE) || (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (alignment < VIRTUAL_GRANULARITY) alignment = VIRTUAL_GRANULARITY;
    uint64_t start = find_addresses(size, alignment, addr);
    if (!start || !range_add(&virtual_reservations, start, size)) return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = start;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct virtual_range *range = range_in(virtual_reservations, ptr, 1);
    if (!range || range->start != ptr || range->size != size || range_in(virtual_mappings, ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    range_remove(&virtual_reservations, range);
    return CUDA_SUCCESS;
}

/* --- memory --- */

static CUresult check_properties(const CUmemAllocationProp *properties)
{
    if (!properties || properties->win32HandleMetaData) return CUDA_ERROR_INVALID_VALUE;
    if (properties->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    switch ((unsigned)properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return properties->location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static void physical_drop(struct driver_physical *physical)
{
    if (physical->handles || physical->mappings) return;
    close(physical->file);
    emu_memory_give(physical->size);
    driver_object_destroy(physical);
}

static bool physical_open(struct driver_physical *physical, uint64_t size)
{
    if (!emu_memory_take(size)) return false;
    physical->size = size;
    physical->file = memfd_create("kfuse-emulator", MFD_CLOEXEC);
    if (physical->file >= 0 && ftruncate(physical->file, (off_t)size) == 0) return true;
    if (physical->file >= 0) close(physical->file);
    emu_memory_give(size);
    return false;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = check_properties(prop);
    if (result != CUDA_SUCCESS) return result;
    if (!handle || size == 0 || flags != 0 || !is_multiple(size, VIRTUAL_GRANULARITY))
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE || prop->allocFlags.usage)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct driver_physical *physical = driver_object_create(DRIVER_PHYSICAL);
    if (!physical) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!physical_open(physical, size)) {
        driver_object_destroy(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->handles = 1;
    physical->properties = *prop;
    memset(&physical->properties.allocFlags, 0, sizeof physical->properties.allocFlags); /* no such memory */
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

static struct driver_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    struct driver_physical *physical = (struct driver_physical *)(uintptr_t)handle;
    return driver_object_is(physical, DRIVER_PHYSICAL) && physical->handles ? physical : NULL;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct driver_physical *physical = physical_of(handle);
    if (!physical) return CUDA_ERROR_INVALID_VALUE;
    physical->handles--;
    physical_drop(physical);
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct virtual_range *mapping = range_in(virtual_mappings, (uint64_t)addr, 1);
    if (!handle || !mapping) return CUDA_ERROR_INVALID_VALUE;
    mapping->physical->handles++;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = check_properties(prop);
    if (result != CUDA_SUCCESS) return result;
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = VIRTUAL_GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    DRIVER_ENTER(DRIVER_OPEN);
    const struct driver_physical *physical = physical_of(handle);
    if (!prop || !physical) return CUDA_ERROR_INVALID_VALUE;
    *prop = physical->properties;
    return CUDA_SUCCESS;
}

/* --- mappings --- */

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct driver_physical *physical = physical_of(handle);
    const struct virtual_range *reservation = range_in(virtual_reservations, ptr, 1);
    bool is_right = physical && reservation && size != 0 && offset == 0 && flags == 0 &&
                    is_multiple(ptr, VIRTUAL_GRANULARITY) && is_multiple(size, VIRTUAL_GRANULARITY) &&
                    size <= physical->size && size <= reservation->start + reservation->size - ptr &&
                    !range_in(virtual_mappings, ptr, size);
    if (!is_right) return CUDA_ERROR_INVALID_VALUE;
    struct virtual_range *mapping = range_add(&virtual_mappings, ptr, size);
    if (!mapping) return CUDA_ERROR_OUT_OF_MEMORY;
    mapping->physical = physical;
    mapping->access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    physical->mappings++;
    return CUDA_SUCCESS;
}

/* Whether these are the addresses of whole mappings, without a gap. */
static bool is_mapped_whole(uint64_t start, uint64_t size)
{
    uint64_t end = start + size;
    while (start < end) {
        const struct virtual_range *mapping = range_in(virtual_mappings, start, 1);
        if (!mapping || mapping->start != start || mapping->size > end - start) return false;
        start += mapping->size;
    }
    return size != 0 && start == end;
}

/* Puts the memory there, or takes it away. */
static bool mapping_set(struct virtual_range *mapping, CUmemAccess_flags access)
{
    const struct emu_allocation allocation = {mapping->start, mapping->size, EMU_MEMORY_MAPPED,
                                              access == CU_MEM_ACCESS_FLAGS_PROT_READ};
    bool is_there = access != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    int shared = is_there ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (mapping->access == access) return true;
    if (mapping->access != CU_MEM_ACCESS_FLAGS_PROT_NONE) emu_memory_release(mapping->start);
    mapping->access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (mmap((void *)mapping->start, mapping->size, PROT_READ | PROT_WRITE, MAP_FIXED | shared,
             is_there ? mapping->physical->file : -1, 0) == MAP_FAILED ||
        (is_there && !emu_memory_add(&allocation)))
        return false;
    mapping->access = access;
    return true;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    DRIVER_ENTER(DRIVER_OPEN);
    driver_run_all();
    if (!is_mapped_whole(ptr, size)) return CUDA_ERROR_INVALID_VALUE;
    for (struct virtual_range *mapping; (mapping = range_in(virtual_mappings, ptr, size));) {
        mapping_set(mapping, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        mapping->physical->mappings--;
        physical_drop(mapping->physical);
        range_remove(&virtual_mappings, mapping);
    }
    return CUDA_SUCCESS;
}

static CUresult check_location(const CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return location->type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
                                                              : CUDA_ERROR_NOT_SUPPORTED;
    return location->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!desc || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = check_location(&desc[i].location);
        if (result != CUDA_SUCCESS) return result;
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    driver_run_all();
    if (!is_mapped_whole(ptr, size)) return CUDA_ERROR_INVALID_VALUE;
    for (struct virtual_range *mapping = virtual_mappings; mapping; mapping = mapping->next)
        if (mapping->start >= ptr && mapping->start < ptr + size &&
            !mapping_set(mapping, desc[count - 1].flags))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    DRIVER_ENTER(DRIVER_OPEN);
    const struct virtual_range *mapping = range_in(virtual_mappings, ptr, 1);
    if (!flags || !location || !mapping) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_location(location);
    if (result == CUDA_SUCCESS) *flags = mapping->access;
    return result;
}

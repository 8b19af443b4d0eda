/* SPDX-License-Identifier: Apache-2.0
 * Modules and kernels by identity: (hash of image and JIT options, entry name). Handles of the driver come
 * and go; the structures stay, so that launching threads may look at them without a lock. */
#include "interpose/track.h"

#include "common/image.h"
#include "common/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* else uthash exits */
#include <uthash.h>

/* Machine code beyond this size is told apart by its beginning: hashing the whole of a vendor's library would
 * read hundreds of megabytes from disk that the program may never touch, and nothing of it can be fused. */
enum { HASHED_CODE = 64 << 20 };

struct module_handle {
    void *handle;
    struct track_module *module;
    UT_hash_handle hh;
};
struct made_image { /* what NVRTC or the linker produced in this process */
    struct hash128 hash;
    char *ptx;
    struct made_image *next;
};
static struct {
    pthread_mutex_t lock;
    struct module_handle *handles;
    struct track_module *modules;
    struct track_kernel *kernels;
    struct made_image *made;
    uint32_t module_count, kernel_count;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Atomic(struct track_handle_table *) track_handles;
_Atomic uint64_t track_unloads;

/* --- identity --- */

static bool is_output(CUjit_option option)
{
    return option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER ||
           option == CU_JIT_WALL_TIME || option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
           option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_LOG_VERBOSE ||
           option == CU_JIT_THREADS_PER_BLOCK;
}

/* Pairs of (option, value) that shape code, 16 bytes each; pointers among the values make the hash of no
 * other run match, which is safe. */
static size_t pack_options(const struct track_image *image, unsigned char *packed)
{
    size_t size = 0;
    for (unsigned i = 0; i < image->option_count; i++) {
        if (is_output(image->options[i])) continue;
        uint64_t pair[2] = {image->options[i], (uint32_t)(uintptr_t)image->values[i]};
        memcpy(packed + size, pair, sizeof pair);
        size += sizeof pair;
    }
    return size;
}

static struct hash128 hash_parts(const void *bytes, size_t size, const void *options, size_t options_size)
{
    if (!options_size) return hash_bytes(bytes, size);
    struct hash128 hash = {0, 0};
    unsigned char *joined = malloc(size + options_size);
    if (!joined) return hash;
    memcpy(joined, bytes, size);
    memcpy(joined + size, options, options_size);
    hash = hash_bytes(joined, size + options_size);
    free(joined);
    return hash;
}

static struct made_image *find_made(struct hash128 hash)
{
    for (struct made_image *made = registry.made; made; made = made->next)
        if (hash_equal(made->hash, hash)) return made;
    return NULL;
}

/* Under the lock. */
static struct track_module *module_of(const struct trace_module *record, struct hash128 image_hash,
                                      const void *options)
{
    struct track_module *module;
    for (module = registry.modules; module; module = module->next)
        if (hash_equal(module->record.hash, record->hash)) return module;
    module = calloc(1, sizeof *module);
    if (!module) return NULL;
    module->record = *record;
    module->record.module = ++registry.module_count;
    module->options = malloc(record->options_size + 1);
    if (module->options)
        memcpy(module->options, options, record->options_size);
    else
        module->record.options_size = 0;
    struct made_image *made = find_made(image_hash);
    if (made && made->ptx) {
        module->ptx = made->ptx;
        module->record.flags |= TRACE_MODULE_FROM_NVRTC | TRACE_MODULE_HAS_PTX;
        module->record.image_kind = IMAGE_PTX;
    } else if (made) {
        module->record.flags |= TRACE_MODULE_LINKED;
    }
    module->next = registry.modules;
    registry.modules = module;
    return module;
}

/* Under the lock. */
static void bind_handle(void *handle, struct track_module *module)
{
    struct module_handle *entry;
    HASH_FIND_PTR(registry.handles, &handle, entry);
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (!entry) return;
        entry->handle = handle;
        HASH_ADD_PTR(registry.handles, handle, entry);
    } else if (entry->module) {
        entry->module->loads--;
    }
    entry->module = module;
    module->loads++;
}

struct track_module *track_module_add(void *handle, const struct track_image *given)
{
    struct image image = image_examine(given->bytes, given->limit);
    unsigned char packed[64 * 16];
    struct track_image known = *given;
    if (known.option_count > 64) known.option_count = 64;
    if (!known.options || !known.values) known.option_count = 0;
    size_t options_size = pack_options(&known, packed), hashed = image.size;
    if (image.kind == IMAGE_FATBIN && !image.has_ptx && hashed > HASHED_CODE) hashed = HASHED_CODE / 64;
    struct trace_module record = {.image_kind = image.kind,
                                  .flags = given->flags,
                                  .image_size = image.size,
                                  .options_size = (uint32_t)options_size};
    if (image.has_ptx) record.flags |= TRACE_MODULE_HAS_PTX;
    if (image.is_relocatable) record.flags |= TRACE_MODULE_RELOCATABLE;
    struct hash128 image_hash = hash_bytes(image.bytes, image.size ? hashed : 0);
    record.hash = options_size ? hash_parts(image.bytes, hashed, packed, options_size) : image_hash;
    pthread_mutex_lock(&registry.lock);
    struct track_module *module = module_of(&record, image_hash, packed);
    if (module) bind_handle(handle, module);
    pthread_mutex_unlock(&registry.lock);
    return module;
}

void track_module_alias(void *handle, void *known)
{
    struct module_handle *entry;
    pthread_mutex_lock(&registry.lock);
    HASH_FIND_PTR(registry.handles, &known, entry);
    if (entry && entry->module && handle != known) bind_handle(handle, entry->module);
    pthread_mutex_unlock(&registry.lock);
}

struct track_module *track_module_find(void *handle)
{
    struct module_handle *entry;
    pthread_mutex_lock(&registry.lock);
    HASH_FIND_PTR(registry.handles, &handle, entry);
    struct track_module *module = entry ? entry->module : NULL;
    pthread_mutex_unlock(&registry.lock);
    return module;
}

bool track_module_is_loaded(struct hash128 hash)
{
    bool is_loaded = false;
    pthread_mutex_lock(&registry.lock);
    for (struct track_module *module = registry.modules; module && !is_loaded; module = module->next)
        is_loaded = module->loads > 0 && hash_equal(module->record.hash, hash);
    pthread_mutex_unlock(&registry.lock);
    return is_loaded;
}

void track_module_made(const void *cubin, size_t size, const char *ptx)
{
    struct made_image *made = calloc(1, sizeof *made);
    if (!made) return;
    made->hash = hash_bytes(cubin, size);
    made->ptx = ptx ? strdup(ptx) : NULL;
    pthread_mutex_lock(&registry.lock);
    if (find_made(made->hash)) {
        free(made->ptx);
        free(made);
    } else {
        made->next = registry.made;
        registry.made = made;
    }
    pthread_mutex_unlock(&registry.lock);
}

/* --- the table of kernel handles: readers take no lock --- */

/* Under the lock; the table has room. */
static void table_put(struct track_handle_table *table, const void *handle, struct track_kernel *kernel)
{
    for (size_t i = track_handle_slot(table, handle);; i = (i + 1) & (table->capacity - 1)) {
        const void *key = atomic_load_explicit(&table->slots[i].handle, memory_order_relaxed);
        if (key && key != handle) continue;
        atomic_store_explicit(&table->slots[i].kernel, kernel, memory_order_release);
        if (key) return;
        atomic_store_explicit(&table->slots[i].handle, handle, memory_order_release);
        table->used++;
        return;
    }
}

/* Under the lock. */
static void bind_kernel(const void *handle, struct track_kernel *kernel)
{
    struct track_handle_table *table = atomic_load_explicit(&track_handles, memory_order_relaxed);
    if (!table || 2 * (table->used + 1) > table->capacity) {
        size_t capacity = table ? 2 * table->capacity : 1024;
        struct track_handle_table *larger = calloc(1, sizeof *larger + capacity * sizeof larger->slots[0]);
        if (!larger) return;
        larger->capacity = capacity;
        for (size_t i = 0; table && i < table->capacity; i++)
            if (table->slots[i].handle && table->slots[i].kernel)
                table_put(larger, table->slots[i].handle, table->slots[i].kernel);
        atomic_store_explicit(&track_handles, larger, memory_order_release);
        table = larger;
    }
    table_put(table, handle, kernel);
}

/* Under the lock: handles of an unloaded module may be given to other kernels later. */
static void unbind_kernels(const struct track_module *module)
{
    struct track_handle_table *table = atomic_load_explicit(&track_handles, memory_order_relaxed);
    for (size_t i = 0; table && i < table->capacity; i++) {
        struct track_kernel *kernel = atomic_load_explicit(&table->slots[i].kernel, memory_order_relaxed);
        if (kernel && kernel->module == module)
            atomic_store_explicit(&table->slots[i].kernel, NULL, memory_order_release);
    }
}

void track_module_remove(void *handle)
{
    struct module_handle *entry, *next;
    pthread_mutex_lock(&registry.lock);
    HASH_FIND_PTR(registry.handles, &handle, entry);
    struct track_module *module = entry ? entry->module : NULL;
    atomic_fetch_add(&track_unloads, 1);
    if (module) unbind_kernels(module);
    /* With the module go its aliases: a handle to it that is still valid is met again at its next launch. */
    for (entry = registry.handles; module && entry; entry = next) {
        next = entry->hh.next;
        if (entry->module != module) continue;
        module->loads--;
        HASH_DEL(registry.handles, entry);
        free(entry);
    }
    pthread_mutex_unlock(&registry.lock);
}

/* Under the lock. Of an unknown module nothing says that two kernels of one name are the same. */
static struct track_kernel *kernel_of(struct track_module *module, const char *name)
{
    for (struct track_kernel *kernel = module ? registry.kernels : NULL; kernel; kernel = kernel->next)
        if (kernel->module == module && !strcmp(kernel->name, name)) return kernel;
    struct track_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel || !(kernel->name = strdup(name))) {
        free(kernel);
        return NULL;
    }
    kernel->module = module;
    kernel->record.kernel = ++registry.kernel_count;
    kernel->record.module = module ? module->record.module : 0;
    atomic_init(&kernel->plan, TRACK_PLAN_UNBOUND);
    kernel->next = registry.kernels;
    registry.kernels = kernel;
    return kernel;
}

struct track_kernel *track_kernel_add(void *handle, bool is_library_kernel, void *module_handle,
                                      const char *name)
{
    struct module_handle *entry;
    pthread_mutex_lock(&registry.lock);
    HASH_FIND_PTR(registry.handles, &module_handle, entry);
    struct track_kernel *kernel = entry ? NULL : track_kernel_find(handle);
    if (!kernel || strcmp(kernel->name, name)) kernel = kernel_of(entry ? entry->module : NULL, name);
    if (kernel) {
        kernel->handle = handle;
        kernel->is_library_kernel = is_library_kernel;
        bind_kernel(handle, kernel);
    }
    pthread_mutex_unlock(&registry.lock);
    return kernel;
}

void track_kernel_alias(void *handle, struct track_kernel *kernel)
{
    pthread_mutex_lock(&registry.lock);
    kernel->function = handle;
    bind_kernel(handle, kernel);
    pthread_mutex_unlock(&registry.lock);
}

struct track_kernel *track_kernel_discover(void *handle, bool is_library_kernel, void *module)
{
    const char *name = NULL;
    CUresult result =
        is_library_kernel ? REAL(cuKernelGetName)(&name, handle) : REAL(cuFuncGetName)(&name, handle);
    if (result != CUDA_SUCCESS && !module && !is_library_kernel) { /* launches take either kind */
        is_library_kernel = true;
        result = REAL(cuKernelGetName)(&name, handle);
    }
    if (result != CUDA_SUCCESS || !name) return NULL;
    CUmodule of_function = NULL;
    CUlibrary of_kernel = NULL;
    if (!module && is_library_kernel && REAL(cuKernelGetLibrary)(&of_kernel, handle) == CUDA_SUCCESS)
        module = of_kernel;
    if (!module && !is_library_kernel && REAL(cuFuncGetModule)(&of_function, handle) == CUDA_SUCCESS)
        module = of_function;
    return track_kernel_add(handle, is_library_kernel, module, name);
}

/* --- attributes and arguments --- */

static bool attribute(const struct track_kernel *kernel, CUdevice device, CUfunction_attribute which,
                      int *value)
{
    *value = 0;
    return kernel->is_library_kernel
               ? REAL(cuKernelGetAttribute)(value, which, kernel->handle, device) == CUDA_SUCCESS
               : REAL(cuFuncGetAttribute)(value, which, kernel->handle) == CUDA_SUCCESS;
}

static bool parameter(const struct track_kernel *kernel, size_t index, size_t *offset, size_t *size)
{
    return kernel->is_library_kernel
               ? REAL(cuKernelGetParamInfo)(kernel->handle, index, offset, size) == CUDA_SUCCESS
               : REAL(cuFuncGetParamInfo)(kernel->handle, index, offset, size) == CUDA_SUCCESS;
}

/* Fills the counts; the array is the caller's, or NULL when memory is out. */
static struct trace_parameter *describe_parameters(const struct track_kernel *kernel,
                                                   struct trace_kernel *record)
{
    size_t offset, size;
    uint32_t count = 0, bytes = 0;
    while (parameter(kernel, count, &offset, &size)) count++;
    struct trace_parameter *parameters = calloc(count ? count : 1, sizeof *parameters);
    for (uint32_t i = 0; parameters && i < count && parameter(kernel, i, &offset, &size); i++) {
        parameters[i] = (struct trace_parameter){(uint32_t)offset, (uint32_t)size};
        if (offset + size > bytes) bytes = (uint32_t)(offset + size);
    }
    record->parameter_count = count;
    record->parameter_bytes = bytes;
    return parameters;
}

static bool describe_attributes(const struct track_kernel *kernel, struct trace_kernel *record)
{
    const struct {
        CUfunction_attribute which;
        void *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &record->registers},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &record->static_shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &record->constant_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &record->local_bytes},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &record->max_threads},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &record->ptx_version},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &record->binary_version},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &record->cache_mode_ca},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &record->max_dynamic_shared},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &record->preferred_carveout},
    };
    CUdevice device = 0;
    if (REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS) return false;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int value;
        bool is_known = attribute(kernel, device, wanted[i].which, &value);
        if (!is_known && wanted[i].which == CU_FUNC_ATTRIBUTE_NUM_REGS) return false;
        memcpy(wanted[i].value, &value, sizeof value);
    }
    return true;
}

bool track_kernel_describe(struct track_kernel *kernel)
{
    if (__atomic_load_n(&kernel->is_described, __ATOMIC_ACQUIRE)) return true;
    struct trace_kernel record = kernel->record;
    if (!describe_attributes(kernel, &record)) return false;
    struct trace_parameter *parameters = describe_parameters(kernel, &record);
    if (!parameters) return false;
    pthread_mutex_lock(&registry.lock);
    if (!kernel->is_described) {
        kernel->record = record;
        kernel->parameters = parameters;
        uint32_t used = 0;
        for (uint32_t i = 0; i < record.parameter_count; i++) used += parameters[i].size;
        kernel->has_padding = used < record.parameter_bytes;
        parameters = NULL;
        __atomic_store_n(&kernel->is_described, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&registry.lock);
    free(parameters);
    return true;
}

static long packed_arguments(void **extra, void *buffer, size_t capacity)
{
    const void *bytes = NULL;
    size_t size = 0;
    for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) bytes = extra[i + 1];
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t *)extra[i + 1];
    }
    if (size > capacity || (size && !bytes)) return -1;
    if (size) memcpy(buffer, bytes, size);
    return (long)size;
}

long track_kernel_pack(const struct track_kernel *kernel, void **parameters, void **extra, void *buffer,
                       size_t capacity)
{
    if (!__atomic_load_n(&kernel->is_described, __ATOMIC_ACQUIRE)) return -1;
    uint32_t bytes = kernel->record.parameter_bytes;
    if (bytes > capacity) return -1;
    if (kernel->has_padding) memset(buffer, 0, bytes);
    if (parameters) return track_copy_arguments(kernel, parameters, buffer);
    if (!bytes) return 0;
    if (!extra) return -1;
    long size = packed_arguments(extra, buffer, capacity);
    return size < (long)bytes ? -1 : (long)bytes;
}

void track_module_fork_child(void);
void track_module_fork_child(void)
{
    pthread_mutex_init(&registry.lock, NULL);
}

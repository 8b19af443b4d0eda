/* SPDX-License-Identifier: Apache-2.0
 * Entry points: finds libcuda.so.1, maps the addresses that it exports to our stubs, and answers dlsym. */
#include "interpose/entry.h"

#include "common/log.h"
#include "interpose/contents.h"
#include "common/setting.h"
#include "interpose/gate.h"
#include "interpose/queue.h"
#include "interpose/record.h"
#include "interpose/shim.h"
#include "interpose/verify.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static const char *const entry_names[ENTRY_COUNT] = {
#define ENTRY(symbol, class) #symbol,
#include "interpose/driver.def"
#undef ENTRY
};
static const unsigned char entry_classes[ENTRY_COUNT] = {
#define ENTRY(symbol, class) ENTRY_IS_##class,
#include "interpose/driver.def"
#undef ENTRY
};

void *entry_real[ENTRY_SLOTS];
void *(*entry_real_dlsym)(void *, const char *);
extern void *const entry_stubs[ENTRY_COUNT];
extern const char entry_unknown_stubs[];
enum { UNKNOWN_STUB_SIZE = 32, ROUTES = 4096 };
_Static_assert(ROUTES >= 2 * ENTRY_SLOTS, "the route table stays sparse");

static struct {
    pthread_mutex_t lock;
    void *library;
    uintptr_t start, end; /* where it is mapped */
    atomic_bool is_resolved;
    struct {
        _Atomic(void *) real;
        void *stub;
    } routes[ROUTES];
    unsigned unknown;
    const char *unknown_names[ENTRY_UNKNOWN];
} entries = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUresult no_driver(void)
{
    return CUDA_ERROR_NO_DEVICE;
}

static CUresult no_such_entry(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

void *entry_find_dlsym(void)
{
    if (!entry_real_dlsym) {
        static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.34"};
        for (int i = 0; i < 2 && !entry_real_dlsym; i++)
            *(void **)&entry_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    return (void *)entry_real_dlsym;
}

static void *find(void *library, const char *name)
{
    return entry_find_dlsym() ? entry_real_dlsym(library, name) : NULL;
}

bool entry_is_resolved(void)
{
    return atomic_load_explicit(&entries.is_resolved, memory_order_acquire);
}

const char *entry_name(enum entry entry)
{
    if (entry < ENTRY_COUNT) return entry_names[entry];
    const char *name = entry < ENTRY_SLOTS ? entries.unknown_names[entry - ENTRY_COUNT] : NULL;
    return name ? name : "unknown entry point";
}

enum entry_class entry_class(enum entry entry)
{
    return entry < ENTRY_COUNT ? (enum entry_class)entry_classes[entry] : ENTRY_IS_FLUSH;
}

void *entry_lookup(const char *name)
{
    return entries.library ? find(entries.library, name) : NULL;
}

static unsigned route_slot(const void *real)
{
    return (unsigned)(((uintptr_t)real * 0x9e3779b97f4a7c15u) >> 52) % ROUTES;
}

/* The stub of a real function, or NULL. Takes no lock: a slot is filled once. */
static void *route_find(const void *real)
{
    for (unsigned i = route_slot(real);; i = (i + 1) % ROUTES) {
        void *key = atomic_load_explicit(&entries.routes[i].real, memory_order_acquire);
        if (!key) return NULL;
        if (key == real) return entries.routes[i].stub;
    }
}

/* Under the lock. Symbols may share an address: the first in the table wins. */
static void route_add(void *real, void *stub)
{
    unsigned i = route_slot(real);
    for (void *key; (key = atomic_load_explicit(&entries.routes[i].real, memory_order_relaxed));
         i = (i + 1) % ROUTES)
        if (key == real) return;
    entries.routes[i].stub = stub;
    atomic_store_explicit(&entries.routes[i].real, real, memory_order_release);
}

static int find_range(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const uintptr_t address = (uintptr_t)context;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
        if (from < start) start = from;
        if (to > end) end = to;
    }
    if (address < start || address >= end) return 0;
    entries.start = start;
    entries.end = end;
    return 1;
}

/* The loader's own lock is taken inside, so none of ours may be held here. */
static void *open_library(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && find(library, "cuInit") ? library : NULL;
}

/* Under the lock: wrappers first, so that one address under two names keeps its books. */
static void publish(void *library, void *const found[ENTRY_COUNT])
{
    entries.library = library;
    for (unsigned class = ENTRY_IS_LAUNCH + 1; class -- > ENTRY_IS_PASS;)
        for (unsigned i = 0; i < ENTRY_COUNT; i++) {
            if (entry_classes[i] != class) continue;
            __atomic_store_n(&entry_real[i], found[i] ? found[i] : (void *)no_such_entry, __ATOMIC_RELEASE);
            if (found[i]) route_add(found[i], class == ENTRY_IS_PASS ? found[i] : entry_stubs[i]);
        }
    for (unsigned i = ENTRY_COUNT; i < ENTRY_SLOTS; i++)
        __atomic_store_n(&entry_real[i], (void *)no_such_entry, __ATOMIC_RELEASE);
    atomic_store_explicit(&entries.is_resolved, true, memory_order_release);
    shim_attention_clear(ATTENTION_START);
}

static bool resolve(void)
{
    void *found[ENTRY_COUNT], *library = open_library();
    for (unsigned i = 0; library && i < ENTRY_COUNT; i++) found[i] = find(library, entry_names[i]);
    if (library) dl_iterate_phdr(find_range, found[ENTRY_cuInit]);
    pthread_mutex_lock(&entries.lock);
    if (library && !entry_is_resolved()) publish(library, found);
    for (unsigned i = 0; !library && i < ENTRY_SLOTS; i++)
        if (!entry_real[i]) __atomic_store_n(&entry_real[i], (void *)no_driver, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&entries.lock);
    if (!library)
        log_write(LOG_WARNING, "entry", "libcuda.so.1 cannot be loaded: calls return CUDA_ERROR_NO_DEVICE");
    return library;
}

bool entry_resolve(void)
{
    static __thread bool is_resolving; /* constructors of libcuda may come back here */
    if (entry_is_resolved()) return true;
    if (is_resolving) return false;
    is_resolving = true;
    shim_open();
    bool is_done = resolve();
    is_resolving = false;
    return is_done;
}

void entry_fork_child(void)
{
    pthread_mutex_init(&entries.lock, NULL);
}

/* Called by the stubs. Returns where to jump, or, with is_gated, what to call before entry_done. */
struct entry_target {
    void *function;
    uint64_t is_gated;
};
struct entry_target entry_prepare(unsigned index);
struct entry_target entry_prepare(unsigned index)
{
    const enum entry entry = (enum entry)index;
    bool is_gated = false;
    if (!entry_is_resolved()) entry_resolve();
    if (entry_class(entry) == ENTRY_IS_FLUSH) {
        if (index >= ENTRY_COUNT)
            queue_defer_nothing("the program calls an entry point that is not known here");
        shim_wall(entry);
        contents_meet(entry);
        is_gated = gate_begin();
        if (is_gated) verify_notice(entry);
    }
    return (struct entry_target){__atomic_load_n(&entry_real[index], __ATOMIC_ACQUIRE), is_gated};
}

void entry_done(void);
void entry_done(void)
{
    gate_leave();
}

/* A stub of its own for a function that has no row. */
static void *unknown_stub(void *real, const char *name)
{
    void *stub = NULL;
    pthread_mutex_lock(&entries.lock);
    stub = route_find(real);
    if (!stub && entries.unknown < ENTRY_UNKNOWN) {
        unsigned i = entries.unknown++;
        entries.unknown_names[i] = name ? strdup(name) : NULL;
        __atomic_store_n(&entry_real[ENTRY_COUNT + i], real, __ATOMIC_RELEASE);
        stub = (void *)(uintptr_t)(entry_unknown_stubs + (size_t)i * UNKNOWN_STUB_SIZE);
        route_add(real, stub);
        log_write(LOG_INFO, "entry", "%s has no row in driver.def: it flushes",
                  name && *name ? name : "(unnamed)");
    }
    pthread_mutex_unlock(&entries.lock);
    if (stub) return stub;
    shim_latch("the driver has more unknown entry points than there are stubs");
    queue_defer_nothing("some calls are not seen");
    return real;
}

static bool is_stub(const void *pointer)
{
    Dl_info ours, theirs;
    return dladdr(entry_unknown_stubs, &ours) && dladdr(pointer, &theirs) &&
           ours.dli_fbase == theirs.dli_fbase;
}

/* Functions that a profiler puts before the driver's: the newest of that name, which is what programs ask
 * for. */
static void *profiled_stub(const char *name)
{
    static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
    size_t length = name ? strlen(name) : 0;
    if (!length || !setting_is_on("KFUSE_PROFILED")) return NULL;
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
        for (unsigned i = 0; i < ENTRY_COUNT; i++)
            if (!strncmp(entry_names[i], name, length) && !strcmp(entry_names[i] + length, suffixes[s]))
                return entry_classes[i] == ENTRY_IS_PASS ? NULL : entry_stubs[i];
    return NULL;
}

void *entry_route(void *pointer, const char *name)
{
    if (!pointer || !entry_resolve()) return pointer;
    void *stub = route_find(pointer);
    if (stub) return stub;
    if (is_stub(pointer)) return pointer;
    stub = profiled_stub(name);
    return stub ? stub : unknown_stub(pointer, name);
}

static bool is_in_library(const void *pointer)
{
    return (uintptr_t)pointer >= entries.start && (uintptr_t)pointer < entries.end;
}

/* A second driver library (dlmopen, another path) is out of our sight. A profiler's own only observes. */
static void check_foreign(const void *pointer)
{
    Dl_info info;
    if (is_in_library(pointer) || !dladdr(pointer, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!strncmp(slash ? slash + 1 : info.dli_fname, "libcuda.so", 10) && !setting_is_on("KFUSE_PROFILED"))
        shim_latch_format("a second copy of libcuda is in use: %s", info.dli_fname);
}

static void *dlsym_driver(void *handle, const char *name, const void *caller)
{
    if (!entry_is_resolved()) {
        void *loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (!loaded) return NULL;
        dlclose(loaded);
        if (!entry_resolve()) return NULL;
    }
    if (is_in_library(caller)) return NULL;
    bool is_global = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
    void *real = find(is_global ? entries.library : handle, name);
    if (!real) return NULL;
    void *stub = route_find(real);
    if (stub)
        return handle == RTLD_DEFAULT ? NULL : stub; /* the default is our export, or a hook before ours */
    if (is_in_library(real)) return unknown_stub(real, name);
    check_foreign(real);
    return NULL;
}

/* Called by the dlsym stub for names that begin with c or n. NULL: the real dlsym decides. */
void *entry_dlsym(void *handle, const char *name, const void *caller);
void *entry_dlsym(void *handle, const char *name, const void *caller)
{
    if (name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z')
        return dlsym_driver(handle, name, caller);
    if (!strcmp(name, "nvrtcGetCUBIN")) return record_nvrtc_hook(handle, caller);
    return NULL;
}

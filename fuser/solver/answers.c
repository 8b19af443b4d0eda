/* SPDX-License-Identifier: Apache-2.0
 * One mapping: a head with a lock and hash chains, and behind it memory that is taken from the front. The
 * lock outlives who dies with it: an entry is linked when it is complete, and answered by one store. A worker
 * holds its own lock as long as it lives. */
#include "fuser/solver/answers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CHAINS = 1 << 16, ALIGNMENT = 64 };

struct entry {
    struct hash128 key;
    struct entry *next;
    _Atomic(const void *) bytes; /* NULL: not answered yet */
    size_t size;
    uint32_t worker; /* whose question it is; NOBODY: it is open */
    uint32_t term;   /* and which of the processes that were this worker */
};
enum { NOBODY = UINT32_MAX };

struct head {
    pthread_mutex_t lock, alive[ANSWERS_MOST_WORKERS];
    _Atomic uint32_t term[ANSWERS_MOST_WORKERS]; /* how often some process became this worker */
    size_t used, size;
    struct entry *chains[CHAINS];
};
struct answers { /* each process has its own */
    struct head *head;
    uint32_t worker, term;
};

static bool open_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    bool done = !pthread_mutexattr_init(&kind) &&
                !pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) &&
                !pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) && !pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
    return done;
}

static void take_lock(pthread_mutex_t *lock)
{
    if (pthread_mutex_lock(lock) == EOWNERDEAD) pthread_mutex_consistent(lock);
}

static bool is_alive(struct head *head, uint32_t worker)
{
    int held = pthread_mutex_trylock(&head->alive[worker]);
    if (held == EBUSY) return true;
    if (held == EOWNERDEAD) pthread_mutex_consistent(&head->alive[worker]);
    pthread_mutex_unlock(&head->alive[worker]);
    return false;
}

/* As much as the system lets a process reserve; only what is used takes memory. */
static struct head *map(void)
{
    for (size_t size = (size_t)1 << 36; size >= (size_t)1 << 27; size /= 2) {
        struct head *head =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (head == MAP_FAILED) continue;
        head->size = size;
        head->used = (sizeof *head + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return head;
    }
    return NULL;
}

struct answers *answers_open(void)
{
    struct answers *answers = calloc(1, sizeof *answers);
    struct head *head = answers ? map() : NULL;
    bool is_open = head && open_lock(&head->lock);
    for (uint32_t i = 0; is_open && i < ANSWERS_MOST_WORKERS; i++) is_open = open_lock(&head->alive[i]);
    if (!is_open) {
        if (head) munmap(head, head->size);
        free(answers);
        return NULL;
    }
    answers->head = head;
    answers_join(answers, 0);
    return answers;
}

void answers_close(struct answers *answers)
{
    if (!answers) return;
    pthread_mutex_unlock(&answers->head->alive[answers->worker]); /* the thread lists what it holds */
    munmap(answers->head, answers->head->size);
    free(answers);
}

void answers_join(struct answers *answers, uint32_t worker)
{
    if (!answers) return;
    take_lock(&answers->head->alive[worker]);
    answers->worker = worker;
    answers->term = ++answers->head->term[worker];
}

/* With the lock held. */
static void *take(struct head *head, size_t size)
{
    if (size > head->size - head->used - ALIGNMENT) return NULL;
    void *memory = (char *)head + head->used;
    head->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return memory;
}

void *answers_take(struct answers *answers, size_t size)
{
    if (!answers) return NULL;
    take_lock(&answers->head->lock);
    void *memory = take(answers->head, size);
    pthread_mutex_unlock(&answers->head->lock);
    return memory;
}

static struct entry *find(struct head *head, struct hash128 key)
{
    struct entry *entry = head->chains[key.low % CHAINS];
    while (entry && !hash_equal(entry->key, key)) entry = entry->next;
    return entry;
}

/* With the lock held: the question's entry, new if need be. NULL: there is no room. */
static struct entry *enter(struct head *head, struct hash128 key)
{
    struct entry *entry = find(head, key);
    if (entry || !(entry = take(head, sizeof *entry))) return entry;
    *entry = (struct entry){.key = key, .worker = NOBODY, .next = head->chains[key.low % CHAINS]};
    head->chains[key.low % CHAINS] = entry;
    return entry;
}

/* With the lock held: somebody is at it. */
static bool is_asked(const struct answers *answers, const struct entry *entry)
{
    if (entry->worker == NOBODY || entry->term != answers->head->term[entry->worker]) return false;
    return entry->worker != answers->worker && is_alive(answers->head, entry->worker);
}

/* NULL: there is no room. */
static struct entry *claim(struct answers *answers, struct hash128 key, bool *is_mine)
{
    struct head *head = answers->head;
    take_lock(&head->lock);
    struct entry *entry = enter(head, key);
    bool is_open = entry && !atomic_load(&entry->bytes) && !is_asked(answers, entry);
    if (is_open) entry->worker = answers->worker, entry->term = answers->term;
    pthread_mutex_unlock(&head->lock);
    *is_mine = is_open;
    return entry;
}

enum answers_state answers_ask(struct answers *answers, struct hash128 key, double seconds,
                               const void **bytes, size_t *size)
{
    if (!answers) return ANSWERS_NONE;
    struct timespec pause = {.tv_nsec = 100000};
    for (double waited = 0;; waited += 1e-9 * (double)pause.tv_nsec) {
        bool is_mine;
        struct entry *entry = claim(answers, key, &is_mine);
        if (!entry || waited > seconds) return ANSWERS_NONE;
        if (is_mine) return ANSWERS_MINE;
        *bytes = atomic_load(&entry->bytes);
        *size = entry->size;
        if (*bytes) return ANSWERS_FOUND;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000) pause.tv_nsec += pause.tv_nsec / 4;
    }
}

bool answers_look(struct answers *answers, struct hash128 key, const void **bytes, size_t *size)
{
    if (!answers) return false;
    take_lock(&answers->head->lock);
    struct entry *entry = find(answers->head, key);
    pthread_mutex_unlock(&answers->head->lock);
    *bytes = entry ? atomic_load(&entry->bytes) : NULL;
    *size = *bytes ? entry->size : 0;
    return *bytes;
}

void answers_give(struct answers *answers, struct hash128 key, const void *bytes, size_t size)
{
    if (!answers) return;
    void *copy = answers_take(answers, size + 1);
    if (copy) memcpy(copy, bytes, size);
    take_lock(&answers->head->lock);
    struct entry *entry = enter(answers->head, key);
    if (entry && !copy) entry->worker = NOBODY;
    if (entry && copy && !atomic_load(&entry->bytes)) {
        entry->size = size;
        atomic_store(&entry->bytes, copy);
    }
    pthread_mutex_unlock(&answers->head->lock);
}

void answers_forget(struct answers *answers, struct hash128 key)
{
    if (!answers) return;
    take_lock(&answers->head->lock);
    struct entry *entry = find(answers->head, key);
    if (entry) entry->worker = NOBODY;
    pthread_mutex_unlock(&answers->head->lock);
}

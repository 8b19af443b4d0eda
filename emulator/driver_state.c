/* SPDX-License-Identifier: Apache-2.0
 * The driver's one lock, its options, and what it says. */
#include "emulator/driver.h"

#include "common/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct driver driver;
_Thread_local bool driver_is_per_thread;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t state_news[NEWS_KINDS] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
                                                PTHREAD_COND_INITIALIZER};
static atomic_uint state_waiting; /* threads, for the lock */
static atomic_bool state_is_closed;

/* KFUSE_EMULATOR: options, separated by commas.
 *   seed=N           operations wait in their streams until something synchronises, and then run in a random
 *                    order that respects streams, events and the legacy default stream; kernels that nothing
 *                    orders run side by side; blocks, warps and divergent paths of a kernel run in a random
 *                    order too. N (not 0) fixes every choice, as long as the host calls the driver at least
 *                    once a second while work is left.
 *   races=1          report unordered conflicting accesses of one launch
 *   races=error      the same, and the launch fails (CUDA_ERROR_LAUNCH_FAILED)
 *   packed=1         arrays lie side by side, as on a GPU: running over an end is seen only where nothing
 *                    follows
 *   workers=N        host threads that run the blocks of a kernel; 0, the default: one per processor
 *   steps=N          thread instructions after which a launch is called hung (CUDA_ERROR_LAUNCH_TIMEOUT), as
 * is a stream that waits for a value while nothing else can run; 0: never quiet            faults go to the
 * log alone, not to standard error trap-on-fault=1  raise SIGTRAP at a fault or a race, for a debugger */
static bool option_is(const char *option, const char *name, const char **value)
{
    size_t length = strlen(name);
    if (strncmp(option, name, length) != 0 || (option[length] != '=' && option[length] != 0)) return false;
    *value = option[length] ? option + length + 1 : "1";
    return true;
}

static void options_read_one(struct driver_options *options, const char *option)
{
    const char *value;
    if (option_is(option, "seed", &value))
        options->seed = strtoull(value, NULL, 0);
    else if (option_is(option, "races", &value))
        options->races_are_errors = strcmp(value, "error") == 0,
        options->report_races = options->races_are_errors || strcmp(value, "0") != 0;
    else if (option_is(option, "workers", &value))
        options->workers = (uint32_t)strtoul(value, NULL, 0);
    else if (option_is(option, "packed", &value)) {
        if (strcmp(value, "0") != 0) emu_memory_pack();
    } else if (option_is(option, "steps", &value))
        options->step_limit = strtoull(value, NULL, 0);
    else if (option_is(option, "quiet", &value))
        options->is_quiet = strcmp(value, "0") != 0;
    else if (option_is(option, "trap-on-fault", &value))
        options->traps_on_fault = strcmp(value, "0") != 0;
    else if (*option)
        driver_say(
            "KFUSE_EMULATOR: \"%s\" is not an option; there are seed=N, races=1, races=error, packed=1, "
            "workers=N, steps=N, quiet and trap-on-fault=1",
            option);
}

__attribute__((constructor)) static void options_read(void)
{
    log_open();
    const char *text = getenv("KFUSE_EMULATOR");
    char *copy = text ? strdup(text) : NULL, *rest = copy, *option;
    while ((option = strsep(&rest, ",")) != NULL) options_read_one(&driver.options, option);
    free(copy);
    driver.random = driver.options.seed;
}

void driver_close(void)
{
    atomic_store(&state_is_closed, true);
    driver_serve_end();
}

bool driver_is_closed(void)
{
    return atomic_load(&state_is_closed);
}

CUresult driver_enter(unsigned needs, bool *entered)
{
    if (atomic_load(&state_is_closed)) return CUDA_ERROR_DEINITIALIZED;
    if (driver_is_in_host_function && (needs & DRIVER_CURRENT)) return CUDA_ERROR_NOT_PERMITTED;
    driver_lock();
    driver.calls++;
    *entered = true;
    CUresult result = CUDA_SUCCESS;
    struct driver_context *context = driver_current();
    if ((needs & DRIVER_OPEN) && !driver.is_initialised)
        result = CUDA_ERROR_NOT_INITIALIZED;
    else if ((needs & DRIVER_CURRENT) && !context)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if ((needs & DRIVER_CURRENT) && !context->is_alive)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else if ((needs & DRIVER_SOUND) && context->error)
        result = context->error;
    else if ((needs & DRIVER_UNCAPTURED) && driver_capture_forbids())
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return result;
}

void driver_leave(const bool *entered)
{
    driver_is_per_thread = false;
    if (!*entered) return;
    pthread_mutex_unlock(&state_lock);
    driver_activity_deliver();
}

void driver_unlock(void)
{
    pthread_mutex_unlock(&state_lock);
}

void driver_lock(void)
{
    if (pthread_mutex_trylock(&state_lock) == 0) return;
    atomic_fetch_add(&state_waiting, 1);
    pthread_mutex_lock(&state_lock);
    atomic_fetch_sub(&state_waiting, 1);
}

/* A mutex that is given back and taken again at once stays with its thread. */
void driver_let_others(void)
{
    enum { NAPS = 50, NAP_MICROSECONDS = 20 };
    if (atomic_load(&state_waiting) == 0) return;
    driver_unlock();
    for (int i = 0; i < NAPS && atomic_load(&state_waiting) != 0; i++) usleep(NAP_MICROSECONDS);
    driver_lock();
}

void driver_pause(enum driver_news news)
{
    pthread_cond_wait(&state_news[news], &state_lock);
}

bool driver_pause_for(enum driver_news news, struct timespec *deadline, unsigned milliseconds)
{
    if (deadline->tv_sec == 0) {
        clock_gettime(CLOCK_REALTIME, deadline);
        uint64_t nanoseconds = (uint64_t)deadline->tv_nsec + milliseconds * 1000000ull;
        deadline->tv_sec += (time_t)(nanoseconds / 1000000000);
        deadline->tv_nsec = (long)(nanoseconds % 1000000000);
    }
    return pthread_cond_timedwait(&state_news[news], &state_lock, deadline) == 0;
}

void driver_wake(enum driver_news news)
{
    pthread_cond_broadcast(&state_news[news]);
}

void driver_say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_write(LOG_ERROR, "emulator", "%s", text);
    const char *log = getenv("KFUSE_LOG");
    if (driver.options.is_quiet || (log && strcmp(log, "-") == 0)) return;
    char line[1100];
    int length = snprintf(line, sizeof line, "kfuse emulator: %s\n", text);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}

CUresult driver_unsupported(struct driver_unsupported *entry)
{
    driver_is_per_thread = false;
    if (atomic_load(&state_is_closed)) return CUDA_ERROR_DEINITIALIZED;
    driver_lock();
    if (!entry->is_said) log_write(LOG_WARNING, "emulator", "%s is not supported", entry->name);
    entry->is_said = true;
    driver_unlock();
    return CUDA_ERROR_NOT_SUPPORTED;
}

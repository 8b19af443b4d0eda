/* SPDX-License-Identifier: Apache-2.0
 * See crew.h. */
#include "fuser/planner/crew.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct crew_tasks {
    _Atomic uint32_t next;                     /* nobody has begun it */
    _Atomic uint32_t at[ANSWERS_MOST_WORKERS]; /* workers; UINT32_MAX: at none */
};

static void work_off(struct answers *answers, uint32_t worker, struct crew_tasks *shared, uint32_t tasks,
                     void (*work)(void *context, uint32_t task), void *context)
{
    _Atomic uint32_t *at = &shared->at[worker - 1];
    static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) signal(faults[i], SIG_DFL);
    answers_join(answers, worker);
    for (uint32_t task; (task = *at = atomic_fetch_add(&shared->next, 1)) < tasks;) work(context, task);
    *at = UINT32_MAX;
}

void crew_start(struct crew *crew, struct answers *answers, uint32_t workers, uint32_t tasks,
                void (*work)(void *context, uint32_t task), void *context)
{
    pid_t self = getpid();
    crew->count = crew->started = 0;
    if (workers >= ANSWERS_MOST_WORKERS) workers = ANSWERS_MOST_WORKERS - 1;
    if (workers > tasks) workers = tasks;
    crew->tasks = workers ? answers_take(answers, sizeof *crew->tasks) : NULL;
    if (!crew->tasks) return;
    fflush(NULL);
    while (crew->count < workers) {
        pid_t process = fork();
        if (process < 0) return;
        if (process == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == self) work_off(answers, crew->count + 1, crew->tasks, tasks, work, context);
            _exit(0);
        }
        crew->processes[crew->count++] = process;
        crew->started = crew->count;
    }
}

bool crew_is_busy(struct crew *crew)
{
    for (uint32_t i = crew->count; i-- > 0;)
        if (waitpid(crew->processes[i], NULL, WNOHANG) != 0)
            crew->processes[i] = crew->processes[--crew->count];
    return crew->count > 0;
}

bool crew_is_at(const struct crew *crew, uint32_t tasks)
{
    bool is_at = crew->count && crew->tasks->next < tasks;
    for (uint32_t i = 0; i < crew->started; i++) is_at = is_at || crew->tasks->at[i] < tasks;
    return is_at;
}

void crew_end(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) kill(crew->processes[i], SIGKILL);
    for (uint32_t i = 0; i < crew->count; i++)
        while (waitpid(crew->processes[i], NULL, 0) < 0 && errno == EINTR) continue;
    crew->count = 0;
}

static uint32_t cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (uint32_t)count : 1;
}

uint32_t crew_workers(uint32_t jobs)
{
    return (jobs ? jobs : cores()) - 1;
}

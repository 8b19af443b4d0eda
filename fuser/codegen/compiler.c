/* SPDX-License-Identifier: Apache-2.0
 * A child writes what NVRTC says into a pipe: a head, then its texts and code one behind the other. The same
 * bytes are what the answers keep. */
#include "fuser/codegen/compiler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 4 };
struct message { /* the sizes of error, log, ptx, cubin; texts with their NUL; 0: NULL */
    uint64_t sizes[PARTS];
    uint64_t is_missing;
};

static bool write_all(int to, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(to, (const char *)bytes + done, size - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        done += (size_t)written;
    }
    return true;
}

static uint64_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static bool send_output(int to, const struct nvrtc_output *output)
{
    const void *parts[PARTS] = {output->error, output->log, output->ptx, output->cubin};
    struct message message = {.sizes = {text_size(output->error), text_size(output->log),
                                        text_size(output->ptx), output->cubin ? output->cubin_size : 0},
                              .is_missing = output->is_missing};
    bool sent = write_all(to, &message, sizeof message);
    for (int i = 0; sent && i < PARTS; i++) sent = write_all(to, parts[i], message.sizes[i]);
    return sent;
}

/* False when these are not the bytes of a whole message. */
static bool take_output(struct arena *arena, const void *bytes, size_t size, struct nvrtc_output *output)
{
    struct message message;
    const char *parts[PARTS] = {0};
    size_t at = sizeof message;
    if (size < sizeof message) return false;
    memcpy(&message, bytes, sizeof message);
    for (int i = 0; i < PARTS; i++) {
        if (message.sizes[i] > size - at) return false;
        char *part = message.sizes[i] ? arena_alloc(arena, message.sizes[i]) : NULL;
        if (part) memcpy(part, (const char *)bytes + at, message.sizes[i]);
        parts[i] = part;
        at += message.sizes[i];
    }
    *output = (struct nvrtc_output){.error = parts[0],
                                    .log = parts[1],
                                    .ptx = parts[2],
                                    .cubin = parts[3],
                                    .cubin_size = message.sizes[3],
                                    .is_missing = message.is_missing};
    return true;
}

struct received {
    char *bytes;
    size_t size, capacity;
};

const char compiler_too_long[] = "it takes longer to compile than planning has time for";

/* Until the other end is closed. False when half of the time that was left is over. */
static bool receive(int from, struct deadline *deadline, struct received *received)
{
    enum { CHUNK = 1 << 20 };
    double until = deadline ? deadline_left(deadline) / 2 : 0;
    for (;;) {
        double left = deadline ? deadline_left(deadline) - until : 1;
        if (left <= 0) {
            deadline->was_cut[deadline->phase] = true;
            return false;
        }
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (poll(&ready, 1, left < 1 ? (int)(1e3 * left) + 1 : 1000) <= 0) continue;
        if (received->capacity - received->size < CHUNK) {
            char *grown = realloc(received->bytes, received->capacity + 4 * CHUNK);
            if (!grown) return true;
            received->bytes = grown;
            received->capacity += 4 * CHUNK;
        }
        ssize_t count = read(from, received->bytes + received->size, CHUNK);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return true;
        received->size += (size_t)count;
    }
}

struct job {
    const char *name, *source, *architecture;
    uint32_t max_registers;
};

static void compile_and_send(const struct job *job, int to)
{
    struct arena *arena = arena_create();
    struct nvrtc_output output = {.error = "out of memory"};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGSEGV, SIG_DFL); /* not the handler of who asked */
    if (arena) nvrtc_compile(arena, job->name, job->source, job->architecture, job->max_registers, &output);
    _exit(send_output(to, &output) ? 0 : 1);
}

/* Somebody ended it, or the system for want of memory: that says nothing of what it compiled. */
static bool was_killed(int status)
{
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
}

static const char *why_it_ended(struct arena *arena, int status)
{
    if (WIFSIGNALED(status)) return arena_printf(arena, "NVRTC died (%s)", strsignal(WTERMSIG(status)));
    return "NVRTC ended without an answer";
}

/* False when time was over before. */
static bool run_apart(const struct compiler *compiler, const struct job *job, struct received *received,
                      int *status)
{
    int ends[2];
    received->size = 0;
    *status = 0;
    pid_t self = getpid(), child = pipe(ends) ? -1 : fork();
    if (child == 0) {
        close(ends[0]);
        if (getppid() == self) compile_and_send(job, ends[1]);
        _exit(1);
    }
    if (child < 0) return true;
    close(ends[1]);
    bool in_time = receive(ends[0], compiler->deadline, received);
    close(ends[0]);
    if (!in_time) kill(child, SIGKILL);
    while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
    return in_time;
}

/* Fills the output; false when that is not what NVRTC says. */
static bool compile_apart(const struct compiler *compiler, struct arena *arena, const struct job *job,
                          struct received *received, struct nvrtc_output *output)
{
    int status;
    bool in_time = run_apart(compiler, job, received, &status);
    if (in_time && was_killed(status)) in_time = run_apart(compiler, job, received, &status);
    if (!in_time) return false;
    if (take_output(arena, received->bytes, received->size, output)) return true;
    output->error = why_it_ended(arena, status);
    return false;
}

static struct hash128 key_of(const struct job *job)
{
    struct {
        struct hash128 name, source, architecture;
        uint64_t max_registers, kind;
    } words = {hash_bytes(job->name, strlen(job->name)), hash_bytes(job->source, strlen(job->source)),
               hash_bytes(job->architecture, strlen(job->architecture)), job->max_registers, 'c'};
    return hash_bytes(&words, sizeof words);
}

static bool is_over(const struct compiler *compiler)
{
    return compiler->deadline && deadline_is_over(compiler->deadline);
}

void compiler_compile(const struct compiler *compiler, struct arena *arena, const char *name,
                      const char *source, const char *architecture, uint32_t max_registers,
                      struct nvrtc_output *output)
{
    const struct job job = {name, source, architecture, max_registers};
    if (!compiler) {
        nvrtc_compile(arena, name, source, architecture, max_registers, output);
        return;
    }
    struct received received = {0};
    const void *known;
    size_t size;
    struct hash128 key = key_of(&job);
    double left = compiler->deadline ? deadline_left(compiler->deadline) : 1e9;
    *output = (struct nvrtc_output){.error = compiler_too_long};
    if (is_over(compiler)) return;
    enum answers_state state = answers_ask(compiler->answers, key, left, &known, &size);
    if (state == ANSWERS_FOUND && take_output(arena, known, size, output)) return;
    bool is_whole = !is_over(compiler) && compile_apart(compiler, arena, &job, &received, output);
    if (state == ANSWERS_MINE && is_whole)
        answers_give(compiler->answers, key, received.bytes, received.size);
    if (state == ANSWERS_MINE && !is_whole) answers_forget(compiler->answers, key);
    free(received.bytes);
}

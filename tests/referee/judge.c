/* SPDX-License-Identifier: Apache-2.0
 * The passes of a batch. Each runs every program that has not failed yet in one process; one that dies on the
 * way fails, and the pass goes on behind it. */
#include "tests/referee/judge.h"

#include "tests/common/patched_file.h"
#include "tests/common/patched_trace.h"
#include "tests/referee/random.h"
#include "tests/referee/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASS_SECONDS = 300, PLAN_SECONDS_MOST = 240, SETTINGS_MOST = 8 };

struct setting {
    const char *name, *value;
};
struct pass {
    const char *kind; /* of its failures */
    bool is_replay;   /* the part of a program that is not recorded, too */
    bool has_kfuse;
    struct setting settings[SETTINGS_MOST];
    uint32_t setting_count;
};

static void pass_set(struct pass *pass, const char *name, const char *value)
{
    if (value && pass->setting_count < SETTINGS_MOST)
        pass->settings[pass->setting_count++] = (struct setting){name, value};
}

/* --- batches --- */

struct batch *batch_read(const char *text, const char **error)
{
    struct arena *arena = arena_create();
    struct batch *batch = arena ? arena_alloc(arena, sizeof *batch) : NULL;
    uint32_t capacity = 0;
    *error = NULL;
    if (!batch) return NULL;
    batch->arena = arena;
    for (const char *cursor = text;;) {
        const struct script *script = script_read(arena, &cursor, error);
        if (!script) break;
        if (batch->count == capacity) {
            capacity = 2 * capacity + 16;
            batch->programs =
                arena_grow(arena, batch->programs, batch->count, capacity, sizeof *batch->programs);
        }
        batch->programs[batch->count++] =
            (struct judge_program){.text = arena_strndup(arena, script->text, script->text_size),
                                   .number = script->number,
                                   .script = script};
    }
    return batch; /* with what came before an error */
}

void batch_free(struct batch *batch)
{
    for (uint32_t i = 0; batch && i < batch->count; i++) witness_free(&batch->programs[i].log);
    if (batch) arena_free(batch->arena);
}

void batch_fail(struct batch *batch, struct judge_program *program, const char *format, ...)
{
    va_list arguments;
    if (program->is_failed) return;
    va_start(arguments, format);
    char *why = arena_vprintf(batch->arena, format, arguments);
    va_end(arguments);
    for (char *c = why; c && *c; c++)
        if (*c == '\n') *c = ' ';
    program->is_failed = true;
    program->why = why;
}

bool judge_has_failed(const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->programs[i].is_failed) return true;
    return false;
}

bool judge_same_kind(const char *why, const char *other)
{
    size_t length = strcspn(why, " :");
    return strcspn(other, " :") == length && memcmp(why, other, length) == 0;
}

void judge_count_refusal(struct batch *batch, const char *reason, uint64_t pairs)
{
    for (uint32_t i = 0; i < batch->refusal_count; i++)
        if (strcmp(batch->refusals[i].reason, reason) == 0) {
            batch->refusals[i].pairs += pairs;
            return;
        }
    if (batch->refusal_count == sizeof batch->refusals / sizeof *batch->refusals) return;
    batch->refusals[batch->refusal_count++] =
        (struct judge_refusal){arena_strdup(batch->arena, reason), pairs};
}

/* --- processes --- */

static void in_child(const struct judge *judge, const struct pass *pass, const char *out, const char *err)
{
    static const char *const unset[] = {
        "KFUSE_RECORD",  "KFUSE_PLAN",         "KFUSE_STATS",     "KFUSE_LOG",    "LD_PRELOAD",
        "KFUSE_DISABLE", "KFUSE_DENY",         "KFUSE_EMULATOR",  "KFUSE_VERIFY", "KFUSE_SPOIL_STALE",
        "KFUSE_MEASURE", "KFUSE_THROUGH_SYNC", "KFUSE_OWN_STREAM"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
    if (!judge->is_gpu) setenv("LD_LIBRARY_PATH", judge->emulator, 1);
    if (pass->has_kfuse) setenv("LD_PRELOAD", judge->library, 1);
    setenv("KFUSE_VERIFY_WAIT_MS", "300", 1); /* shorter than the program keeps a stream waiting (player.c) */
    for (uint32_t i = 0; i < pass->setting_count; i++)
        setenv(pass->settings[i].name, pass->settings[i].value, 1);
    int out_file = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int err_file = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out_file < 0 || err_file < 0 || dup2(out_file, 1) < 0 || dup2(err_file, 2) < 0) _exit(126);
    alarm(PASS_SECONDS);
}

/* The wait status; *out and *err what was printed, in the arena. */
static int run_process(const struct judge *judge, struct arena *arena, const struct pass *pass,
                       char *const arguments[], const char **out, const char **err)
{
    const char *out_path = arena_printf(arena, "%s/out", judge->folder);
    const char *err_path = arena_printf(arena, "%s/err", judge->folder);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        in_child(judge, pass, out_path, err_path);
        execv(arguments[0], arguments);
        fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    char *out_text = script_read_file(out_path), *err_text = script_read_file(err_path);
    *out = arena_strdup(arena, out_text ? out_text : "");
    *err = arena_strdup(arena, err_text ? err_text : "");
    free(out_text);
    free(err_text);
    return status;
}

static const char *status_text(struct arena *arena, int status, const char *err)
{
    const char *last = err + strlen(err);
    while (last > err && last[-1] == '\n') last--;
    const char *end = last;
    while (last > err && last[-1] != '\n') last--;
    if (end - last > 400) end = last + 400;
    if (WIFSIGNALED(status))
        return arena_printf(arena, "signal %d, %.*s", WTERMSIG(status), (int)(end - last), last);
    return arena_printf(arena, "exit status %d, %.*s", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                        (int)(end - last), last);
}

/* --- programs through the player --- */

static bool write_programs(const char *path, const struct batch *batch, uint32_t first)
{
    FILE *file = fopen(path, "we");
    uint32_t written = 0;
    if (!file) return false;
    for (uint32_t i = first; i < batch->count; i++) {
        const struct judge_program *program = &batch->programs[i];
        const char *at = program->text, *source = strstr(at, "\nsource\n");
        if (program->is_failed) continue;
        written++;
        if (source) { /* what was compiled takes its place */
            fwrite(at, 1, (size_t)(source - at), file);
            if (program->image)
                fprintf(file, "\nimage %s\n", program->image);
            else
                fprintf(file, "\nptx\n%s\nend\n", program->ptx);
            at = strstr(source, "\nend\n") + 5;
        }
        fputs(at, file);
    }
    return fclose(file) == 0 && written;
}

static const char *line_after(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* What one program printed, or NULL where it did not end. */
static const char *block_of(struct arena *arena, const char *out, uint32_t number)
{
    char head[32], tail[32];
    snprintf(head, sizeof head, "program %u\n", number);
    snprintf(tail, sizeof tail, "done %u\n", number);
    const char *start = strstr(out, head);
    while (start && start > out && start[-1] != '\n') start = strstr(start + 1, head);
    if (!start) return NULL;
    start = line_after(start);
    const char *end = start;
    while (*end && strncmp(end, "program ", 8) && strncmp(end, tail, strlen(tail))) end = line_after(end);
    if (strncmp(end, tail, strlen(tail)) != 0) return NULL;
    return arena_strndup(arena, start, (size_t)(end - start));
}

static const char *first_difference(struct arena *arena, const char *is, const char *should)
{
    while (*is && *should) {
        size_t is_size = (size_t)(line_after(is) - is), should_size = (size_t)(line_after(should) - should);
        if (is_size != should_size || memcmp(is, should, is_size) != 0) break;
        is += is_size;
        should += should_size;
    }
    return arena_printf(arena, "\"%.*s\", not \"%.*s\"", (int)strcspn(is, "\n"), is,
                        (int)strcspn(should, "\n"), should);
}

/* What is left of a program's text where NaNs are equal. */
static const char *without_bits(struct arena *arena, const char *text)
{
    char *rest = arena_strdup(arena, text), *to = rest;
    for (const char *from = rest; *from;) {
        if (strncmp(from, " bits ", 6) == 0) from += strcspn(from, "\n");
        *to++ = *from++;
    }
    *to = 0;
    return rest;
}

/* texts[i] is what program i must print; where it is NULL it becomes what it does print. */
static void run_pass(const struct judge *judge, struct batch *batch, const struct pass *pass,
                     const char **texts)
{
    char *path = arena_printf(batch->arena, "%s/programs", judge->folder);
    char *player = arena_strdup(batch->arena, judge->player), replay[] = "--replay", any_nan[] = "--any-nan";
    char *arguments[5] = {player};
    uint32_t count = 1;
    if (pass->is_replay) arguments[count++] = replay;
    if (judge->takes_any_nan) arguments[count++] = any_nan;
    arguments[count] = path;
    for (uint32_t first = 0; first < batch->count;) {
        const char *out, *err;
        if (!write_programs(path, batch, first)) return;
        int status = run_process(judge, batch->arena, pass, arguments, &out, &err);
        for (; first < batch->count; first++) {
            struct judge_program *program = &batch->programs[first];
            if (program->is_failed) continue;
            const char *block = block_of(batch->arena, out, program->number);
            if (!block) {
                const char *error = strstr(out, "\nerror ");
                batch_fail(batch, program, "%s: %.*s %s", pass->kind,
                           error ? (int)strcspn(error + 1, "\n") : 0, error ? error + 1 : "",
                           status_text(batch->arena, status, err));
                first++;
                break;
            }
            if (!texts[first]) texts[first] = block;
            program->has_other_nans |= strcmp(block, texts[first]) != 0;
            const char *is = without_bits(batch->arena, block);
            const char *should = without_bits(batch->arena, texts[first]);
            if (strcmp(is, should) != 0)
                batch_fail(batch, program, "%s: %s", pass->kind, first_difference(batch->arena, is, should));
        }
    }
}

/* --- passes --- */

static const char *schedule(const struct judge *judge, const struct batch *batch, uint32_t number,
                            bool is_packed)
{
    struct arena *arena = batch->arena;
    struct random random = {judge->seed + number * 7919u + batch->programs[0].number * 104729u};
    if (judge->is_gpu) return NULL;
    return number ? arena_printf(arena, "quiet=0,races=error,packed=%d,seed=%u", is_packed,
                                 1 + random_below(&random, 1000000))
                  : arena_printf(arena, "quiet=0,races=error,packed=%d", is_packed);
}

/* Without kfuse: in order, and at random where that is possible; a program must say the same. */
static void run_alone(const struct judge *judge, struct batch *batch, const char **whole,
                      const char **recorded)
{
    struct pass plain = {.kind = "plain", .is_replay = true}, part = {.kind = "plain"};
    struct pass shuffled = {.kind = "order", .is_replay = true};
    pass_set(&plain, "KFUSE_EMULATOR", schedule(judge, batch, 0, true));
    pass_set(&part, "KFUSE_EMULATOR", schedule(judge, batch, 0, true));
    pass_set(&shuffled, "KFUSE_EMULATOR", schedule(judge, batch, 1, false));
    run_pass(judge, batch, &plain, whole);
    run_pass(judge, batch, &shuffled, whole);
    run_pass(judge, batch, &part, recorded);
}

/* The module of kernels named bare is one without PTX, as that of a library may be. */
static bool strip_bare(struct trace_record *record)
{
    static const char mark[] = ".entry bare(";
    return record->kind == TRACE_MODULE && memmem(record, record->size, mark, sizeof mark - 1) &&
           patched_trace_take_ptx(record);
}

static void strip_libraries(struct batch *batch, const char *trace)
{
    struct patched_file file;
    bool has_any = false;
    for (uint32_t i = 0; i < batch->count; i++)
        has_any |= !batch->programs[i].is_failed && strstr(batch->programs[i].text, "launch bare ");
    if (!has_any || !patched_file_read(&file, trace)) return;
    bool is_stripped = patched_trace_change_all(file.bytes, file.size, strip_bare);
    if (patched_file_write(&file) && is_stripped) return;
    for (uint32_t i = 0; i < batch->count; i++)
        batch_fail(batch, &batch->programs[i], "record: the trace lacks the module without PTX");
}

/* One program in a thousand takes minutes. Where time is out the rest of the batch stays without groups, and
 * is judged in vain. */
static char *plan_seconds(struct batch *batch)
{
    uint32_t seconds = 30 + 4 * batch->count;
    return arena_printf(batch->arena, "%u", seconds < PLAN_SECONDS_MOST ? seconds : PLAN_SECONDS_MOST);
}

/* Launches are small, so that one block could do what the other kinds are to be seen for; and what have nothing to do with each other
 * would seldom be beside each other. An option and its kinds. */
static char *const *kinds(const struct batch *batch)
{
    enum { NUMBERS = 40, CHOICES = 4 };
    static char *const choices[CHOICES][2] = {
        {"--without", "one-block"}, {"--without", "one-block"}, {"--without", ""}, {"--only", "inter-block"}};
    return choices[batch->programs[0].number / NUMBERS % CHOICES];
}

/* Layers that blocks of halo fusions march: small launches would have none that do. */
static char *march(const struct batch *batch)
{
    enum { NUMBERS = 10 };
    static char layers[][6] = {"never", "1", "2", "3"};
    return layers[batch->programs[0].number / NUMBERS % 4];
}

/* Whether the plan is made of two runs: that of what is recorded, and that of all that is replayed. */
static bool has_two_runs(const struct batch *batch)
{
    enum { NUMBERS = 30 };
    return batch->programs[0].number / NUMBERS % 3 == 1;
}

/* traces: two; the second is NULL where there is none. */
static bool make_plan(const struct judge *judge, struct batch *batch, char *const *traces, const char *plan)
{
    const char *out, *err;
    const struct pass pass = {.kind = "plan"};
    char *arguments[] = {arena_strdup(batch->arena, judge->tools),
                         "plan",
                         "--quiet",
                         "--keep-losing",
                         "--jobs",
                         arena_printf(batch->arena, "%u", judge->jobs),
                         "--seconds",
                         plan_seconds(batch),
                         kinds(batch)[0],
                         kinds(batch)[1],
                         "--march",
                         march(batch),
                         "-o",
                         (char *)plan,
                         traces[0],
                         traces[1],
                         NULL};
    int status = run_process(judge, batch->arena, &pass, arguments, &out, &err);
    if (status == 0) return true;
    for (uint32_t i = 0; i < batch->count; i++)
        batch_fail(batch, &batch->programs[i], "plan: %s", status_text(batch->arena, status, err));
    return false;
}

/* Whether waits of the host are passed through where they may be. */
static const char *through(const struct batch *batch)
{
    return batch->programs[0].number / 20 % 2 == 0 ? "1" : NULL;
}

static void run_planned(const struct judge *judge, struct batch *batch, const char *plan, const char **whole)
{
    const char *stats = arena_printf(batch->arena, "%s/stats", judge->folder);
    /* Uses in turns with their originals, which go ahead or are held. */
    static const char *const measuring[] = {"always", "0", "held", "0"};
    for (uint32_t number = 0; number < judge->schedules; number++) {
        struct pass replay = {.kind = "replay", .is_replay = true, .has_kfuse = true};
        /* The second one lets go of what is held at once, or verifies. */
        bool is_other = number % 2 == 1, has_hurried = batch->programs[0].number / 8 % 2 == 0;
        bool is_hurried = is_other && has_hurried;
        pass_set(&replay, "KFUSE_PLAN", plan);
        pass_set(&replay, "KFUSE_STATS", stats);
        pass_set(&replay, "KFUSE_HOLD_US", is_hurried ? "1" : "30000000");
        /* What is not proven exact for this device is used once it has been verified. */
        pass_set(&replay, "KFUSE_VERIFY", is_other != judge->is_gpu && !is_hurried ? "1" : NULL);
        /* Readers of stale memory whom nobody has seen find what is surely wrong; in the replay that holds
         * long. */
        pass_set(&replay, "KFUSE_SPOIL_STALE", is_other != has_hurried ? "1" : NULL);
        pass_set(&replay, "KFUSE_MEASURE", measuring[batch->programs[0].number / 16 % 4]);
        pass_set(&replay, "KFUSE_THROUGH_SYNC", through(batch));
        pass_set(&replay, "KFUSE_OWN_STREAM", "1");
        pass_set(&replay, "KFUSE_EMULATOR", schedule(judge, batch, number + 2, !is_hurried));
        unlink(stats);
        run_pass(judge, batch, &replay, whole);
        refusals_read(batch, number ? NULL : plan, stats);
    }
}

static void record(const struct judge *judge, struct batch *batch, const char *trace, bool is_whole,
                   const char **texts)
{
    struct pass pass = {.kind = "record", .is_replay = is_whole, .has_kfuse = true};
    pass_set(&pass, "KFUSE_RECORD", trace);
    pass_set(&pass, "KFUSE_RECORD_LAUNCHES", "0");
    pass_set(&pass, "KFUSE_THROUGH_SYNC", through(batch));
    pass_set(&pass, "KFUSE_OWN_STREAM", "1");
    pass_set(&pass, "KFUSE_EMULATOR", schedule(judge, batch, 0, true));
    run_pass(judge, batch, &pass, texts);
    strip_libraries(batch, trace);
}

void judge_batch(const struct judge *judge, struct batch *batch)
{
    struct arena *arena = batch->arena;
    char *trace = arena_printf(arena, "%s/app.kftrace", judge->folder);
    batch->has_two_runs = has_two_runs(batch);
    char *other = batch->has_two_runs ? arena_printf(arena, "%s/other.kftrace", judge->folder) : NULL;
    const char *plan = arena_printf(arena, "%s/app.kfplan", judge->folder);
    const char **whole = arena_calloc(arena, batch->count + 1, sizeof *whole);
    const char **recorded = arena_calloc(arena, batch->count + 1, sizeof *recorded);
    if (!whole || !recorded) abort();
    compile_batch(judge, batch);
    for (uint32_t i = 0; i < batch->count && !judge->skips_soundness; i++) {
        if (batch->programs[i].is_failed) continue;
        if (judge->dies_at == batch->programs[i].number) abort();
        char *text = observe_program(batch, &batch->programs[i]);
        if (!judge->takes_any_nan) whole[i] = arena_strdup(arena, text);
        free(text);
    }
    run_alone(judge, batch, whole, recorded);
    record(judge, batch, trace, false, recorded);
    if (other) record(judge, batch, other, true, whole);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->programs[i].is_failed) continue;
        if (make_plan(judge, batch, (char *[]){trace, other}, plan)) run_planned(judge, batch, plan, whole);
        break;
    }
}

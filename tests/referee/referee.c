/* SPDX-License-Identifier: Apache-2.0
 * The random-program referee: see print_help. Workers take the batches in turn and add what they found to one
 * file, which is also how a run goes on where it was interrupted. */
#include "tests/referee/generate.h"
#include "tests/referee/judge.h"
#include "tests/referee/script.h"
#include "tests/referee/tally.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MOST = 256 };

enum { LEAST_FUSED = 40, FUSED_FROM = 1000 };
#define NO_BATCH UINT32_MAX

static struct referee {
    struct judge judge;
    struct tally_run run;
    uint32_t workers;
    const char *state, *failures, *table;
    bool stops_at_failure, shrinks;
    int64_t least_fused; /* percent; -1: LEAST_FUSED of FUSED_FROM programs or more */
    char folder[64];
    uint32_t *current; /* batch of each worker; shared with them */
} referee = {.run = {.seed = 1, .count = 100, .batch = 40, .commit = "unknown"},
             .judge = {.dies_at = -1},
             .least_fused = -1,
             .workers = 2,
             .shrinks = true};

static void print_help(void)
{
    printf("usage: referee [OPTION]... [CASE]...\n"
           "Draw random programs, or read them from files, and judge what kfuse does with them.\n\n"
           "      --count N          programs [100]\n"
           "      --seed S           the same number and seed give the same programs [1]\n"
           "      --first N          number of the first program [0]\n"
           "      --batch N          programs of one process [40]\n"
           "      --workers N        batches at a time [2]\n"
           "      --schedules N      replays of each program, of which every other one holds nothing for "
           "long [2]\n"
           "      --first-failure    stop there; without shrinking; one worker\n"
           "      --no-shrink        keep failing programs as they are\n"
           "      --no-soundness     do not hold accesses against the analysis\n"
           "      --state FILE       add to what FILE holds of an interrupted run, and go on behind it; "
           "where it is of\n"
           "                         another commit, build, seed or way to judge, it becomes FILE.old\n"
           "      --failures DIR     where failing programs are written [.]\n"
           "      --table FILE       write the counts there, as a table\n"
           "      --commit TEXT      what the table says of the version\n"
           "      --gpu              on the machine's own driver; with --any-nan\n"
           "      --any-nan          two NaNs of double precision are equal; the table tells where that "
           "mattered\n"
           "      --least-fused P    fail where fewer programs, in percent, have a fusion [40, from 1000 "
           "programs on]\n"
           "      --die-at N         end the worker at program N, to test what then becomes of it\n"
           "      --print N          print program N and end\n"
           "The last line is \"N passed, N failed\"; the exit status 0, 1 where something failed.\n");
}

/* --- one batch --- */

static char *batch_text(uint32_t first, uint32_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (uint32_t i = first; out && i < first + count; i++) {
        struct arena *arena = arena_create();
        const char *script = arena ? generate_script(arena, referee.run.seed, i) : NULL;
        if (!script) abort();
        fputs(script, out);
        arena_free(arena);
    }
    if (!out || fclose(out)) abort();
    return text;
}

static void write_failure(const char *path, const char *why, const char *text)
{
    FILE *file = fopen(path, "we");
    if (!file) return;
    fprintf(file, "# %s\n%s", why, text);
    fclose(file);
}

static void keep_failure(const struct judge_program *program, const char *batch)
{
    struct arena *arena = arena_create();
    char path[PATH_MAX];
    const char *small = program->text, *found = NULL;
    if (referee.shrinks) {
        found = shrink(&referee.judge, arena, program->text, program->why);
        if (!found) found = shrink(&referee.judge, arena, batch, program->why);
    }
    if (found) small = found;
    snprintf(path, sizeof path, "%s/seed%llu-%u.program", referee.failures,
             (unsigned long long)referee.run.seed, program->number);
    write_failure(path, program->why, small);
    arena_free(arena);
}

static void tell(const struct batch *batch, uint32_t first, const char *text)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct judge_program *program = &batch->programs[i];
        if (!program->is_failed) continue;
        fprintf(stderr, "program %u failed: %s\n", program->number, program->why);
        if (!referee.stops_at_failure) keep_failure(program, text);
    }
    tally_add(referee.state, batch, first);
}

static bool judge_text(const char *text, uint32_t first)
{
    const char *error;
    struct batch *batch = batch_read(text, &error);
    if (!batch || error) {
        fprintf(stderr, "referee: %s\n", error ? error : "out of memory");
        exit(2);
    }
    judge_batch(&referee.judge, batch);
    bool failed = judge_has_failed(batch);
    tell(batch, first, text);
    batch_free(batch);
    return !failed;
}

/* --- workers --- */

static void work(uint32_t worker, const bool *is_done)
{
    for (uint32_t b = worker; b * referee.run.batch < referee.run.count; b += referee.workers) {
        uint32_t first = b * referee.run.batch, count = referee.run.count - first;
        if (is_done[b]) continue;
        if (count > referee.run.batch) count = referee.run.batch;
        referee.current[worker] = b;
        char *text = batch_text(referee.run.first + first, count);
        bool passed = judge_text(text, referee.run.first + first);
        free(text);
        if (!passed && referee.stops_at_failure) exit(1);
    }
}

/* In a process of its own, so that one that dies is a failure of its own. False when it did. */
static bool judge_alone(const struct judge_program *program)
{
    const char *error;
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(judge_text(program->text, program->number) ? 0 : 1);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= 1) return true;
    struct batch *batch = batch_read(program->text, &error);
    if (!batch || error) exit(2);
    batch_fail(batch, &batch->programs[0], "crash: ended a worker with status %x", status);
    tell(batch, program->number, program->text);
    batch_free(batch);
    return false;
}

/* A worker that died (the analysis runs in it): the programs of its batch are judged again, one by one. */
static void judge_again(uint32_t b, int status)
{
    uint32_t offset = b * referee.run.batch, first = referee.run.first + offset;
    uint32_t count = referee.run.count - offset;
    const char *error, *state = referee.state;
    char alone[PATH_MAX], kept[PATH_MAX], why[128];
    bool is_found = false;
    if (count > referee.run.batch) count = referee.run.batch;
    char *text = batch_text(first, count);
    struct batch *batch = batch_read(text, &error);
    if (!batch || error) exit(2);
    snprintf(why, sizeof why, "crash: the batch from program %u on ended a worker with status %x", first,
             status);
    fprintf(stderr, "%s\n", why);
    snprintf(kept, sizeof kept, "%s/seed%llu-%u-and-on.program", referee.failures,
             (unsigned long long)referee.run.seed, first);
    write_failure(kept, why, text);
    snprintf(alone, sizeof alone, "%.4000s/alone", referee.judge.folder);
    unlink(alone);
    referee.state = alone;
    for (uint32_t i = 0; i < batch->count; i++) is_found |= !judge_alone(&batch->programs[i]);
    referee.state = state;
    if (is_found) unlink(kept);
    tally_merge(state, alone, first, is_found ? NULL : why);
    batch_free(batch);
    free(text);
}

/* again: a batch whose worker died with this status; NO_BATCH */
static pid_t start_worker(uint32_t worker, const bool *is_done, uint32_t again, int status)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) exit(2);
    if (child > 0) return child;
    snprintf(referee.judge.folder, sizeof referee.judge.folder, "%s/%u", referee.folder, worker);
    if (mkdir(referee.judge.folder, 0755) && errno != EEXIST) exit(2);
    if (again != NO_BATCH) judge_again(again, status);
    if (again == NO_BATCH || !referee.stops_at_failure) work(worker, is_done);
    exit(again != NO_BATCH);
}

static void run_workers(bool *is_done)
{
    pid_t workers[WORKERS_MOST] = {0}, child;
    int status;
    referee.current = mmap(NULL, WORKERS_MOST * sizeof *referee.current, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (referee.current == MAP_FAILED) exit(2);
    for (uint32_t w = 0; w < referee.workers; w++) workers[w] = start_worker(w, is_done, NO_BATCH, 0);
    while ((child = wait(&status)) > 0 || errno == EINTR) {
        if (child <= 0 || (WIFEXITED(status) && WEXITSTATUS(status) <= 1)) continue;
        for (uint32_t w = 0; w < referee.workers; w++) {
            uint32_t dead = referee.current[w];
            if (workers[w] != child) continue;
            if (is_done[dead]) exit(2); /* judging it again is what ended this one */
            for (uint32_t b = w; b <= dead; b += referee.workers) is_done[b] = true;
            workers[w] = start_worker(w, is_done, dead, status);
        }
    }
}

static void run_cases(char *const *paths)
{
    snprintf(referee.judge.folder, sizeof referee.judge.folder, "%s/0", referee.folder);
    if (mkdir(referee.judge.folder, 0755) && errno != EEXIST) exit(2);
    referee.stops_at_failure = true; /* they are small already, and kept */
    for (; *paths; paths++) {
        char *text = script_read_file(*paths);
        if (!text) {
            fprintf(stderr, "referee: %s: %s\n", *paths, strerror(errno));
            exit(2);
        }
        if (!judge_text(text, 0)) fprintf(stderr, "%s: failed\n", *paths);
        free(text);
    }
}

/* --- start --- */

static void find_parts(void)
{
    char self[PATH_MAX] = "";
    struct judge *judge = &referee.judge;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *end = length > 0 ? strstr(self, "/tests/referee/") : NULL;
    if (!end || (size_t)length > sizeof judge->library - 64) {
        fprintf(stderr, "referee: not in a build folder\n");
        exit(2);
    }
    *end = 0;
    snprintf(judge->tools, sizeof judge->tools, "%.4000s/tools/kfuse", self);
    snprintf(judge->player, sizeof judge->player, "%.4000s/tests/referee/player", self);
    snprintf(judge->library, sizeof judge->library, "%.4000s/interpose/.libs/libkfuse.so", self);
    snprintf(judge->emulator, sizeof judge->emulator, "%.4000s/emulator/.libs", self);
}

static uint32_t number_option(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || number > UINT_MAX) {
        fprintf(stderr, "referee: %s: not a number\n", text);
        exit(2);
    }
    return (uint32_t)number;
}

static void read_options(int argc, char **argv)
{
    enum {
        COUNT = 256,
        SEED,
        FIRST,
        BATCH,
        WORKERS,
        SCHEDULES,
        STATE,
        FAILURES,
        TABLE,
        COMMIT,
        LEAST_FUSED_OF,
        DIE_AT,
        PRINT,
        HELP,
        FLAG
    };
    static int first_failure, no_shrink, no_soundness, gpu, any_nan;
    static const struct option options[] = {{"count", 1, NULL, COUNT},
                                            {"seed", 1, NULL, SEED},
                                            {"first", 1, NULL, FIRST},
                                            {"batch", 1, NULL, BATCH},
                                            {"workers", 1, NULL, WORKERS},
                                            {"schedules", 1, NULL, SCHEDULES},
                                            {"state", 1, NULL, STATE},
                                            {"failures", 1, NULL, FAILURES},
                                            {"table", 1, NULL, TABLE},
                                            {"commit", 1, NULL, COMMIT},
                                            {"least-fused", 1, NULL, LEAST_FUSED_OF},
                                            {"die-at", 1, NULL, DIE_AT},
                                            {"print", 1, NULL, PRINT},
                                            {"help", 0, NULL, HELP},
                                            {"first-failure", 0, &first_failure, 1},
                                            {"no-shrink", 0, &no_shrink, 1},
                                            {"no-soundness", 0, &no_soundness, 1},
                                            {"gpu", 0, &gpu, 1},
                                            {"any-nan", 0, &any_nan, 1},
                                            {NULL, 0, NULL, 0}};
    int option;
    int64_t print = -1;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) switch (option) {
        case COUNT:
            referee.run.count = number_option(optarg);
            break;
        case SEED:
            referee.run.seed = number_option(optarg);
            break;
        case FIRST:
            referee.run.first = number_option(optarg);
            break;
        case BATCH:
            referee.run.batch = number_option(optarg);
            break;
        case WORKERS:
            referee.workers = number_option(optarg);
            break;
        case SCHEDULES:
            referee.judge.schedules = number_option(optarg);
            break;
        case STATE:
            referee.state = optarg;
            break;
        case FAILURES:
            referee.failures = optarg;
            break;
        case TABLE:
            referee.table = optarg;
            break;
        case COMMIT:
            referee.run.commit = optarg;
            break;
        case LEAST_FUSED_OF:
            referee.least_fused = number_option(optarg);
            break;
        case DIE_AT:
            referee.judge.dies_at = number_option(optarg);
            break;
        case PRINT:
            print = number_option(optarg);
            break;
        case HELP:
            print_help();
            exit(0);
        case 0:
            break;
        default:
            exit(2);
        }
    referee.judge.seed = referee.run.seed;
    referee.judge.is_gpu = gpu;
    referee.judge.takes_any_nan = gpu || any_nan;
    referee.judge.skips_soundness = no_soundness;
    referee.stops_at_failure = first_failure;
    referee.shrinks = !no_shrink;
    if (first_failure) referee.workers = 1;
    if (!referee.run.batch || !referee.workers || referee.workers > WORKERS_MOST) {
        fprintf(stderr, "referee: --batch is at least 1, --workers 1 to %d\n", WORKERS_MOST);
        exit(2);
    }
    uint32_t cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    referee.judge.jobs = cores > referee.workers ? cores / referee.workers : 1;
    if (print < 0) return;
    char *text = batch_text((uint32_t)print, 1);
    fputs(text, stdout);
    exit(0);
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", referee.folder);
    if (system(command) != 0) fprintf(stderr, "referee: %s stays\n", referee.folder);
}

/* Else what it says of deferred stores is worth nothing. */
static bool is_left_stale(const struct tally *tally)
{
    if (tally->passed + tally->failed < FUSED_FROM) return true;
    for (uint32_t i = 0; i < tally->reason_count; i++)
        if (strstr(tally->reasons[i].text, judge_left_stale)) return true;
    fprintf(stderr, "referee: no program left anything stale\n");
    return false;
}

static bool is_fused_enough(const struct tally *tally)
{
    uint64_t programs = tally->passed + tally->failed;
    double least = referee.least_fused < 0 ? LEAST_FUSED : (double)referee.least_fused;
    if (referee.least_fused < 0 && programs < FUSED_FROM) return true;
    if (tally_fused(tally) >= least) return true;
    fprintf(stderr, "referee: of %llu programs %.1f%% have a fusion, less than %.0f%%\n",
            (unsigned long long)programs, tally_fused(tally), least);
    return false;
}

int main(int argc, char **argv)
{
    static struct tally tally;
    char own_state[96];
    referee.judge.schedules = 2;
    referee.failures = ".";
    read_options(argc, argv);
    find_parts();
    strcpy(referee.folder, "/tmp/referee.XXXXXX");
    if (!mkdtemp(referee.folder)) return 2;
    snprintf(own_state, sizeof own_state, "%s/state", referee.folder);
    if (!referee.state) referee.state = own_state;
    bool *is_done = calloc(referee.run.count / referee.run.batch + 1, sizeof *is_done);
    if (optind < argc) referee.run.count = 0;
    if (!tally_open(referee.state, &referee.run, &referee.judge)) {
        fprintf(stderr, "referee: %s: %s\n", referee.state, strerror(errno));
        return 2;
    }
    tally_read(&tally, referee.state, &referee.run, is_done);
    uint64_t before = tally.passed + tally.failed;
    double start = seconds();
    if (optind < argc)
        run_cases(argv + optind);
    else
        run_workers(is_done);
    double minutes = (seconds() - start) / 60;
    tally_read(&tally, referee.state, &referee.run, NULL);
    uint64_t done = tally.passed + tally.failed - before;
    if (done)
        minutes *=
            (double)(tally.passed + tally.failed) / (double)done; /* as if it had not been interrupted */
    tally_write(stdout, &tally, &referee.run, &referee.judge, minutes);
    FILE *table = referee.table ? fopen(referee.table, "we") : NULL;
    if (table) {
        tally_write(table, &tally, &referee.run, &referee.judge, minutes);
        fclose(table);
    }
    bool is_enough = is_fused_enough(&tally) && is_left_stale(&tally);
    printf("%llu passed, %llu failed\n", (unsigned long long)tally.passed, (unsigned long long)tally.failed);
    remove_folder();
    free(is_done);
    return tally.failed > 0 || tally.passed == 0 || !is_enough;
}

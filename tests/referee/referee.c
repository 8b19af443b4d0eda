/* SPDX-License-Identifier: Apache-2.0
 * The random-program referee: see print_help. Workers take the batches in turn and add what they found to one
 * file, which is also how a run goes on where it was interrupted. */
#include "tests/referee/generate.h"
#include "tests/referee/judge.h"
#include "tests/referee/script.h"

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

static struct referee {
    struct judge judge;
    uint64_t seed;
    uint32_t first, count, batch, workers;
    const char *state, *failures, *table, *commit;
    bool stops_at_failure, shrinks;
    char folder[64];
    uint32_t *current; /* batch of each worker; shared with them */
} referee = {
    .seed = 1, .first = 0, .count = 100, .batch = 40, .workers = 2, .shrinks = true, .commit = "unknown"};

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
           "      --state FILE       add to what FILE holds of an interrupted run, and go on behind it\n"
           "      --failures DIR     where failing programs are written [.]\n"
           "      --table FILE       write the counts there, as a table\n"
           "      --commit TEXT      what the table says of the version\n"
           "      --gpu              on the machine's own driver\n"
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
        const char *script = arena ? generate_script(arena, referee.seed, i) : NULL;
        if (!script) abort();
        fputs(script, out);
        arena_free(arena);
    }
    if (!out || fclose(out)) abort();
    return text;
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
    snprintf(path, sizeof path, "%s/seed%llu-%u.program", referee.failures, (unsigned long long)referee.seed,
             program->number);
    FILE *file = fopen(path, "we");
    if (file) {
        fprintf(file, "# %s\n%s", program->why, small);
        fclose(file);
    }
    arena_free(arena);
}

/* One write, so that the lines of a batch stay together. */
static void tell(const struct batch *batch, uint32_t first, const char *text)
{
    char *report = NULL;
    size_t size = 0;
    uint64_t passed = 0, failed = 0, fused = 0, watched = 0, compared = 0;
    FILE *out = open_memstream(&report, &size), *state;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct judge_program *program = &batch->programs[i];
        passed += !program->is_failed;
        failed += program->is_failed;
        fused += program->is_fused;
        watched += program->watched;
        compared += program->compared;
        if (!program->is_failed) continue;
        fprintf(stderr, "program %u failed: %s\n", program->number, program->why);
        fprintf(out, "fail %u %s\n", program->number, program->why);
        if (!referee.stops_at_failure) keep_failure(program, text);
    }
    for (uint32_t i = 0; i < batch->refusal_count; i++)
        fprintf(out, "refusal %llu %s\n", (unsigned long long)batch->refusals[i].pairs,
                batch->refusals[i].reason);
    fprintf(out, "batch %u %u %llu %llu %llu %llu %llu\n", first, batch->count, (unsigned long long)passed,
            (unsigned long long)failed, (unsigned long long)fused, (unsigned long long)watched,
            (unsigned long long)compared);
    fclose(out);
    state = fopen(referee.state, "ae");
    if (!state || fwrite(report, 1, size, state) != size || fclose(state)) abort();
    free(report);
}

static bool judge_text(char *text, uint32_t first)
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

/* --- the state --- */

struct sums {
    uint64_t passed, failed, fused, watched, compared, pairs;
    struct sums_reason {
        char text[256];
        uint64_t pairs;
    } reasons[512];
    uint32_t reason_count;
};

static void add_reason(struct sums *sums, uint64_t pairs, const char *text)
{
    uint32_t i = 0;
    while (i < sums->reason_count && strcmp(sums->reasons[i].text, text) != 0) i++;
    if (i == sizeof sums->reasons / sizeof *sums->reasons) return;
    if (i == sums->reason_count) {
        snprintf(sums->reasons[i].text, sizeof sums->reasons[i].text, "%s", text);
        sums->reason_count++;
    }
    sums->reasons[i].pairs += pairs;
    sums->pairs += pairs;
}

/* Sums up the file; is_done[i] for the batches that are in it. */
static void read_state(struct sums *sums, bool *is_done)
{
    char *text = script_read_file(referee.state), *rest = text;
    memset(sums, 0, sizeof *sums);
    for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;) {
        unsigned first, count;
        unsigned long long passed, failed, fused, watched, compared, pairs;
        int at = 0;
        if (sscanf(line, "batch %u %u %llu %llu %llu %llu %llu", &first, &count, &passed, &failed, &fused,
                   &watched, &compared) == 7) {
            sums->passed += passed;
            sums->failed += failed;
            sums->fused += fused;
            sums->watched += watched;
            sums->compared += compared;
            if (is_done && first >= referee.first &&
                (first - referee.first) / referee.batch * referee.batch < referee.count)
                is_done[(first - referee.first) / referee.batch] = true;
        } else if (sscanf(line, "refusal %llu %n", &pairs, &at) == 1 && at) {
            add_reason(sums, pairs, line + at);
        }
    }
    free(text);
}

static int compare_reasons(const void *left, const void *right)
{
    const struct sums_reason *a = left, *b = right;
    return (a->pairs < b->pairs) - (a->pairs > b->pairs);
}

/* Those that begin with the mark; the others where it is empty. */
static void write_reasons(FILE *out, const struct sums *sums, const char *mark, const char *label)
{
    for (uint32_t i = 0; i < sums->reason_count; i++) {
        const char *text = sums->reasons[i].text;
        bool is_marked = !strncmp(text, "(reason) ", 9) || !strncmp(text, "(group) ", 8) ||
                         !strncmp(text, "(programs) ", 11);
        if (*mark ? strncmp(text, mark, strlen(mark)) != 0 : is_marked) continue;
        fprintf(out, "%s\t%llu\t%s\n", label, (unsigned long long)sums->reasons[i].pairs,
                text + strlen(mark));
    }
}

static void write_table(FILE *out, struct sums *sums, double minutes)
{
    char day[16];
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "device\t%s\n", referee.judge.is_gpu ? "GPU" : "emulator");
    fprintf(out, "commit\t%s\ndate\t%s\nseed\t%llu\nreplays of each program\t%u\n", referee.commit, day,
            (unsigned long long)referee.seed, referee.judge.schedules);
    uint64_t all = sums->passed + sums->failed;
    qsort(sums->reasons, sums->reason_count, sizeof *sums->reasons, compare_reasons);
    fprintf(out, "programs\t%llu\n", (unsigned long long)all);
    fprintf(out, "passed\t%llu\n", (unsigned long long)sums->passed);
    fprintf(out, "failed\t%llu\n", (unsigned long long)sums->failed);
    fprintf(out, "with a fusion\t%llu\t%.1f%%\n", (unsigned long long)sums->fused,
            all ? 100.0 * (double)sums->fused / (double)all : 0);
    fprintf(out, "launches held against the analysis\t%llu\n", (unsigned long long)sums->watched);
    fprintf(out, "accesses that claim to be exact, compared\t%llu\n", (unsigned long long)sums->compared);
    fprintf(out, "programs per minute\t%.0f\n", minutes > 0 ? (double)all / minutes : 0);
    write_reasons(out, sums, "(programs) ", "programs that used a group of");
    write_reasons(out, sums, "(reason) ", "reasons that name two threads");
    write_reasons(out, sums, "(group) ", "groups");
    write_reasons(out, sums, "", "neighbouring launches");
}

/* --- workers --- */

static void work(uint32_t worker, const bool *is_done)
{
    snprintf(referee.judge.folder, sizeof referee.judge.folder, "%s/%u", referee.folder, worker);
    if (mkdir(referee.judge.folder, 0755) && errno != EEXIST) exit(2);
    for (uint32_t b = worker; b * referee.batch < referee.count; b += referee.workers) {
        uint32_t first = b * referee.batch, count = referee.count - first;
        if (is_done[b]) continue;
        if (count > referee.batch) count = referee.batch;
        referee.current[worker] = b;
        char *text = batch_text(referee.first + first, count);
        bool passed = judge_text(text, referee.first + first);
        free(text);
        if (!passed && referee.stops_at_failure) exit(1);
    }
    exit(0);
}

/* A worker that dies (the analysis runs in it) is a failure of its batch; the batch's other programs are not
 * counted. */
static void tell_death(uint32_t batch, int status)
{
    uint32_t first = referee.first + batch * referee.batch;
    FILE *state = fopen(referee.state, "ae");
    if (!state) exit(2);
    fprintf(stderr, "referee: the batch from program %u on ended a worker with status %x\n", first, status);
    fprintf(state, "fail %u crash: ended a worker with status %x\nbatch %u 1 0 1 0 0 0\n", first, status,
            first);
    fclose(state);
}

static pid_t start_worker(uint32_t worker, const bool *is_done)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) work(worker, is_done);
    if (child < 0) exit(2);
    return child;
}

static void run_workers(bool *is_done)
{
    pid_t workers[WORKERS_MOST] = {0}, child;
    int status;
    referee.current = mmap(NULL, WORKERS_MOST * sizeof *referee.current, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (referee.current == MAP_FAILED) exit(2);
    for (uint32_t w = 0; w < referee.workers; w++) workers[w] = start_worker(w, is_done);
    while ((child = wait(&status)) > 0 || errno == EINTR) {
        if (child <= 0 || (WIFEXITED(status) && WEXITSTATUS(status) <= 1)) continue;
        for (uint32_t w = 0; w < referee.workers; w++) {
            if (workers[w] != child) continue;
            tell_death(referee.current[w], status);
            is_done[referee.current[w]] = true;
            for (uint32_t b = w; b < referee.current[w]; b += referee.workers) is_done[b] = true;
            if (!referee.stops_at_failure) workers[w] = start_worker(w, is_done);
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
        PRINT,
        HELP,
        FLAG
    };
    static int first_failure, no_shrink, no_soundness, gpu;
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
                                            {"print", 1, NULL, PRINT},
                                            {"help", 0, NULL, HELP},
                                            {"first-failure", 0, &first_failure, 1},
                                            {"no-shrink", 0, &no_shrink, 1},
                                            {"no-soundness", 0, &no_soundness, 1},
                                            {"gpu", 0, &gpu, 1},
                                            {NULL, 0, NULL, 0}};
    int option;
    int64_t print = -1;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) switch (option) {
        case COUNT:
            referee.count = number_option(optarg);
            break;
        case SEED:
            referee.seed = number_option(optarg);
            break;
        case FIRST:
            referee.first = number_option(optarg);
            break;
        case BATCH:
            referee.batch = number_option(optarg);
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
            referee.commit = optarg;
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
    referee.judge.seed = referee.seed;
    referee.judge.is_gpu = gpu;
    referee.judge.skips_soundness = no_soundness;
    referee.stops_at_failure = first_failure;
    referee.shrinks = !no_shrink;
    if (first_failure) referee.workers = 1;
    if (!referee.batch || !referee.workers || referee.workers > WORKERS_MOST) {
        fprintf(stderr, "referee: --batch is at least 1, --workers 1 to %d\n", WORKERS_MOST);
        exit(2);
    }
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

int main(int argc, char **argv)
{
    static struct sums sums;
    char own_state[96];
    referee.judge.schedules = 2;
    referee.failures = ".";
    read_options(argc, argv);
    find_parts();
    strcpy(referee.folder, "/tmp/referee.XXXXXX");
    if (!mkdtemp(referee.folder)) return 2;
    snprintf(own_state, sizeof own_state, "%s/state", referee.folder);
    if (!referee.state) referee.state = own_state;
    bool *is_done = calloc(referee.count / referee.batch + 1, sizeof *is_done);
    read_state(&sums, is_done);
    uint64_t before = sums.passed + sums.failed;
    double start = seconds();
    if (optind < argc)
        run_cases(argv + optind);
    else
        run_workers(is_done);
    double minutes = (seconds() - start) / 60;
    read_state(&sums, NULL);
    uint64_t done = sums.passed + sums.failed - before;
    if (done)
        minutes *= (double)(sums.passed + sums.failed) / (double)done; /* as if it had not been interrupted */
    write_table(stdout, &sums, minutes);
    FILE *table = referee.table ? fopen(referee.table, "we") : NULL;
    if (table) {
        write_table(table, &sums, minutes);
        fclose(table);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)sums.passed, (unsigned long long)sums.failed);
    remove_folder();
    free(is_done);
    return sums.failed > 0 || sums.passed == 0;
}

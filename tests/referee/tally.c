/* SPDX-License-Identifier: Apache-2.0
 * See tally.h. */
#include "tests/referee/tally.h"

#include "common/hash.h"
#include "tests/referee/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#define OTHER_NANS "(nans)"

/* --- whose file it is --- */

static uint64_t hash_file(const char *path, uint64_t hash)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    uint64_t both[2] = {hash, bytes == MAP_FAILED ? 0 : hash_check(bytes, (size_t)status.st_size)};
    if (bytes != MAP_FAILED) munmap(bytes, (size_t)status.st_size);
    if (file >= 0) close(file);
    return hash_check(both, sizeof both);
}

/* A commit says nothing of what was changed since, so the build counts too. */
static uint64_t hash_build(const struct judge *judge)
{
    char driver[4200];
    uint64_t hash = hash_file("/proc/self/exe", 0);
    snprintf(driver, sizeof driver, "%s/libcuda.so.1", judge->emulator);
    hash = hash_file(judge->tools, hash);
    hash = hash_file(judge->player, hash);
    hash = hash_file(judge->library, hash);
    return hash_file(driver, hash);
}

static void write_head(char *head, size_t size, const struct tally_run *run, const struct judge *judge)
{
    snprintf(head, size, "commit %.64s build %016llx seed %llu first %u batch %u replays %u device %s%s%s",
             run->commit, (unsigned long long)hash_build(judge), (unsigned long long)run->seed, run->first,
             run->batch, judge->schedules, judge->is_gpu ? "GPU" : "emulator",
             judge->takes_any_nan ? " any NaN" : "", judge->skips_soundness ? " no soundness" : "");
}

bool tally_open(const char *path, const struct tally_run *run, const struct judge *judge)
{
    char head[512], old[4200];
    char *text = script_read_file(path);
    write_head(head, sizeof head, run, judge);
    bool is_ours = text && strncmp(text, head, strlen(head)) == 0 && text[strlen(head)] == '\n';
    if (text && *text && !is_ours) {
        snprintf(old, sizeof old, "%.4000s.old", path);
        fprintf(stderr,
                "referee: %s is of another run, which goes to %s: this one begins anew\n  it was: %.*s\n  it "
                "is:  %s\n",
                path, old, (int)strcspn(text, "\n"), text, head);
        if (rename(path, old) != 0) return false;
    }
    free(text);
    if (is_ours) return true;
    FILE *file = fopen(path, "we");
    return file && fprintf(file, "%s\n", head) > 0 && fclose(file) == 0;
}

/* --- lines --- */

void tally_add(const char *path, const struct batch *batch, uint32_t first)
{
    char *report = NULL;
    size_t size = 0;
    uint64_t passed = 0, failed = 0, fused = 0, watched = 0, compared = 0, other_nans = 0;
    FILE *out = open_memstream(&report, &size), *file;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct judge_program *program = &batch->programs[i];
        passed += !program->is_failed;
        failed += program->is_failed;
        fused += program->is_fused;
        watched += program->watched;
        compared += program->compared;
        if (program->is_failed) fprintf(out, "fail %u %s\n", program->number, program->why);
        other_nans += program->has_other_nans && !program->is_failed;
    }
    if (other_nans) fprintf(out, "refusal %llu " OTHER_NANS "\n", (unsigned long long)other_nans);
    for (uint32_t i = 0; i < batch->refusal_count; i++)
        fprintf(out, "refusal %llu %s\n", (unsigned long long)batch->refusals[i].pairs,
                batch->refusals[i].reason);
    fprintf(out, "batch %u %u %llu %llu %llu %llu %llu\n", first, batch->count, (unsigned long long)passed,
            (unsigned long long)failed, (unsigned long long)fused, (unsigned long long)watched,
            (unsigned long long)compared);
    fclose(out);
    file = fopen(path, "ae");
    if (!file || fwrite(report, 1, size, file) != size || fclose(file)) abort();
    free(report);
}

void tally_merge(const char *path, const char *parts, uint32_t first, const char *why)
{
    char *text = script_read_file(parts), *rest = text;
    uint64_t sums[6] = {0}, of[6];
    FILE *file = fopen(path, "ae");
    if (!file || setvbuf(file, NULL, _IOFBF, 1 << 20)) abort(); /* one write */
    for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;) {
        int fields =
            sscanf(line, "batch %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &of[0], &of[1], &of[2], &of[3], &of[4], &of[5]);
        for (int i = 0; fields == 6 && i < 6; i++) sums[i] += of[i];
        if (fields != 6 && *line) fprintf(file, "%s\n", line);
    }
    if (why) {
        fprintf(file, "fail %u %s\n", first, why);
        if (sums[1]) sums[1]--;
        sums[2]++;
    }
    fprintf(file, "batch %u", first);
    for (int i = 0; i < 6; i++) fprintf(file, " %" PRIu64, sums[i]);
    fputc('\n', file);
    if (fclose(file)) abort();
    free(text);
}

static void add_reason(struct tally *tally, uint64_t pairs, const char *text)
{
    uint32_t i = 0;
    while (i < tally->reason_count && strcmp(tally->reasons[i].text, text) != 0) i++;
    if (i == sizeof tally->reasons / sizeof *tally->reasons) return;
    if (i == tally->reason_count) {
        snprintf(tally->reasons[i].text, sizeof tally->reasons[i].text, "%s", text);
        tally->reason_count++;
    }
    tally->reasons[i].pairs += pairs;
    tally->pairs += pairs;
}

/* Whether a batch of the file is one of this run. */
static bool is_whole(const struct tally_run *run, uint32_t first, uint32_t count)
{
    if (!run->count || first < run->first || first - run->first >= run->count) return true;
    uint32_t rest = run->count - (first - run->first);
    return count >= (rest < run->batch ? rest : run->batch);
}

void tally_read(struct tally *tally, const char *path, const struct tally_run *run, bool *is_done)
{
    char *text = script_read_file(path), *rest = text;
    const char *reasons[512]; /* of the batch whose line is still to come */
    uint64_t pairs[512];
    uint32_t count = 0;
    memset(tally, 0, sizeof *tally);
    for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;) {
        unsigned first, programs;
        unsigned long long passed, failed, fused, watched, compared, number;
        int at = 0;
        if (sscanf(line, "refusal %llu %n", &number, &at) == 1 && at && count < 512) {
            pairs[count] = number;
            reasons[count++] = line + at;
        }
        if (sscanf(line, "batch %u %u %llu %llu %llu %llu %llu", &first, &programs, &passed, &failed, &fused,
                   &watched, &compared) != 7)
            continue;
        bool is_counted = is_whole(run, first, programs);
        for (uint32_t i = 0; i < count && is_counted; i++) add_reason(tally, pairs[i], reasons[i]);
        count = 0;
        if (!is_counted) continue;
        tally->passed += passed;
        tally->failed += failed;
        tally->fused += fused;
        tally->watched += watched;
        tally->compared += compared;
        if (is_done && first >= run->first && first - run->first < run->count)
            is_done[(first - run->first) / run->batch] = true;
    }
    free(text);
}

/* --- the table --- */

static int compare_reasons(const void *left, const void *right)
{
    const struct tally_reason *a = left, *b = right;
    return (a->pairs < b->pairs) - (a->pairs > b->pairs);
}

static const struct {
    const char *mark, *label; /* what a reason begins with */
} kinds[] = {
    {"(programs) ", "programs that used a group of"},
    {"(reason) ", "reasons that can be checked"},
    {"(group) ", "groups"},
};

static bool is_marked(const char *text)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strncmp(text, kinds[k].mark, strlen(kinds[k].mark)) == 0) return true;
    return strncmp(text, OTHER_NANS, strlen(OTHER_NANS)) == 0;
}

static void write_reasons(FILE *out, const struct tally *tally)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t i = 0; i < tally->reason_count; i++) {
            size_t length = strlen(kinds[k].mark);
            if (strncmp(tally->reasons[i].text, kinds[k].mark, length) != 0) continue;
            fprintf(out, "%s\t%llu\t%s\n", kinds[k].label, (unsigned long long)tally->reasons[i].pairs,
                    tally->reasons[i].text + length);
        }
    for (uint32_t i = 0; i < tally->reason_count; i++)
        if (!is_marked(tally->reasons[i].text))
            fprintf(out, "neighbouring launches\t%llu\t%s\n", (unsigned long long)tally->reasons[i].pairs,
                    tally->reasons[i].text);
}

double tally_fused(const struct tally *tally)
{
    uint64_t all = tally->passed + tally->failed;
    return all ? 100.0 * (double)tally->fused / (double)all : 0;
}

void tally_write(FILE *out, struct tally *tally, const struct tally_run *run, const struct judge *judge,
                 double minutes)
{
    char day[16];
    time_t now = time(NULL);
    uint64_t all = tally->passed + tally->failed, other_nans = 0;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    qsort(tally->reasons, tally->reason_count, sizeof *tally->reasons, compare_reasons);
    for (uint32_t i = 0; i < tally->reason_count; i++)
        if (strcmp(tally->reasons[i].text, OTHER_NANS) == 0) other_nans = tally->reasons[i].pairs;
    fprintf(out, "device\t%s\n", judge->is_gpu ? "GPU" : "emulator");
    fprintf(out, "commit\t%s\ndate\t%s\nseed\t%llu\nreplays of each program\t%u\n", run->commit, day,
            (unsigned long long)run->seed, judge->schedules);
    fprintf(out, "programs\t%llu\n", (unsigned long long)all);
    fprintf(out, "passed\t%llu\n", (unsigned long long)tally->passed);
    fprintf(out, "failed\t%llu\n", (unsigned long long)tally->failed);
    if (judge->takes_any_nan)
        fprintf(out, "passed, but that NaNs of double precision had other bits\t%llu\n",
                (unsigned long long)other_nans);
    fprintf(out, "with a fusion\t%llu\t%.1f%%\n", (unsigned long long)tally->fused, tally_fused(tally));
    fprintf(out, "launches held against the analysis\t%llu\n", (unsigned long long)tally->watched);
    fprintf(out, "accesses that claim to be exact, compared\t%llu\n", (unsigned long long)tally->compared);
    fprintf(out, "programs per minute\t%.0f\n", minutes > 0 ? (double)all / minutes : 0);
    write_reasons(out, tally);
}

/* SPDX-License-Identifier: Apache-2.0
 * Files of measurements; see measured.h. */
#include "common/measured.h"

#include "common/cache.h"
#include "common/own_write.h"
#include "common/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 3, LONGEST_LINE = 4096, LARGEST_FILE = 1 << 21, DIGITS = 16 };
static const uint64_t most_ps = UINT64_C(1000000000000000); /* a quarter of an hour */
static const double resolution_ns = 50; /* of a period: events are half a microsecond apart, or less */

/* --- identities --- */

struct hash128 measured_identity_begin(uint32_t flags)
{
    struct hash128 identity = {0};
    uint32_t kinds = flags & PLAN_KINDS;
    return kinds ? hash_bytes(&kinds, sizeof kinds) : identity;
}

struct hash128 measured_identity(struct hash128 before, const struct measured_step *step)
{
    struct {
        struct hash128 before, module, kernel, mask, value, guards;
        uint32_t role, grid[3], block[3], dynamic_shared, arguments_size, guard_count;
    } parts;
    memset(&parts, 0, sizeof parts);
    parts.before = before;
    parts.module = step->module;
    parts.kernel = hash_bytes(step->kernel, strlen(step->kernel));
    parts.mask = hash_bytes(step->mask, step->arguments_size);
    parts.value = hash_bytes(step->value, step->arguments_size);
    parts.guards = hash_bytes(step->guards, step->guard_count * sizeof *step->guards);
    parts.role = step->role;
    memcpy(parts.grid, step->grid, sizeof parts.grid);
    memcpy(parts.block, step->block, sizeof parts.block);
    parts.dynamic_shared = step->dynamic_shared;
    parts.arguments_size = step->arguments_size;
    parts.guard_count = step->guard_count;
    return hash_bytes(&parts, sizeof parts);
}

struct hash128 measured_identity_of(const struct plan *plan, uint32_t group)
{
    struct hash128 identity = measured_identity_begin(plan->groups[group].flags);
    for (uint32_t i = 0; i < plan->groups[group].step_count; i++) {
        const struct plan_step *step = &plan->steps[plan->groups[group].first_step + i];
        const struct plan_kernel *kernel = &plan->kernels[step->kernel];
        struct measured_step part = {.module = plan->modules[kernel->module].hash,
                                     .kernel = plan->strings + kernel->name,
                                     .role = step->role,
                                     .dynamic_shared = step->dynamic_shared,
                                     .arguments_size = step->arguments_size,
                                     .mask = plan->masks + step->mask,
                                     .value = plan->masks + step->mask + step->arguments_size,
                                     .guards = plan->guards + step->first_guard,
                                     .guard_count = step->guard_count};
        memcpy(part.grid, step->grid, sizeof part.grid);
        memcpy(part.block, step->block, sizeof part.block);
        identity = measured_identity(identity, &part);
    }
    return identity;
}

/* --- paths --- */

bool measured_path(char *path, size_t size, const char *directory, const char *device,
                   uint32_t driver_version, bool in_cache)
{
    char key[64 + 32], whole[PATH_MAX], folder[PATH_MAX];
    int length = snprintf(key, sizeof key, "%u %s", driver_version, device);
    uint64_t hash = hash_check(key, (size_t)length);
    if (!in_cache) {
        length = snprintf(path, size, "%s/" MEASURED_NAME "%016" PRIx64, directory, hash);
    } else {
        if (!realpath(directory, whole) || !cache_folder(folder, sizeof folder)) return false;
        length = snprintf(path, size, "%s/" MEASURED_NAME "%016" PRIx64 "-%016" PRIx64, folder,
                          hash_check(whole, strlen(whole)), hash);
    }
    return length >= 0 && (size_t)length < size;
}

/* --- reading --- */

static FILE *open_trusted(const char *path)
{
    char why[LONGEST_LINE];
    struct stat status;
    int descriptor = trusted_open(path, 0, why, sizeof why);
    if (descriptor < 0) return NULL;
    bool is_file = !fstat(descriptor, &status) && S_ISREG(status.st_mode) && status.st_size <= LARGEST_FILE;
    FILE *file = is_file ? fdopen(descriptor, "r") : NULL;
    if (!file) close(descriptor);
    return file;
}

/* A line without its end; false at the file's, or where a line is too long. */
static bool next_line(FILE *file, char line[LONGEST_LINE])
{
    if (!fgets(line, LONGEST_LINE, file)) return false;
    size_t length = strlen(line);
    if (!length || line[length - 1] != '\n') return false;
    line[length - 1] = 0;
    return true;
}

static bool read_head(FILE *file, const struct measured *measured)
{
    char line[LONGEST_LINE], wanted[LONGEST_LINE];
    snprintf(wanted, sizeof wanted, "kfuse measured %d", VERSION);
    if (!next_line(file, line) || strcmp(line, wanted)) return false;
    snprintf(wanted, sizeof wanted, "device %s", measured->device);
    if (!next_line(file, line) || strcmp(line, wanted)) return false;
    snprintf(wanted, sizeof wanted, "driver %u", measured->driver_version);
    return next_line(file, line) && !strcmp(line, wanted);
}

static bool read_rounds(const char *at, struct measured_group *group, unsigned count)
{
    for (group->round_count = 0; group->round_count < count; group->round_count++) {
        struct measured_round *round = &group->rounds[group->round_count];
        int end = 0;
        if (sscanf(at, " %20" SCNu64 ":%20" SCNu64 "%n", &round->original_ps, &round->fused_ps, &end) != 2)
            return false;
        if (!end || round->original_ps > most_ps || round->fused_ps > most_ps) return false;
        at += end;
    }
    return !*at;
}

static bool read_group(const char *line, struct measured_group *group)
{
    unsigned rounds;
    int end = 0;
    *group = (struct measured_group){0};
    if (sscanf(line, "group %16" SCNx64 "%16" SCNx64 " plan %16" SCNx64 " uses %20" SCNu64 " rounds %9u%n",
               &group->identity.high, &group->identity.low, &group->plan, &group->uses, &rounds, &end) != 5)
        return false;
    return end && rounds <= GAIN_MOST && read_rounds(line + end, group, rounds);
}

void measured_start(struct measured *measured, const char *device, uint32_t driver_version)
{
    measured->group_count = 0;
    measured->driver_version = driver_version;
    snprintf(measured->device, sizeof measured->device, "%s", device);
}

void measured_read_stream(struct measured *measured, FILE *file)
{
    char line[LONGEST_LINE];
    struct measured_group group;
    if (!read_head(file, measured)) return;
    while (next_line(file, line))
        if (read_group(line, &group)) measured_add(measured, &group);
}

void measured_read(struct measured *measured, const char *path)
{
    FILE *file = open_trusted(path);
    if (!file) return;
    measured_read_stream(measured, file);
    fclose(file);
}

/* --- groups --- */

static bool is_same(const struct measured_group *group, struct hash128 identity, uint64_t plan)
{
    return hash_equal(group->identity, identity) && (!plan || group->plan == plan);
}

const struct measured_group *measured_find(const struct measured *measured, struct hash128 identity,
                                           uint64_t plan)
{
    for (uint32_t i = measured->group_count; i-- > 0;)
        if (is_same(&measured->groups[i], identity, plan) && (plan || measured->groups[i].round_count))
            return &measured->groups[i];
    return NULL;
}

/* The latest that there is room for. */
static void append_rounds(struct measured_group *group, const struct measured_group *more)
{
    uint32_t all = group->round_count + more->round_count, gone = all > GAIN_MOST ? all - GAIN_MOST : 0;
    if (gone > group->round_count) gone = group->round_count;
    group->round_count -= gone;
    memmove(group->rounds, group->rounds + gone, group->round_count * sizeof *group->rounds);
    memcpy(group->rounds + group->round_count, more->rounds, more->round_count * sizeof *group->rounds);
    group->round_count += more->round_count;
    group->uses += more->uses;
}

static void take_out(struct measured *measured, uint32_t index)
{
    measured->group_count--;
    memmove(&measured->groups[index], &measured->groups[index + 1],
            (measured->group_count - index) * sizeof *measured->groups);
}

/* The oldest that has nothing to say, or the oldest. */
static uint32_t least_wanted(const struct measured *measured)
{
    for (uint32_t i = 0; i < measured->group_count; i++)
        if (!measured->groups[i].round_count) return i;
    return 0;
}

void measured_add(struct measured *measured, const struct measured_group *group)
{
    struct measured_group sum = {.identity = group->identity, .plan = group->plan};
    for (uint32_t i = measured->group_count; i-- > 0;) {
        if (!is_same(&measured->groups[i], group->identity, group->plan)) continue;
        sum = measured->groups[i];
        take_out(measured, i);
        break;
    }
    append_rounds(&sum, group);
    if (measured->group_count == MEASURED_GROUPS) take_out(measured, least_wanted(measured));
    measured->groups[measured->group_count++] = sum;
}

struct gain measured_gain(const struct measured_group *group)
{
    double gains[GAIN_MOST];
    for (uint32_t i = 0; i < group->round_count; i++)
        gains[i] = ((double)group->rounds[i].original_ps - (double)group->rounds[i].fused_ps) / 1e3;
    return gain_of(gains, group->round_count, resolution_ns);
}

double measured_mean_ns(const struct measured_group *group, bool is_fused)
{
    double periods[GAIN_MOST];
    for (uint32_t i = 0; i < group->round_count; i++)
        periods[i] = (double)(is_fused ? group->rounds[i].fused_ps : group->rounds[i].original_ps) / 1e3;
    return gain_of(periods, group->round_count, 0).mean;
}

/* --- writing --- */

static void print_group(FILE *file, const struct measured_group *group)
{
    char identity[2 * DIGITS + 1];
    hash_text(group->identity, identity);
    fprintf(file, "group %s plan %016" PRIx64 " uses %" PRIu64 " rounds %u", identity, group->plan,
            group->uses, group->round_count);
    for (uint32_t i = 0; i < group->round_count; i++)
        fprintf(file, " %" PRIu64 ":%" PRIu64, group->rounds[i].original_ps, group->rounds[i].fused_ps);
    fputc('\n', file);
}

/* The text of the file, to be freed. */
static char *text_of(const struct measured *measured, size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    if (!file) return NULL;
    fprintf(file, "kfuse measured %d\ndevice %s\ndriver %u\n", VERSION, measured->device,
            measured->driver_version);
    for (uint32_t i = 0; i < measured->group_count; i++) print_group(file, &measured->groups[i]);
    if (!fclose(file)) return text;
    free(text);
    return NULL;
}

/* A file beside it, with a name that nobody else uses while this process lives. The folder is made if need
 * be.
 */
static int open_beside(const char *path, char *name, size_t size)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash) return -1;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    int length = snprintf(name, size, "%s/.%s.%ld", folder, slash + 1, (long)getpid());
    if (length < 0 || (size_t)length >= size) return -1;
    mkdir(folder, 0700);
    unlink(name);
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool measured_write(const struct measured *measured, const char *path)
{
    char temporary[PATH_MAX], *text;
    size_t size = 0;
    int file = open_beside(path, temporary, sizeof temporary);
    if (file < 0) return false;
    text = text_of(measured, &size);
    bool is_written = text && own_write(file, text, size);
    free(text);
    if (close(file)) is_written = false;
    if (is_written && !rename(temporary, path)) return true;
    unlink(temporary);
    return false;
}

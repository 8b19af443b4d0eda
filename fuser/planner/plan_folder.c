/* SPDX-License-Identifier: Apache-2.0
 * See plan_folder.h. */
#include "fuser/planner/plan_folder.h"

#include "common/own_write.h"
#include "common/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGED_JSON PLAN_STAGED "plan.json"

static bool fail(char *error, size_t error_size, const char *directory, const char *reason)
{
    snprintf(error, error_size, "%s: %s: choose another folder with -o", directory, reason);
    return false;
}

/* --- what is a plan's --- */

static bool begins_with(const char *name, const char *beginning)
{
    return !strncmp(name, beginning, strlen(beginning));
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), most = strlen(end);
    return length > most && !strcmp(name + length - most, end);
}

/* plan.bin too is staged, under a name of its own (plan_build_write). */
static bool is_staged(const char *name)
{
    return begins_with(name, PLAN_STAGED) || begins_with(name, ".plan.bin.");
}

/* People edit plan.json: what it lists must also look like it. */
static bool is_source(const char *name)
{
    if (strchr(name, '/')) return false;
    if (begins_with(name, "kernel-")) return ends_with(name, ".c");
    return begins_with(name, "group-") && (ends_with(name, ".c") || ends_with(name, ".cu"));
}

static FILE *open_in(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    FILE *stream = file >= 0 ? fdopen(file, "r") : NULL;
    if (file >= 0 && !stream) close(file);
    return stream;
}

/* NULL: it is not there, or no plan.json. */
static json_t *read_json(int folder, const char *name)
{
    FILE *file = open_in(folder, name);
    json_t *json = file ? json_loadf(file, 0, NULL) : NULL;
    if (file) fclose(file);
    if (json && json_is_array(json_object_get(json, "groups")) &&
        json_is_string(json_object_get(json, "kfuse")))
        return json;
    json_decref(json);
    return NULL;
}

static bool read_header(int folder, struct plan_header *header)
{
    FILE *file = open_in(folder, "plan.bin");
    size_t got = file ? fread(header, 1, sizeof *header, file) : 0;
    if (file) fclose(file);
    return got >= sizeof header->magic && !memcmp(header->magic, PLAN_MAGIC, sizeof header->magic);
}

static bool is_plan(int folder)
{
    struct plan_header header;
    json_t *json = read_json(folder, "plan.json");
    bool is_one = json || read_header(folder, &header);
    json_decref(json);
    return is_one;
}

static bool lists(const json_t *json, const char *name)
{
    size_t i;
    json_t *listed;
    json_array_foreach(json_object_get(json, "files"), i, listed)
    {
        if (json_is_string(listed) && !strcmp(json_string_value(listed), name)) return is_source(name);
    }
    return false;
}

/* --- whether a plan may be written there --- */

static DIR *list(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    if (again >= 0 && !entries) close(again);
    return entries;
}

static bool may_hold(int folder, const char *directory, char *error, size_t error_size)
{
    char stranger[NAME_MAX + 1] = "";
    DIR *entries = list(folder);
    if (!entries) return fail(error, error_size, directory, strerror(errno));
    for (struct dirent *entry; !stranger[0] && (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !is_staged(entry->d_name))
            snprintf(stranger, sizeof stranger, "%s", entry->d_name);
    closedir(entries);
    if (!stranger[0] || is_plan(folder)) return true;
    snprintf(
        error, error_size,
        "%s: holds files (%s) and no plan: choose another folder with -o, one that is empty or not there",
        directory, stranger);
    return false;
}

bool plan_folder_may_hold(const char *directory, char *error, size_t error_size)
{
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno == ENOENT || fail(error, error_size, directory, strerror(errno));
    bool is_free = may_hold(folder, directory, error, error_size);
    close(folder);
    return is_free;
}

/* A file that the new plan wants to write, and that no plan wrote. */
static bool has_no_stranger(int folder, const char *directory, const char *const *names, uint32_t count,
                            char *error, size_t error_size)
{
    struct stat status;
    json_t *old = read_json(folder, "plan.json");
    const char *stranger = NULL;
    for (uint32_t i = 0; i < count && !stranger; i++)
        if (!fstatat(folder, names[i], &status, AT_SYMLINK_NOFOLLOW) && !lists(old, names[i]))
            stranger = names[i];
    json_decref(old);
    if (stranger)
        snprintf(
            error, error_size,
            "%s/%s: is in the way, and no file of the plan there: move it, or choose another folder with -o",
            directory, stranger);
    return !stranger;
}

static void remove_staged(int folder)
{
    DIR *entries = list(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (is_staged(entry->d_name)) unlinkat(folder, entry->d_name, 0);
    closedir(entries);
}

int plan_folder_open(const char *directory, const char *const *names, uint32_t count, char *error,
                     size_t error_size)
{
    int folder = -1;
    if (!mkdir(directory, 0700) || errno == EEXIST)
        folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        fail(error, error_size, directory, strerror(errno));
        return -1;
    }
    bool is_free = !flock(folder, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
    if (!is_free) fail(error, error_size, directory, "another plan is being written there");
    is_free = is_free && may_hold(folder, directory, error, error_size);
    if (is_free) {
        plan_folder_finish(folder);
        remove_staged(folder);
        if (has_no_stranger(folder, directory, names, count, error, error_size)) return folder;
    }
    close(folder);
    return -1;
}

/* --- writing --- */

bool plan_folder_stage(int folder, const char *directory, const char *name, const char *text, char *error,
                       size_t error_size)
{
    char staged[NAME_MAX + sizeof PLAN_STAGED];
    snprintf(staged, sizeof staged, PLAN_STAGED "%s", name);
    int file = openat(folder, staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = file >= 0 && own_write(file, text, strlen(text));
    int reason = errno;
    if (file >= 0 && close(file) && is_written) {
        is_written = false;
        reason = errno;
    }
    if (!is_written)
        snprintf(error, error_size, "%s/%s: %s: make the folder writable, or choose another one with -o",
                 directory, name, strerror(reason));
    return is_written;
}

void plan_folder_abandon(int folder, const char *directory)
{
    remove_staged(folder);
    close(folder);
    rmdir(directory); /* refuses one that holds anything */
}

/* Whether plan.bin was written with these bytes of plan.json. */
static bool is_of_plan(int folder, const char *name)
{
    struct plan_header header;
    struct stat status;
    bool is_same = false;
    FILE *file = open_in(folder, name);
    char *bytes = file && !fstat(fileno(file), &status) ? malloc((size_t)status.st_size + 1) : NULL;
    if (bytes && fread(bytes, 1, (size_t)status.st_size, file) == (size_t)status.st_size)
        is_same = read_header(folder, &header) &&
                  hash_equal(hash_bytes(bytes, (size_t)status.st_size), header.plan_hash);
    free(bytes);
    if (file) fclose(file);
    return is_same;
}

static void take_place(int folder, const char *name)
{
    char staged[NAME_MAX + sizeof PLAN_STAGED];
    snprintf(staged, sizeof staged, PLAN_STAGED "%s", name);
    renameat(folder, staged, folder, name);
}

void plan_folder_finish(int folder)
{
    size_t i;
    json_t *listed, *next = is_of_plan(folder, STAGED_JSON) ? read_json(folder, STAGED_JSON) : NULL;
    if (!next) return;
    json_t *old = read_json(folder, "plan.json");
    json_array_foreach(json_object_get(old, "files"), i, listed)
    {
        const char *name = json_string_value(listed);
        if (name && is_source(name) && !lists(next, name)) unlinkat(folder, name, 0);
    }
    json_array_foreach(json_object_get(next, "files"), i, listed)
    {
        const char *name = json_string_value(listed);
        if (name && is_source(name)) take_place(folder, name);
    }
    unlinkat(folder, "verified", 0);
    take_place(folder, "plan.json"); /* last: it lists what the old plan left */
    json_decref(old);
    json_decref(next);
}

void plan_folder_recover(const char *directory)
{
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    if (!flock(folder, LOCK_EX | LOCK_NB)) plan_folder_finish(folder);
    close(folder);
}

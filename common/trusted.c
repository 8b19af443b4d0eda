/* SPDX-License-Identifier: Apache-2.0
 * See trusted.h. A path is walked from the root, one opened folder after the other, so that nothing can be
 * exchanged between the look and the use. Users and groups are read from files: in a preloaded library the
 * system's name services would load others. */
#include "common/trusted.h"

#include "common/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, ENTRY_BYTES = 16384 };

struct walk {
    int folder;              /* where the next name is looked up */
    char shown[PATH_MAX];    /* its path */
    char rest[2 * PATH_MAX]; /* names to come */
    char last[NAME_MAX + 1]; /* the name in work */
    int links;
    bool is_at_file; /* its name is last */
    char *why;
    size_t why_size;
};

/* --- users and groups --- */

/* Whose first group it is: one user alone, who is then described by name. */
static bool is_first_group_of(gid_t group, uid_t user, char name[256], bool *is_known)
{
    struct passwd entry, *found;
    char text[ENTRY_BYTES];
    bool is_first = false, has_other = false;
    FILE *file = fopen("/etc/passwd", "re");
    *is_known = false;
    while (file && !fgetpwent_r(file, &entry, text, sizeof text, &found)) {
        if (entry.pw_uid == user) {
            *is_known = true;
            is_first = entry.pw_gid == group;
            snprintf(name, 256, "%s", entry.pw_name);
        } else if (entry.pw_gid == group) {
            has_other = true;
        }
    }
    if (file) fclose(file);
    return is_first && !has_other;
}

/* Members that are listed, but for the user; -1: there is no such group. */
static int other_members(gid_t group, const char *user, bool *is_of_name)
{
    struct group entry, *found;
    char text[ENTRY_BYTES];
    int others = -1;
    FILE *file = fopen("/etc/group", "re");
    while (file && others < 0 && !fgetgrent_r(file, &entry, text, sizeof text, &found)) {
        if (entry.gr_gid != group) continue;
        *is_of_name = !strcmp(entry.gr_name, user);
        others = 0;
        for (char **member = entry.gr_mem; *member; member++) others += strcmp(*member, user) != 0;
    }
    if (file) fclose(file);
    return others;
}

static bool is_own_group(gid_t group, uid_t user)
{
    char name[256] = "";
    bool is_known, is_of_name = false;
    bool is_first = is_first_group_of(group, user, name, &is_known);
    int others = other_members(group, name, &is_of_name);
    if (!is_known && others < 0) return group == user;
    return is_first && is_of_name && others == 0;
}

static bool may_replace_program(uid_t user)
{
    char path[PATH_MAX];
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    for (path[length > 0 ? length : 0] = 0; *path; *strrchr(path, '/') = 0)
        if (!stat(path, &status) && status.st_uid == user && !(status.st_mode & S_ISVTX)) return true;
    return false;
}

/* Numbers, separated by commas. */
static bool is_named_trusted(uid_t user)
{
    char *end = "";
    for (const char *at = setting_text("KFUSE_TRUST"); at && *at; at = *end ? end + 1 : end) {
        unsigned long number = strtoul(at, &end, 10);
        if (end == at || (*end && *end != ',')) return false;
        if (number == user) return true;
    }
    return false;
}

bool trusted_owner(uid_t owner)
{
    return owner == geteuid() || owner == 0 || is_named_trusted(owner) || may_replace_program(owner);
}

/* Whose number is not known in this container, as root's is not. */
static bool is_unmapped(uid_t owner)
{
    unsigned long nobody = 0, inside, outside, count;
    FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
    bool is_read = file && fscanf(file, "%lu", &nobody) == 1, has_root = false;
    if (file) fclose(file);
    if (!is_read || owner != nobody) return false;
    file = fopen("/proc/self/uid_map", "re");
    while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3) has_root |= outside == 0;
    if (file) fclose(file);
    return file && !has_root;
}

/* --- what is trusted --- */

static bool distrust(const struct walk *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool distrust(const struct walk *walk, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(walk->why, walk->why_size, format, arguments);
    va_end(arguments);
    errno = EPERM;
    return false;
}

static bool is_trusted(const struct walk *walk, const char *path, const struct stat *status, bool is_on_way)
{
    bool is_link = S_ISLNK(status->st_mode), is_sticky = is_on_way && status->st_mode & S_ISVTX;
    unsigned owner = status->st_uid;
    if (!trusted_owner(owner) && !(is_on_way && !is_link && is_unmapped(owner)))
        return distrust(walk,
                        "%s belongs to another user (%u), who could put code there: use what is your own, or "
                        "set KFUSE_TRUST=%u",
                        path, owner, owner);
    if (is_link || is_sticky) return true;
    if (status->st_mode & S_IWOTH)
        return distrust(walk, "%s may be written by others, who could put code there: chmod go-w %s", path,
                        path);
    if (status->st_mode & S_IWGRP && !is_own_group(status->st_gid, owner) &&
        !is_own_group(status->st_gid, geteuid()))
        return distrust(walk, "%s may be written by a group, which could put code there: chmod g-w %s", path,
                        path);
    return true;
}

/* --- the way --- */

static const char *shown_path(const struct walk *walk)
{
    return walk->shown[0] ? walk->shown : "/";
}

static void enter(struct walk *walk, int folder)
{
    close(walk->folder);
    walk->folder = folder;
}

/* Takes the first name off the rest. False: there is none. */
static bool next_name(struct walk *walk)
{
    char *name = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(name, "/");
    if (length > NAME_MAX) length = NAME_MAX; /* there is no such file */
    memcpy(walk->last, name, length);
    walk->last[length] = 0;
    memmove(walk->rest, name + length, strlen(name + length) + 1);
    return length > 0;
}

static bool add_shown(struct walk *walk)
{
    size_t used = strlen(walk->shown);
    if (!strcmp(walk->last, "..")) {
        char *slash = strrchr(walk->shown, '/');
        if (slash) *slash = 0;
        return true;
    }
    errno = ENAMETOOLONG;
    return snprintf(walk->shown + used, sizeof walk->shown - used, "/%s", walk->last) <
           (int)(sizeof walk->shown - used);
}

/* The link's text goes before what is to come. */
static bool follow(struct walk *walk, int link)
{
    char text[2 * PATH_MAX];
    ssize_t length = readlinkat(link, "", text, PATH_MAX);
    if (length < 0) return false;
    int whole = snprintf(text + length, sizeof text - (size_t)length, "/%s", walk->rest);
    if (++walk->links > MOST_LINKS || length == PATH_MAX || (size_t)whole >= sizeof text - (size_t)length) {
        errno = ELOOP;
        return false;
    }
    memcpy(walk->rest, text, (size_t)(length + whole) + 1);
    if (text[0] != '/') return true;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return false;
    walk->shown[0] = 0;
    enter(walk, root);
    return true;
}

/* One name on: a link is followed, a folder entered, and anything else must be the last. */
static bool step(struct walk *walk)
{
    struct stat status;
    char path[PATH_MAX + NAME_MAX + 2];
    if (fstat(walk->folder, &status) || !is_trusted(walk, shown_path(walk), &status, true)) return false;
    int next = openat(walk->folder, walk->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return false;
    snprintf(path, sizeof path, "%s/%s", walk->shown, walk->last);
    bool is_good = !fstat(next, &status);
    if (is_good && S_ISLNK(status.st_mode)) {
        is_good = is_trusted(walk, path, &status, true) && follow(walk, next);
    } else if (is_good && S_ISDIR(status.st_mode)) {
        is_good = add_shown(walk);
        enter(walk, next);
        return is_good;
    } else if (is_good && walk->rest[strspn(walk->rest, "/")]) {
        errno = ENOTDIR;
        is_good = false;
    } else if (is_good) {
        walk->is_at_file = true;
    }
    int reason = errno;
    close(next);
    errno = reason;
    return is_good;
}

/* What the walk has led to; checked once more, as it is now. */
static int open_last(const struct walk *walk, int flags)
{
    struct stat status;
    char path[PATH_MAX + NAME_MAX + 2];
    const char *name = walk->is_at_file ? walk->last : ".";
    if (walk->is_at_file)
        snprintf(path, sizeof path, "%s/%s", walk->shown, name);
    else
        snprintf(path, sizeof path, "%s", shown_path(walk));
    int file = openat(walk->folder, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file >= 0 && !fstat(file, &status) && is_trusted(walk, path, &status, false)) return file;
    int reason = errno;
    if (file >= 0) close(file);
    errno = reason;
    return -1;
}

static int go(struct walk *walk, int flags)
{
    bool is_good = walk->folder >= 0;
    while (is_good && !walk->is_at_file && next_name(walk))
        if (strcmp(walk->last, ".")) is_good = step(walk);
    int file = is_good ? open_last(walk, flags) : -1, reason = errno;
    if (walk->folder >= 0) close(walk->folder);
    errno = reason;
    return file;
}

int trusted_open(const char *path, int flags, char *why, size_t why_size)
{
    struct walk walk = {.why = why, .why_size = why_size};
    char start[PATH_MAX] = "";
    why[0] = 0;
    if (path[0] != '/' && !getcwd(start, sizeof start)) return -1;
    errno = ENAMETOOLONG;
    if (strlen(path) >= PATH_MAX) return -1;
    snprintf(walk.rest, sizeof walk.rest, "%s/%s", start, path);
    walk.folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return go(&walk, flags);
}

int trusted_open_in(int folder, const char *folder_path, const char *name, char *why, size_t why_size)
{
    struct walk walk = {.why = why, .why_size = why_size};
    why[0] = 0;
    snprintf(walk.shown, sizeof walk.shown, "%s", folder_path);
    snprintf(walk.rest, sizeof walk.rest, "%s", name);
    walk.folder = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return go(&walk, 0);
}

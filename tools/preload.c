/* SPDX-License-Identifier: Apache-2.0
 * Finds libkfuse.so and the emulator beside the command, installed or in a build tree, and starts a program
 * with them. */
#include "config.h"
#include "tools/preload.h"
#include "tools/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder of the running command: installed (also where the library folder has another name),
 * in a build tree, and in a build tree where libtool keeps the program in tools/.libs. */
static const char *const library_places[] = {"../lib/libkfuse.so", KFUSE_LIBDIR "/libkfuse.so",
                                             "../interpose/.libs/libkfuse.so",
                                             "../../interpose/.libs/libkfuse.so", NULL};
static const char *const emulator_places[] = {
    "../lib/kfuse/emulator/libcuda.so.1", KFUSE_LIBDIR "/kfuse/emulator/libcuda.so.1",
    "../emulator/.libs/libcuda.so.1", "../../emulator/.libs/libcuda.so.1", NULL};

static bool own_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    if (length <= 0) return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

/* The first place that exists, as a canonical path with the file's own name kept. */
static bool find_part(const char *const *places, char *found)
{
    char folder[PATH_MAX], candidate[2 * PATH_MAX];
    if (!own_folder(folder, sizeof folder)) return false;
    for (; *places; places++) {
        if (**places == '/')
            snprintf(candidate, sizeof candidate, "%s", *places);
        else
            snprintf(candidate, sizeof candidate, "%s/%s", folder, *places);
        char *slash = strrchr(candidate, '/');
        if (access(candidate, R_OK) != 0) continue;
        *slash = '\0';
        if (!realpath(candidate, found) || strlen(found) + strlen(slash + 1) + 2 > PATH_MAX) continue;
        strcat(found, "/");
        strcat(found, slash + 1);
        return true;
    }
    return false;
}

static bool prepend(const char *variable, const char *value, const char *separator)
{
    const char *old = getenv(variable);
    if (!old || !*old) return setenv(variable, value, 1) == 0;
    size_t size = strlen(value) + strlen(separator) + strlen(old) + 1;
    char *joined = malloc(size);
    if (!joined) return false;
    snprintf(joined, size, "%s%s%s", value, separator, old);
    bool is_set = setenv(variable, joined, 1) == 0;
    free(joined);
    return is_set;
}

bool preload_absolute(const char *path, char *absolute, size_t size)
{
    char folder[PATH_MAX];
    int length;
    if (path[0] == '/')
        length = snprintf(absolute, size, "%s", path);
    else if (!getcwd(folder, sizeof folder))
        return false;
    else
        length = snprintf(absolute, size, "%s/%s", folder, path);
    return length >= 0 && (size_t)length < size;
}

int preload_program(const char *command, char **program, bool emulate)
{
    char library[PATH_MAX], emulator[PATH_MAX];
    if (emulate && !KFUSE_HAS_EMULATOR)
        return command_error(command,
                             "--emulate: this kfuse was built without the emulator: run it on a GPU, "
                             "or build it without --disable-emulator");
    if (!find_part(library_places, library))
        return command_error(command,
                             "libkfuse.so was not found beside the command: run 'make' or 'make install'");
    if (emulate) {
        if (!find_part(emulator_places, emulator))
            return command_error(command,
                                 "the emulator's libcuda.so.1 was not found: run 'make' or 'make install'");
        *strrchr(emulator, '/') = '\0';
        if (!prepend("LD_LIBRARY_PATH", emulator, ":")) return command_error(command, "out of memory");
    }
    if (!prepend("LD_PRELOAD", library, ":")) return command_error(command, "out of memory");
    if (!getenv("KFUSE_LOG")) {
        setenv("KFUSE_LOG", "-", 1);
        setenv("KFUSE_LOG_LEVEL", "warning", 0);
    }
    execvp(program[0], program);
    command_error(command, "%s: %s", program[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

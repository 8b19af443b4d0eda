/* SPDX-License-Identifier: Apache-2.0
 * See preload.h. Output is TAP-like: one line a case. */
#include "tests/interpose/preload.h"
#include "tests/interpose/fake_driver.h"

#include <errno.h>
#include <limits.h>

void preload_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    for (size_t i = 0; i < fake_count(); i++) fprintf(stderr, "  driver %zu: %s\n", i, fake_line(i));
    _exit(1);
}

void preload_check_line(const char *file, int line, size_t index, const char *text)
{
    if (!strcmp(fake_line(index), text)) return;
    fprintf(stderr, "expected line %zu: %s\n", index, text);
    preload_failed(file, line, "the driver saw something else");
}

const char *preload_folder(void)
{
    static char folder[PATH_MAX];
    const char *build = getenv("top_builddir");
    snprintf(folder, sizeof folder, "%s/tests/interpose/%s.tmp", build ? build : ".",
             program_invocation_short_name);
    return folder;
}

static void set_preload(void)
{
    char path[2 * PATH_MAX];
    const char *build = getenv("top_builddir"), *libraries = getenv("LD_LIBRARY_PATH");
    if (!build) build = ".";
    snprintf(path, sizeof path, "%s/tests/interpose/.libs%s%s", build, libraries ? ":" : "",
             libraries ? libraries : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    snprintf(path, sizeof path, "%s/interpose/.libs/libkfuse.so", build);
    setenv("LD_PRELOAD", path, 1);
    const char *log = getenv("KFUSE_LOG");
    snprintf(path, sizeof path, "%s/log", preload_folder());
    if (!log) setenv("KFUSE_LOG", path, 1);
}

static int run_case(const struct preload_case *test)
{
    char command[2 * PATH_MAX + 64], self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return 1;
    self[length] = 0;
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s'", preload_folder(), preload_folder());
    if (system(command)) return 1;
    pid_t child = fork();
    if (!child) {
        setenv("KFUSE_CACHE", preload_folder(), 1);
        setenv("KFUSE_CHAINS", "0", 1); /* but where a case sets it */
        if (test->prepare) test->prepare();
        set_preload();
        execl(self, program_invocation_short_name, test->name, (char *)NULL);
        _exit(126);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (test->after) {
        test->after(status);
        return 0;
    }
    return status;
}

int preload_main(int argc, char **argv, const struct preload_case *cases, size_t count)
{
    int failures = 0;
    for (size_t i = 0; argc > 1 && i < count; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        cases[i].body();
        return 0;
    }
    for (size_t i = 0; argc == 1 && i < count; i++) {
        fflush(NULL);
        int status = run_case(&cases[i]);
        printf("%s %zu - %s\n", status ? "not ok" : "ok", i + 1, cases[i].name);
        failures += status != 0;
    }
    return failures != 0 || (argc > 1);
}

/* SPDX-License-Identifier: Apache-2.0
 * The library leaves the program and its files alone: what it prints, how it ends. Against the fake driver.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

/* --- what the program prints --- */

/* Longer than the counts, so that what is cut off or overwritten shows. */
static void print_first(void)
{
    for (int i = 0; i < 200; i++) printf("line %d of the program\n", i);
}

static void prints(void)
{
    print_first();
    fflush(stdout);
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
    printf("the last line\n");
}

/* Everything once, whole lines, in order; counts after it where there are any. */
static void expect_printed(const char *name, const char *last)
{
    char line[1024], expected[64];
    FILE *file = fopen(in_folder(name), "r");
    EXPECT(file);
    int printed = 0;
    bool is_last = false;
    while (fgets(line, sizeof line, file)) {
        if (printed < 200)
            snprintf(expected, sizeof expected, "line %d of the program\n", printed);
        else
            snprintf(expected, sizeof expected, "the last line\n");
        printed += !strcmp(line, expected);
        is_last = last && !strncmp(line, last, strlen(last));
    }
    fclose(file);
    EXPECT(printed == 201);
    EXPECT(!last || is_last);
}

/* In the process that becomes the program. */
static void print_to(int stream, const char *name, int flags)
{
    int file = open(in_folder(name), O_WRONLY | O_CREAT | flags, 0600);
    if (file < 0 || dup2(file, stream) < 0 || (file != stream && close(file))) exit(1);
}

static void counts_to(const char *path)
{
    plan_ab();
    setenv("KFUSE_STATS", path, 1);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
}

static void counts_to_stdout(void)
{
    counts_to("/dev/stdout");
}

static void counts_to_its_file(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", in_folder("out"));
    counts_to(path);
}

static void counts_to_number(void)
{
    counts_to("/dev/fd/9");
    if (dup2(STDOUT_FILENO, 9) < 0) exit(1);
}

static void counts_to_stderr(void)
{
    counts_to("-");
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) exit(1);
}

static void after_counts(int status)
{
    EXPECT(status == 0);
    expect_printed("out", "group ab uses 1");
}

static void log_to_its_file(void)
{
    plan_ab();
    setenv("KFUSE_LOG", in_folder("out"), 1);
    setenv("KFUSE_LOG_LEVEL", "debug", 1);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
}

static void after_log(int status)
{
    EXPECT(status == 0 && file_has("out", "kfuse: replay"));
    expect_printed("out", NULL);
}

static void trace_to_its_file(void)
{
    setenv("KFUSE_RECORD", in_folder("out"), 1);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
}

static void after_trace(int status)
{
    EXPECT(status == 0 && file_has("log", "cannot be recorded to"));
    expect_printed("out", NULL);
}

static void trace_to_a_text(void)
{
    FILE *file = fopen(in_folder("notes"), "w");
    if (!file || fputs("mine\n", file) < 0 || fclose(file)) exit(1);
    setenv("KFUSE_RECORD", in_folder("notes"), 1);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
}

static void after_text(int status)
{
    EXPECT(status == 0 && file_has("log", "something else than a trace") && file_has("notes", "mine"));
    expect_printed("out", NULL);
}

/* --- signals --- */

static void to_a_closed_pipe(void)
{
    int ends[2];
    plan_ab();
    setenv("KFUSE_LOG", "-", 1);
    setenv("KFUSE_LOG_LEVEL", "debug", 1);
    setenv("KFUSE_STATS", "/dev/stderr", 1);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
    if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0) exit(1);
    close(ends[0]);
    close(ends[1]);
    signal(SIGPIPE, SIG_DFL);
}

static void after_printing(int status)
{
    EXPECT(status == 0);
    expect_printed("out", NULL);
}

/* The program's output is smaller than the limit, what the library writes is not. */
static void limit_files(void)
{
    signal(SIGXFSZ, SIG_DFL);
    print_to(STDOUT_FILENO, "out", O_TRUNC);
    FILE *filler = fopen(in_folder("stats"), "w"); /* counts replace it */
    if (!filler || fclose(filler)) exit(1);
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){96, 96})) exit(1);
}

static void counts_beyond_a_limit(void)
{
    plan_ab();
    setenv("KFUSE_VERIFY", "1", 1);
    limit_files();
}

static void trace_beyond_a_limit(void)
{
    setenv("KFUSE_RECORD", in_folder("app.kftrace"), 1);
    limit_files();
}

static void prints_little(void)
{
    printf("all of it\n"); /* not flushed before exit */
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
}

static void after_limit(int status)
{
    EXPECT(status == 0 && file_has("out", "all of it"));
}

/* --- whose files are used --- */

static void runs_alone(void)
{
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, A_LINE("1000 7"));
    CHECK_LINE(1, B_LINE("1000 2000"));
}

static void set_mode(const char *path, mode_t mode)
{
    if (chmod(path, mode)) exit(1);
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    return stat(in_folder(name), &status) ? 0 : status.st_mode & 07777;
}

static void plan_of_everybody(void)
{
    plan_ab();
    set_mode(in_folder("plan.bin"), 0666);
}

static void folder_of_everybody(void)
{
    plan_ab();
    set_mode(preload_folder(), 0777);
}

static void after_everybody(int status)
{
    EXPECT(status == 0 && file_has("log", "may be written by others") && file_has("log", "chmod go-w"));
    EXPECT(file_has("stats", "fused 0") && mode_of("stats"));
}

static void cache_of_everybody(void)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", in_folder("cache"));
    if (mkdir(folder, 0700)) exit(1);
    set_mode(folder, 0777);
    setenv("KFUSE_CACHE", folder, 1);
}

static void after_cache_of_everybody(int status)
{
    EXPECT(status == 0 && file_has("log", "/cache may be written by others"));
    EXPECT(!rmdir(in_folder("cache")));
}

static void new_cache(void)
{
    umask(0);
    setenv("KFUSE_CACHE", in_folder("new/cache"), 1);
}

static void after_new_cache(int status)
{
    EXPECT(status == 0 && mode_of("new") == 0700 && mode_of("new/cache") == 0700);
}

static void older_trace(void)
{
    umask(0);
    FILE *file = fopen(in_folder("app.kftrace"), "w");
    if (!file || fclose(file)) exit(1);
    set_mode(in_folder("app.kftrace"), 0644);
    setenv("KFUSE_RECORD", in_folder("app.kftrace"), 1);
}

static void after_older_trace(int status)
{
    EXPECT(status == 0 && mode_of("app.kftrace") == 0600);
}

/* --- how the program ends --- */

static int threads_alive(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "Threads: %d", &count);
    if (file) fclose(file);
    return count;
}

static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A program that does not end is killed: signals would not end it. */
static void watch(void)
{
    pid_t program = getpid();
    if (fork()) return;
    for (int i = 0; i < 20000 && getppid() == program; i++) wait_a_moment();
    if (getppid() == program) kill(program, SIGKILL);
    _exit(0);
}

static void check_signals(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGTERM));
}

static void ends_by_its_thread(void)
{
    CUdeviceptr array;
    atexit(check_signals);
    watch();
    start_program();
    OK(cuMemAlloc_v2(&array, 4096));
    OK(launch_a(array, 7, NULL));
    OK(launch_b(array, 0x2000, NULL));
    OK(launch_a(array, 8, NULL)); /* held */
    printf("not flushed\n");
    pthread_exit(NULL);
}

static void print_and_plan(void)
{
    plan_ab();
    print_to(STDOUT_FILENO, "out", O_TRUNC);
}

static void hold_for_a_minute(void)
{
    print_and_plan();
    setenv("KFUSE_HOLD_US", "60000000", 1);
}

static void verify_too(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .written = 256});
    print_to(STDOUT_FILENO, "out", O_TRUNC);
    setenv("KFUSE_VERIFY", "1", 1);
}

static void after_end(int status)
{
    EXPECT(status == 0 && file_has("out", "not flushed") && file_has("stats", "issued 2\n"));
}

static void after_verified_end(int status)
{
    EXPECT(status == 0 && file_has("out", "not flushed") && file_has("stats", "verified ab uses 1"));
}

static void hold_shortly(void)
{
    plan_ab();
    setenv("KFUSE_HOLD_US", "100", 1);
}

/* What is held is released also by a timer that had ended before. */
static void holds_now_and_then(void)
{
    watch();
    start_program();
    for (size_t i = 0; i < 4; i++) {
        OK(launch_a(0x1000, 7, NULL));
        while (fake_count() == i) wait_a_moment();
        while (threads_alive() > 1) wait_a_moment();
    }
}

/* In front of the C library's, also for the library. */
static bool has_no_threads;
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*body)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return has_no_threads || !real ? EAGAIN : real(thread, attributes, body, argument);
}

static void holds_without_threads(void)
{
    has_no_threads = true;
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    CHECK_LINE(0, A_LINE("1000 7"));
    OK(launch_b(0x1000, 0x2000, NULL));
    OK(launch_a(0x1000, 8, NULL));
    CHECK_LINE(1, B_LINE("1000 2000"));
    CHECK_LINE(2, A_LINE("1000 8"));
}

static void after_no_threads(int status)
{
    EXPECT(status == 0 && file_has("log", "no thread can be started") && file_has("stats", "fused 0"));
}

static const struct preload_case cases[] = {
    {"counts go through standard output", prints, counts_to_stdout, after_counts},
    {"counts go through the file of standard output", prints, counts_to_its_file, after_counts},
    {"counts go through a descriptor", prints, counts_to_number, after_counts},
    {"counts go through standard error", prints, counts_to_stderr, after_counts},
    {"the log goes through the file of standard output", prints, log_to_its_file, after_log},
    {"no trace where standard output goes", prints, trace_to_its_file, after_trace},
    {"no trace in place of a text", prints, trace_to_a_text, after_text},
    {"a closed pipe ends nothing", prints, to_a_closed_pipe, after_printing},
    {"counts beyond a limit of files end nothing", prints_little, counts_beyond_a_limit, after_limit},
    {"a trace beyond a limit of files ends nothing", prints_little, trace_beyond_a_limit, after_limit},
    {"a plan that others may write is not used", runs_alone, plan_of_everybody, after_everybody},
    {"a folder that others may write is not used", runs_alone, folder_of_everybody, after_everybody},
    {"a cache that others may write is not used", runs_alone, cache_of_everybody, after_cache_of_everybody},
    {"a new cache is the user's alone", runs_alone, new_cache, after_new_cache},
    {"a trace is the user's alone", runs_alone, older_trace, after_older_trace},
    {"the first thread ends first", ends_by_its_thread, print_and_plan, after_end},
    {"the first thread ends first, with a long hold", ends_by_its_thread, hold_for_a_minute, after_end},
    {"the first thread ends first, with verification", ends_by_its_thread, verify_too, after_verified_end},
    {"nothing is held without a timer", holds_without_threads, plan_ab, after_no_threads},
    {"the timer is made again", holds_now_and_then, hold_shortly, NULL},
};

int main(int argc, char **argv)
{
    return preload_main(argc, argv, cases, sizeof cases / sizeof *cases);
}

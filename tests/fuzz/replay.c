/* SPDX-License-Identifier: Apache-2.0
 * Feeds files to a harness, one by one: replay FILE... or folders of them. A file that takes more than
 * SECONDS, or crashes, ends it with the file's name. The last line says how many files were read and how
 * large the process grew: beyond MEMORY_MIB, and without files, it fails. */
#include "tests/fuzz/harness.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS = 20, MEMORY_MIB = 256, SHADOW_MIB = 1 << 20 /* a sanitizer's own */ };
static const char *current = "";
static unsigned long files;

/* Names the input that was being read; then the signal does what it does. */
static void name_input(int number)
{
    static const char says[] = "\nwhile reading ";
    (void)!write(STDERR_FILENO, says, sizeof says - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, "\n", 1);
    signal(number, SIG_DFL);
    raise(number);
}

static void replay_file(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &status)) {
        perror(path);
        exit(99);
    }
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size + !size);
    if (!bytes || fread(bytes, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(99);
    }
    fclose(file);
    current = path;
    alarm(SECONDS);
    LLVMFuzzerTestOneInput(bytes, size);
    alarm(0);
    free(bytes);
    files++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inside[PATH_MAX];
        if (entry->d_name[0] == '.') continue;
        if ((size_t)snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) >= sizeof inside) exit(99);
        replay(inside);
    }
    closedir(folder);
}

/* The most address space that the process had, in MiB: memory that is taken but not touched counts. */
static unsigned long peak_of_memory(void)
{
    char line[128];
    unsigned long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "VmPeak: %lu", &kilobytes) != 1)
        continue;
    if (status) fclose(status);
    return kilobytes / 1024;
}

int main(int argc, char **argv)
{
    signal(SIGALRM, name_input);
    signal(SIGABRT, name_input);
    signal(SIGSEGV, name_input);
    for (int i = 1; i < argc; i++) replay(argv[i]);
    unsigned long peak = peak_of_memory();
    printf("%lu files, %lu MiB\n", files, peak);
    return !files || (peak > MEMORY_MIB && peak < SHADOW_MIB);
}

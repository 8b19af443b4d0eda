/* SPDX-License-Identifier: Apache-2.0
 * kfuse record: runs a program with the recorder on. Replaced by the program, whose exit status is the
 * command's. */
#include "common/trace.h"
#include "tools/commands.h"
#include "tools/preload.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(void)
{
    printf("usage: kfuse record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
           "Run PROGRAM unchanged and write its kernel launches into a trace.\n\n"
           "  -o, --output FILE   the trace [PROGRAM.kftrace in this folder]\n"
           "  -n, --launches N    stop recording after N launches, or sooner when they repeat; 0: record "
           "them all\n"
           "      --own-stream    for runs with the same option: launches in per-thread default streams may "
           "be fused\n"
           "      --through-sync  for runs with the same option: launches before and behind a wait may be "
           "fused\n"
           "  -e, --emulate       run on the CPU instead of a GPU\n"
           "  -h, --help          print this text\n\n"
           "Next: kfuse plan FILE\n");
}

/* Says at once, not after a long run, that the trace cannot be written. The program runs all the same. */
static void check_writable(const char *path)
{
    const char *error = NULL;
    if (!trace_may_write(path, &error))
        command_error("record",
                      "%s: %s; the program runs without being recorded (choose another file with -o)", path,
                      error);
}

int command_record(int argc, char **argv)
{
    enum { THROUGH_SYNC = 256, OWN_STREAM };
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"launches", required_argument, NULL, 'n'},
                                            {"through-sync", no_argument, NULL, THROUGH_SYNC},
                                            {"own-stream", no_argument, NULL, OWN_STREAM},
                                            {"emulate", no_argument, NULL, 'e'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *output = NULL, *launches = NULL;
    uint32_t number;
    bool emulate = false;
    int option;
    while ((option = getopt_long(argc, argv, "+o:n:eh", options, NULL)) != -1) switch (option) {
        case 'o':
            output = optarg;
            break;
        case 'n':
            launches = optarg;
            if (!command_number(optarg, &number))
                return command_usage("record", "%s: not a number of launches", optarg);
            break;
        case THROUGH_SYNC:
            setenv("KFUSE_THROUGH_SYNC", "1", 1);
            break;
        case OWN_STREAM:
            setenv("KFUSE_OWN_STREAM", "1", 1);
            break;
        case 'e':
            emulate = true;
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("record", NULL);
        }
    if (optind == argc) return command_usage("record", "which program?");

    char named[NAME_MAX + 16], path[PATH_MAX];
    if (!output) {
        const char *slash = strrchr(argv[optind], '/');
        snprintf(named, sizeof named, "%s.kftrace", slash ? slash + 1 : argv[optind]);
        output = named;
    }
    if (!preload_absolute(output, path, sizeof path))
        return command_error("record", "%s: path too long", output);
    check_writable(path);
    setenv("KFUSE_RECORD", path, 1);
    unsetenv("KFUSE_PLAN");
    if (launches) setenv("KFUSE_RECORD_LAUNCHES", launches, 1);
    return preload_program("record", argv + optind, emulate);
}

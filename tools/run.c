/* SPDX-License-Identifier: Apache-2.0
 * kfuse run: runs a program with a plan's fused kernels. Replaced by the program, whose exit status is the
 * command's. A plan that cannot be used is reported, and the program runs as it would without kfuse. */
#include "common/plan.h"
#include "tools/commands.h"
#include "tools/preload.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(void)
{
    printf("usage: kfuse run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
           "Run PROGRAM with the fused kernels of a plan. Results stay bit-identical.\n\n"
           "  -p, --plan DIR      the plan [the one in the user's cache folder for PROGRAM's modules]\n"
           "  -s, --stats FILE    write counts of launches and groups at the end; - is standard error\n"
           "      --verify[=N]    compare the first N uses of each group with its kernels [3]\n"
           "      --no-measure    use fused kernels whether they turn out faster or not\n"
           "      --no-chains     hand every launch to the driver by itself, never several as a CUDA graph\n"
           "      --own-stream    fuse launches in per-thread default streams, too\n"
           "      --through-sync  let waits for the device return at once where only a clock could tell\n"
           "      --hold-us N     hold a launch for at most N microseconds [100]\n"
           "  -e, --emulate       run on the CPU instead of a GPU\n"
           "  -h, --help          print this text\n");
}

/* A plan that does not hold together is told of here; whether it fits the device, the library sees. */
static void use_plan(const char *path)
{
    struct plan plan;
    char error[512];
    if (plan_map_trusted(&plan, path, error, sizeof error)) {
        plan_unmap(&plan);
        setenv("KFUSE_PLAN", path, 1);
    } else {
        command_error("run", "%s; the program runs without it", error);
        setenv("KFUSE_DISABLE", "1", 1);
    }
}

struct request {
    const char *plan, *stats, *hold, *verify; /* NULL: not given */
    bool emulate, no_measure, no_chains, through_sync, own_stream;
};

static int run(const struct request *request, char **program)
{
    char path[PATH_MAX];
    unsetenv("KFUSE_RECORD");
    if (request->plan) {
        if (!preload_absolute(request->plan, path, sizeof path))
            return command_error("run", "%s: path too long", request->plan);
        use_plan(path);
    }
    if (request->stats) {
        bool is_file = strcmp(request->stats, "-") != 0;
        if (is_file && !preload_absolute(request->stats, path, sizeof path))
            return command_error("run", "%s: path too long", request->stats);
        setenv("KFUSE_STATS", is_file ? path : "/dev/stderr", 1);
    }
    if (request->hold) setenv("KFUSE_HOLD_US", request->hold, 1);
    if (request->verify) setenv("KFUSE_VERIFY", request->verify, 1);
    if (request->through_sync) setenv("KFUSE_THROUGH_SYNC", "1", 1);
    if (request->own_stream) setenv("KFUSE_OWN_STREAM", "1", 1);
    if (request->no_measure) setenv("KFUSE_MEASURE", "0", 1);
    if (request->no_chains) setenv("KFUSE_CHAINS", "0", 1);
    return preload_program("run", program, request->emulate);
}

int command_run(int argc, char **argv)
{
    enum { HOLD = 256, VERIFY, NO_MEASURE, NO_CHAINS, THROUGH_SYNC, OWN_STREAM };
    static const struct option options[] = {{"plan", required_argument, NULL, 'p'},
                                            {"stats", required_argument, NULL, 's'},
                                            {"hold-us", required_argument, NULL, HOLD},
                                            {"emulate", no_argument, NULL, 'e'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"verify", optional_argument, NULL, VERIFY},
                                            {"no-measure", no_argument, NULL, NO_MEASURE},
                                            {"no-chains", no_argument, NULL, NO_CHAINS},
                                            {"through-sync", no_argument, NULL, THROUGH_SYNC},
                                            {"own-stream", no_argument, NULL, OWN_STREAM},
                                            {NULL, 0, NULL, 0}};
    struct request request = {0};
    uint32_t number;
    int option;
    while ((option = getopt_long(argc, argv, "+p:s:eh", options, NULL)) != -1) switch (option) {
        case 'p':
            request.plan = optarg;
            break;
        case 's':
            request.stats = optarg;
            break;
        case HOLD:
            request.hold = optarg;
            if (!command_number(optarg, &number))
                return command_usage("run", "%s: not a number of microseconds", optarg);
            break;
        case VERIFY:
            request.verify = optarg ? optarg : "3";
            if (!command_number(request.verify, &number) || !number || number > 1000000)
                return command_usage("run", "%s: not a number of uses from 1 to 1000000", request.verify);
            break;
        case NO_MEASURE:
            request.no_measure = true;
            break;
        case NO_CHAINS:
            request.no_chains = true;
            break;
        case THROUGH_SYNC:
            request.through_sync = true;
            break;
        case OWN_STREAM:
            request.own_stream = true;
            break;
        case 'e':
            request.emulate = true;
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("run", NULL);
        }
    if (optind == argc) return command_usage("run", "which program?");
    return run(&request, argv + optind);
}

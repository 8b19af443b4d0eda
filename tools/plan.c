/* SPDX-License-Identifier: Apache-2.0
 * kfuse plan: makes a plan folder from a trace, or from each trace in the user's cache folder that has none
 * yet. */
#include "fuser/fusion/group.h"
#include "fuser/planner/planner.h"
#include "fuser/solver/deadline.h"
#include "common/cache.h"
#include "common/trusted.h"
#include "tools/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_help(void)
{
    printf(
        "usage: kfuse plan [OPTION]... [TRACE]\n"
        "Find the kernels of TRACE that can be fused, compile them, and write a plan folder. Needs no GPU.\n"
        "Without TRACE, plan what has been recorded in the user's cache folder and has no plan yet.\n\n"
        "  -o, --output DIR      the plan [TRACE with .kfplan in place of .kftrace]\n"
        "  -m, --margin SHARE    a group must gain this share of its members' time [0.03]\n"
        "      --max-members N   launches in one group, at most [16, or those of the loop that they\n"
        "                        are in, up to 32]\n"
        "      --seconds N       plan for N seconds at most; what was not come to by then stays apart;\n"
        "                        0: as long as it takes [600]\n"
        "  -j, --jobs N          use N cores; the plan is the same [those that there are]\n"
        "      --keep-losing     keep groups that are legal but not expected to gain, for tests\n"
        "      --measured FILE   leave out what runs have measured to lose [what they left in DIR]\n"
        "      --no-measured     take no notice of it\n"
        "      --store-all       fused kernels store all that their members do\n"
        "      --only KINDS      of inner-thread, joined loops, inner-block, halo, halo in each iteration, "
        "one-block, between commas\n"
        "      --without KINDS   all but these\n"
        "      --march N         blocks of halo fusions march, N layers each, wherever they can; never: "
        "none\n"
        "                        does [where it is expected to pay]\n"
        "  -q, --quiet           print nothing but errors\n"
        "  -h, --help            print this text\n\n"
        "Next: kfuse run -p DIR -- PROGRAM\n");
}

/* One line that is written over; context: whether it is wanted. */
static void show_progress(void *context, const char *phase, uint32_t done, uint32_t total)
{
    (void)context;
    fprintf(stderr, "\r\033[Kkfuse plan: %s %u/%u", phase, done, total);
    fflush(stderr);
}

static void print_summary(const struct planner_options *options, const struct planner_summary *summary)
{
    printf("%s: %llu launches become %llu in %u group%s; device time %.3f ms becomes %.3f ms (projected); "
           "planned in %.1f s\n",
           options->plan_path, (unsigned long long)summary->launches_before,
           (unsigned long long)summary->launches_after, summary->groups, summary->groups == 1 ? "" : "s",
           (double)summary->original_ns / 1e6, (double)summary->planned_ns / 1e6, summary->seconds);
    if (summary->cut)
        printf("%s: %g seconds were too few: cut short while %s (`kfuse plan --seconds` gives it more)\n",
               options->plan_path, options->most_seconds, summary->cut);
    if (summary->refusal[0])
        printf("%s: %u of %u kernels cannot be fused, as %s (`kfuse explain %s` tells of the others)\n",
               options->plan_path, summary->kernels - summary->kernels_analysed, summary->kernels,
               summary->refusal, options->plan_path);
    if (summary->trace_damaged_bytes)
        printf("%s: the last %llu bytes could not be read; the plan is made from what comes before\n",
               options->trace_path, (unsigned long long)summary->trace_damaged_bytes);
}

/* TRACE with its ending, if it is the usual one, replaced. */
static bool plan_path_for(const char *trace, char *path, size_t size)
{
    const char *ending = ".kftrace";
    size_t length = strlen(trace), drop = strlen(ending);
    if (length <= drop || strcmp(trace + length - drop, ending) != 0) drop = 0;
    return (size_t)snprintf(path, size, "%.*s.kfplan", (int)(length - drop), trace) < size;
}

static int plan_one(struct planner_options *options, bool is_quiet)
{
    struct planner_summary summary = {0};
    char error[1024] = "";
    bool is_terminal = !is_quiet && isatty(STDERR_FILENO);
    options->progress = is_terminal ? show_progress : NULL;
    bool is_planned = planner_run(options, &summary, error, sizeof error);
    if (is_terminal) fprintf(stderr, "\r\033[K");
    if (!is_planned) return command_error("plan", "%s", error);
    if (!is_quiet) print_summary(options, &summary);
    return COMMAND_DONE;
}

/* In a process of its own: *died_of is the signal, or 0. Where there is none to be had, in this one. */
static int plan_apart(struct planner_options *options, bool is_quiet, int *died_of)
{
    int status = 0;
    *died_of = 0;
    fflush(NULL);
    pid_t planner = fork();
    if (planner < 0) return plan_one(options, is_quiet);
    if (planner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* who ends the command ends the planning */
        status = plan_one(options, is_quiet);
        fflush(NULL);
        _exit(status);
    }
    while (waitpid(planner, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) *died_of = WTERMSIG(status);
    return *died_of ? COMMAND_FAILED : WEXITSTATUS(status);
}

static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE || signal == SIGILL;
}

/* isl 0.25 follows a null pointer where coalescing meets constraints that depend on each other, which only
 * the many relations of halo fusions were seen to make: then there is a plan without these. */
static int plan_anyhow(struct planner_options *options, bool is_quiet)
{
    options->since = deadline_now(); /* of both plans */
    int died_of, status = plan_apart(options, is_quiet, &died_of);
    if (is_fault(died_of)) {
        fprintf(stderr, "kfuse plan: %s: the planner died (%s); planning again without halo fusions\n",
                options->trace_path, strsignal(died_of));
        options->without_halo = true;
        status = plan_apart(options, is_quiet, &died_of);
        options->without_halo = false;
    }
    if (!died_of) return status;
    return command_error("plan", "%s: the planner died (%s); the program runs as it is", options->trace_path,
                         strsignal(died_of));
}

static int plan_cache(struct planner_options *options, bool is_quiet)
{
    char folder[PATH_MAX], pattern[PATH_MAX + 16], plan[PATH_MAX], why[PATH_MAX + 128];
    if (!cache_folder(folder, sizeof folder))
        return command_error("plan", "no cache folder: set KFUSE_CACHE or HOME, or name a trace");
    int opened = trusted_open(folder, O_DIRECTORY, why, sizeof why);
    if (opened >= 0) close(opened);
    if (opened < 0 && why[0]) return command_error("plan", "%s; or set KFUSE_CACHE to another folder", why);
    snprintf(pattern, sizeof pattern, "%s/*.kftrace", folder);
    glob_t traces = {0};
    int status = COMMAND_DONE, planned = 0;
    if (glob(pattern, 0, NULL, &traces) != 0) traces.gl_pathc = 0;
    for (size_t i = 0; i < traces.gl_pathc; i++) {
        struct stat made;
        char binary[PATH_MAX + 16];
        if (!plan_path_for(traces.gl_pathv[i], plan, sizeof plan)) continue;
        snprintf(binary, sizeof binary, "%s/plan.bin", plan);
        if (stat(binary, &made) == 0) continue;
        options->trace_path = traces.gl_pathv[i];
        options->plan_path = plan;
        if (plan_anyhow(options, is_quiet) != COMMAND_DONE) status = COMMAND_FAILED;
        planned++;
    }
    if (planned == 0 && !is_quiet) printf("%s: nothing to plan (%zu traces)\n", folder, traces.gl_pathc);
    globfree(&traces);
    return status;
}

/* Names of group_fusions between commas, as planner_options.only. False: one is unknown. */
static bool read_kinds(const char *names, uint32_t *kinds)
{
    for (size_t length; names && *names; names = names[length] ? names + length + 1 : NULL) {
        int kind = 0;
        length = strcspn(names, ",");
        while (group_fusions[kind] &&
               (strlen(group_fusions[kind]) != length || strncmp(group_fusions[kind], names, length)))
            kind++;
        if (!group_fusions[kind]) return false;
        *kinds |= UINT32_C(1) << kind;
    }
    return true;
}

int command_plan(int argc, char **argv)
{
    enum { MAX_MEMBERS = 256, SECONDS, KEEP_LOSING, STORE_ALL, ONLY, WITHOUT, MEASURED, NO_MEASURED, MARCH };
    static const struct option long_options[] = {{"output", required_argument, NULL, 'o'},
                                                 {"margin", required_argument, NULL, 'm'},
                                                 {"max-members", required_argument, NULL, MAX_MEMBERS},
                                                 {"seconds", required_argument, NULL, SECONDS},
                                                 {"jobs", required_argument, NULL, 'j'},
                                                 {"keep-losing", no_argument, NULL, KEEP_LOSING},
                                                 {"measured", required_argument, NULL, MEASURED},
                                                 {"no-measured", no_argument, NULL, NO_MEASURED},
                                                 {"store-all", no_argument, NULL, STORE_ALL},
                                                 {"only", required_argument, NULL, ONLY},
                                                 {"without", required_argument, NULL, WITHOUT},
                                                 {"march", required_argument, NULL, MARCH},
                                                 {"quiet", no_argument, NULL, 'q'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    struct planner_options options;
    planner_defaults(&options);
    bool is_quiet = false;
    char *end, path[PATH_MAX];
    uint32_t kinds;
    int option;
    while ((option = getopt_long(argc, argv, "o:m:j:qh", long_options, NULL)) != -1) switch (option) {
        case 'o':
            options.plan_path = optarg;
            break;
        case 'm':
            options.margin = strtod(optarg, &end);
            if (end == optarg || *end || !(options.margin >= 0 && options.margin < 1))
                return command_usage("plan", "%s: the margin must be at least 0 and below 1", optarg);
            break;
        case MAX_MEMBERS:
            if (!command_number(optarg, &options.max_members) || options.max_members < 2)
                return command_usage("plan", "%s: a group has at least 2 members", optarg);
            break;
        case SECONDS:
            options.most_seconds = strtod(optarg, &end);
            if (end == optarg || *end || !(options.most_seconds >= 0))
                return command_usage("plan", "%s: the seconds must be at least 0", optarg);
            break;
        case 'j':
            if (!command_number(optarg, &options.jobs) || !options.jobs)
                return command_usage("plan", "%s: at least one core is used", optarg);
            break;
        case KEEP_LOSING:
            options.keeps_losing = true;
            break;
        case MEASURED:
            options.measured_path = optarg;
            break;
        case NO_MEASURED:
            options.ignores_measured = true;
            break;
        case STORE_ALL:
            options.stores_all = true;
            break;
        case MARCH:
            if (!strcmp(optarg, "never"))
                options.march_layers = UINT32_MAX;
            else if (!command_number(optarg, &options.march_layers) || !options.march_layers)
                return command_usage("plan", "%s: a block marches at least one layer, or never", optarg);
            break;
        case ONLY:
        case WITHOUT:
            kinds = 0;
            if (!read_kinds(optarg, &kinds))
                return command_usage("plan", "%s: no such kind of fusion", optarg);
            options.only = option == WITHOUT ? ~kinds : kinds;
            break;
        case 'q':
            is_quiet = true;
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("plan", NULL);
        }
    if (argc - optind > 1) return command_usage("plan", "one trace at a time");
    if (optind == argc) {
        if (options.plan_path) return command_usage("plan", "-o needs a trace");
        return plan_cache(&options, is_quiet);
    }
    options.trace_path = argv[optind];
    if (!options.plan_path) {
        if (!plan_path_for(argv[optind], path, sizeof path))
            return command_error("plan", "%s: path too long", argv[optind]);
        options.plan_path = path;
    }
    return plan_anyhow(&options, is_quiet);
}

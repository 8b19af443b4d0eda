/* SPDX-License-Identifier: Apache-2.0
 * kfuse plan: makes a plan folder from the traces of a program's runs, or from each trace in the user's cache
 * folder that has none yet. */
#include "fuser/fusion/group.h"
#include "fuser/planner/planner.h"
#include "fuser/solver/deadline.h"
#include "common/cache.h"
#include "common/trusted.h"
#include "tools/commands.h"

#include <dirent.h>
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
        "usage: kfuse plan [OPTION]... [TRACE]...\n"
        "Find the kernels of TRACE that can be fused, compile them, and write a plan folder. Needs no GPU.\n"
        "Several TRACEs, of runs of one program with other sizes or inputs, make one plan for all of them. "
        "A\n"
        "folder stands for the .kftrace files in it.\n"
        "Without TRACE, plan what has been recorded in the user's cache folder and has no plan yet.\n\n"
        "  -o, --output DIR      the plan [the first TRACE with .kfplan in place of .kftrace]\n"
        "  -m, --margin SHARE    a group must gain this share of its members' time [0.03]\n"
        "      --max-members N   launches in one group, at most [16, as many as make whole iterations of\n"
        "                        the loop that they are in; one iteration of up to 32]\n"
        "      --seconds N       plan for N seconds at most; what was not come to by then stays apart;\n"
        "                        0: as long as it takes [600]\n"
        "  -j, --jobs N          use N cores; the plan is the same [those that there are]\n"
        "      --keep-losing     keep groups that are legal but not expected to gain, for tests\n"
        "      --measured FILE   leave out what runs have measured to lose [what they left in DIR]\n"
        "      --no-measured     take no notice of it\n"
        "      --store-all       fused kernels store all that their members do\n"
        "      --only KINDS      of inner-thread, joined loops, inner-block, halo, halo in each iteration, "
        "one-block,\n"
        "                        last-block, inter-block, between commas\n"
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
    char runs[32] = "";
    if (summary->runs > 1) snprintf(runs, sizeof runs, " of %u runs", summary->runs);
    printf("%s: %llu launches%s become %llu in %u group%s; device time %.3f ms becomes %.3f ms (projected); "
           "planned in %.1f s\n",
           options->plan_path, (unsigned long long)summary->launches_before, runs,
           (unsigned long long)summary->launches_after, summary->groups, summary->groups == 1 ? "" : "s",
           (double)summary->original_ns / 1e6, (double)summary->planned_ns / 1e6, summary->seconds);
    if (summary->cut)
        printf("%s: %g seconds were too few: cut short while %s, which may take a share of them (`kfuse plan "
               "--seconds` gives it "
               "more)\n",
               options->plan_path, options->most_seconds, summary->cut);
    if (summary->unverified)
        printf("%s: %u of the groups, %.3f ms of what is gained, run only after `kfuse run --verify` (`kfuse "
               "explain %s` says "
               "why)\n",
               options->plan_path, summary->unverified, (double)summary->unverified_ns / 1e6,
               options->plan_path);
    if (summary->refusal[0])
        printf("%s: %u of %u kernels cannot be fused, as %s (`kfuse explain %s` tells of the others)\n",
               options->plan_path, summary->kernels - summary->kernels_analysed, summary->kernels,
               summary->refusal, options->plan_path);
    if (summary->damaged_trace)
        printf("%s: the last %llu bytes could not be read; the plan is made from what comes before\n",
               summary->damaged_trace, (unsigned long long)summary->trace_damaged_bytes);
}

/* TRACE, or a folder, with its ending, if it is a trace's usual one, replaced. */
static bool plan_path_for(const char *trace, char *path, size_t size)
{
    const char *ending = ".kftrace";
    size_t length = strlen(trace), drop = strlen(ending);
    while (length > 1 && trace[length - 1] == '/') length--;
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
                options->trace_paths[0], strsignal(died_of));
        options->without_halo = true;
        status = plan_apart(options, is_quiet, &died_of);
        options->without_halo = false;
    }
    if (!died_of) return status;
    return command_error("plan", "%s: the planner died (%s); the program runs as it is",
                         options->trace_paths[0], strsignal(died_of));
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
        options->trace_paths = (const char *const *)&traces.gl_pathv[i];
        options->trace_count = 1;
        options->plan_path = plan;
        if (plan_anyhow(options, is_quiet) != COMMAND_DONE) status = COMMAND_FAILED;
        planned++;
    }
    if (planned == 0 && !is_quiet) printf("%s: nothing to plan (%zu traces)\n", folder, traces.gl_pathc);
    globfree(&traces);
    return status;
}

struct trace_list {
    const char **paths;
    uint32_t count;
};

/* Takes the path over; false when memory is out. */
static bool add_path(struct trace_list *list, char *path)
{
    const char **grown = path ? realloc(list->paths, (list->count + 1) * sizeof *grown) : NULL;
    if (grown) {
        list->paths = grown;
        grown[list->count++] = path;
    } else {
        free(path);
    }
    return grown != NULL;
}

static int is_trace(const struct dirent *file)
{
    const char *ending = strrchr(file->d_name, '.');
    return ending && ending != file->d_name && !strcmp(ending, ".kftrace");
}

/* By name. False, and said, where there is none. */
static bool add_folder(struct trace_list *list, const char *folder)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_trace, alphasort);
    bool added = true;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        added = asprintf(&path, "%s/%s", folder, files[i]->d_name) > 0 && add_path(list, path) && added;
        free(files[i]);
    }
    free(files);
    if (count > 0 && added) return true;
    command_error("plan", "%s: %s", folder,
                  count < 0    ? strerror(errno)
                  : count == 0 ? "no .kftrace file in it; record one with `kfuse record -o FILE -- PROGRAM`"
                               : "out of memory");
    return false;
}

static bool add_traces(struct trace_list *list, const char *argument)
{
    struct stat status;
    if (stat(argument, &status) == 0 && S_ISDIR(status.st_mode)) return add_folder(list, argument);
    if (add_path(list, strdup(argument))) return true;
    command_error("plan", "%s: out of memory", argument);
    return false;
}

static int plan_traces(struct planner_options *options, char **arguments, bool is_quiet)
{
    struct trace_list list = {0};
    int status = COMMAND_FAILED;
    bool are_there = true;
    for (; *arguments && are_there; arguments++) are_there = add_traces(&list, *arguments);
    options->trace_paths = list.paths;
    options->trace_count = list.count;
    if (are_there) status = plan_anyhow(options, is_quiet);
    for (uint32_t i = 0; i < list.count; i++) free((char *)list.paths[i]);
    free(list.paths);
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
    if (optind == argc) {
        if (options.plan_path) return command_usage("plan", "-o needs a trace");
        return plan_cache(&options, is_quiet);
    }
    if (!options.plan_path) {
        if (!plan_path_for(argv[optind], path, sizeof path))
            return command_error("plan", "%s: path too long", argv[optind]);
        options.plan_path = path;
    }
    return plan_traces(&options, argv + optind, is_quiet);
}

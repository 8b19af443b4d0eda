/* SPDX-License-Identifier: Apache-2.0
 * kfuse report: what a trace holds, or what a plan found and gains. */
#include "tools/report.h"
#include "tools/commands.h"
#include "tools/trace_summary.h"
#include "tools/trace_text.h"
#include "common/image.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void print_help(void)
{
    printf("usage: kfuse report FILE.kftrace\n"
           "       kfuse report [--stats FILE] DIR.kfplan\n"
           "Show what a trace holds, or what a plan found and gains.\n\n"
           "  -r, --records       every record of a trace as text\n"
           "  -s, --stats FILE    what a run used of the plan (from 'kfuse run --stats FILE')\n"
           "  -h, --help          print this text\n");
}

static void print_head(const char *path, const struct trace_summary *summary)
{
    const struct trace_device *device = &summary->device;
    if (summary->has_device)
        printf("%s: recorded on %s%s (compute %u.%u, driver %u.%u)\n", path, device->name,
               device->is_emulated ? ", emulated" : "", device->compute_major, device->compute_minor,
               device->driver_version / 1000, device->driver_version % 1000 / 10);
    else
        printf("%s: no device was used\n", path);
    if (summary->has_end)
        printf("recording ended because %s\n", trace_text_reason(summary->end.reason));
    else
        printf("recording did not end: the program was killed, or is still running\n");
    if (summary->damaged_bytes)
        printf("damaged: the last %" PRIu64 " bytes cannot be read; what comes before is whole\n",
               summary->damaged_bytes);
}

static void print_launches(const struct trace_summary *summary)
{
    printf("\n%" PRIu64 " launches of %u kernels in %.3f s", summary->launches, summary->kernel_count,
           (double)summary->span_ns / 1e9);
    if (summary->failed) printf("; %" PRIu64 " failed", summary->failed);
    if (summary->captured) printf("; %" PRIu64 " captured into graphs", summary->captured);
    printf("\n");
    if (!summary->launches) return;
    printf("with kernel times: %" PRIu64 " (%.1f%%), %.3f ms of device time\n", summary->timed,
           100.0 * (double)summary->timed / (double)summary->launches, (double)summary->time_ns / 1e6);
    if (!summary->timed)
        printf("  CUPTI was missing or in use; 'kfuse record' with KFUSE_LOG=- says why and what to do\n");
    printf("a launch takes the host %.2f us in the driver\n",
           (double)summary->host_ns / (double)summary->launches / 1e3);
    printf("windows: %" PRIu64 ", launches in each: mean %.1f, median %" PRIu64 ", max %" PRIu64 "\n",
           summary->windows, (double)summary->launches / (double)(summary->windows ? summary->windows : 1),
           summary->window_median, summary->window_max);
    for (uint32_t i = 0; i < summary->ender_count; i++)
        printf("  %8" PRIu64 " ended by %s\n", summary->enders[i].count, summary->enders[i].name);
}

static void print_modules(const struct trace_summary *summary)
{
    static const char *const kinds[] = {
        [IMAGE_UNKNOWN] = "unknown", [IMAGE_PTX] = "PTX", [IMAGE_ELF] = "cubin", [IMAGE_FATBIN] = "fatbin"};
    bool is_fusible = true;
    printf("\nmodules:\n");
    for (uint32_t i = 0; i < summary->module_count; i++) {
        const struct trace_module *module = &summary->modules[i];
        char hash[33];
        hash_text(module->hash, hash);
        printf("  %3u  %s  %-7s %10" PRIu64 " bytes  %s\n", module->module, hash,
               module->image_kind <= IMAGE_FATBIN ? kinds[module->image_kind] : "unknown", module->image_size,
               module->stored_size ? "with PTX" : "without PTX");
        if (!module->stored_size) is_fusible = false;
    }
    if (!is_fusible)
        printf("  Kernels of a module without PTX cannot be fused. For your own code, build with nvcc "
               "-arch=sm_XX\n"
               "  (not -arch=native, which embeds machine code only).\n");
}

static void print_kernels(const struct trace_summary *summary)
{
    printf("\nkernels:\n  %6s %9s %11s %11s %5s %7s  %s\n", "time", "launches", "mean us", "total ms", "regs",
           "shared", "name");
    for (uint32_t i = 0; i < summary->kernel_count; i++) {
        const struct summary_kernel *kernel = &summary->kernels[i];
        if (kernel->timed)
            printf("  %5.1f%% %9" PRIu64 " %11.2f %11.3f",
                   summary->time_ns ? 100.0 * (double)kernel->time_ns / (double)summary->time_ns : 0.0,
                   kernel->launches, (double)kernel->time_ns / (double)kernel->timed / 1e3,
                   (double)kernel->time_ns / 1e6);
        else
            printf("  %6s %9" PRIu64 " %11s %11s", "-", kernel->launches, "-", "-");
        printf(" %5u %7u  %s\n", kernel->record.registers,
               kernel->record.static_shared + kernel->max_dynamic_shared, kernel->name);
    }
}

static void print_memory(const struct trace_summary *summary)
{
    printf("\nallocations: %" PRIu64 ", %.1f MB in all\n", summary->allocations,
           (double)summary->allocated_bytes / 1e6);
    if (summary->copy_count) printf("copies:\n");
    for (uint32_t i = 0; i < summary->copy_count; i++)
        printf("  %8" PRIu64 " %12.3f MB  %s\n", summary->copies[i].count,
               (double)summary->copies[i].bytes / 1e6, summary->copies[i].name);
}

static int print_records(struct trace_reader *reader)
{
    struct trace_view view;
    while (trace_next(reader, &view)) trace_text_print(stdout, &view);
    uint64_t damaged = trace_damaged_bytes(reader);
    if (damaged) printf("damaged  %" PRIu64 " bytes cannot be read\n", damaged);
    return COMMAND_DONE;
}

static int print_tables(const char *path, struct trace_reader *reader)
{
    struct trace_summary summary;
    struct arena *arena = arena_create();
    if (!arena || !trace_summarise(arena, reader, &summary)) {
        arena_free(arena);
        return command_error("report", "%s: out of memory; 'kfuse report --records' needs less", path);
    }
    print_head(path, &summary);
    print_launches(&summary);
    if (summary.module_count) print_modules(&summary);
    if (summary.kernel_count) print_kernels(&summary);
    print_memory(&summary);
    arena_free(arena);
    return COMMAND_DONE;
}

int report_trace(const char *path, bool with_records)
{
    char error[4096 + 256];
    struct trace_reader *reader = trace_reader_open(path, error, sizeof error);
    if (!reader) return command_error("report", "%s", error);
    int status = with_records ? print_records(reader) : print_tables(path, reader);
    trace_reader_close(reader);
    return status;
}

int command_report(int argc, char **argv)
{
    static const struct option options[] = {{"records", no_argument, NULL, 'r'},
                                            {"stats", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *stats = NULL;
    bool with_records = false;
    struct stat status;
    for (int option; (option = getopt_long(argc, argv, "rs:h", options, NULL)) != -1;) switch (option) {
        case 'r':
            with_records = true;
            break;
        case 's':
            stats = optarg;
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("report", NULL);
        }
    if (argc - optind != 1) return command_usage("report", "name one trace or one plan folder");
    const char *path = argv[optind];
    if (stat(path, &status))
        return command_error("report", "%s: %s; 'kfuse record' makes traces, 'kfuse plan' makes plans", path,
                             strerror(errno));
    if (S_ISDIR(status.st_mode))
        return with_records ? command_usage("report", "--records is for traces") : report_plan(path, stats);
    if (stats) return command_usage("report", "--stats is for plans");
    return report_trace(path, with_records);
}

/* SPDX-License-Identifier: Apache-2.0
 * kfuse ptx: what the front end and the analysis see in the PTX of a file: a PTX text, a cubin, a fatbin, an
 * executable or a shared library. Instructions, blocks, loops, affine forms, and the bytes that a launch of
 * given shape touches. */
#include "fuser/access/access.h"
#include "fuser/decompile/decompile.h"
#include "fuser/kernel/plain.h"
#include "tools/commands.h"

#include <getopt.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTERS = 64, MOST_OPERATIONS = 50000000 };

struct request {
    const char *path, *kernel;
    uint32_t sm;
    bool is_list, is_source;
    const char *arguments;      /* hexadecimal, or NULL */
    struct launch_input launch; /* of each kernel, but for the function and its arguments */
    struct launch_pointer pointers[MOST_POINTERS];
};

static void print_help(void)
{
    printf("usage: kfuse ptx [OPTION]... FILE\n"
           "Show instructions, blocks, loops, affine forms and access relations of the kernels in FILE: PTX "
           "text,\n"
           "cubin, fatbin, executable or shared library. The relations are those of one launch.\n\n"
           "  -l, --list              only list the kernels and their parameters\n"
           "  -s, --source            the kernels as C that a person can read, instead\n"
           "  -k, --kernel NAME       only this kernel\n"
           "      --sm N              only PTX for sm_N\n"
           "  -g, --grid X[,Y[,Z]]    blocks [4]\n"
           "  -b, --block X[,Y[,Z]]   threads of a block [128]\n"
           "      --shared N          bytes of dynamic shared memory [0]\n"
           "  -a, --args HEX          the bytes of the parameters; unless given, each 8-byte integer is "
           "taken for a\n"
           "                          pointer, each 4-byte one for the number of threads in x\n"
           "  -p, --pointer OFFSET    the 8 bytes of the parameters here are a pointer (repeat)\n"
           "  -h, --help              print this text\n");
}

static bool parse_shape(const char *text, uint32_t shape[3])
{
    for (int i = 0; i < 3; i++) shape[i] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || value == 0 || value > UINT32_MAX) return false;
        shape[i] = (uint32_t)value;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        text = end + 1;
    }
    return false;
}

/* False when the text is not size bytes of hexadecimal digits. */
static bool parse_bytes(const char *text, unsigned char *bytes, uint32_t size)
{
    if (strlen(text) != 2 * (size_t)size) return false;
    for (uint32_t i = 0; i < size; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'}, *end;
        bytes[i] = (unsigned char)strtoul(digits, &end, 16);
        if (*end || digits[0] == '-' || digits[0] == '+' || digits[0] == ' ') return false;
    }
    return true;
}

static bool is_integer(const struct ptx_variable *parameter, uint64_t size)
{
    return parameter->size == size && !ptx_type_is_float(parameter->type);
}

/* Without --args: as many elements as threads, and, where none is named, pointers wherever they may be. */
static void guess_arguments(struct launch_input *input, unsigned char *bytes, struct launch_pointer *pointers)
{
    const bool are_named = input->pointer_count > 0;
    uint32_t threads = input->grid[0] * input->block[0];
    for (uint32_t i = 0; i < input->function->parameter_count; i++) {
        const struct ptx_variable *parameter = &input->function->parameters[i];
        if (is_integer(parameter, 4)) memcpy(bytes + parameter->offset, &threads, 4);
        if (is_integer(parameter, 8) && !are_named && input->pointer_count < MOST_POINTERS)
            pointers[input->pointer_count++].offset = parameter->offset;
    }
}

static int print_kernel(const struct request *request, const struct ptx_function *function, isl_ctx *ctx)
{
    struct launch_pointer pointers[MOST_POINTERS];
    unsigned char *bytes = calloc(1, function->parameter_bytes + 1);
    if (!bytes) return command_error("ptx", "out of memory");
    struct launch_input input = request->launch;
    input.function = plain_function(function->module->arena, function);
    input.arguments = bytes;
    input.arguments_size = function->parameter_bytes;
    input.pointers = pointers;
    memcpy(pointers, request->pointers, sizeof pointers);
    if (!request->arguments)
        guess_arguments(&input, bytes, pointers);
    else if (!parse_bytes(request->arguments, bytes, function->parameter_bytes)) {
        free(bytes);
        return command_error(
            "ptx", "%s: kernel %s takes %u bytes of parameters: give %u hexadecimal digits to --args",
            request->path, function->name, function->parameter_bytes, 2 * function->parameter_bytes);
    }
    struct access_summary *summary = access_analyse(ctx, &input);
    if (summary) access_print(stdout, summary);
    access_summary_free(summary);
    free(bytes);
    return summary ? COMMAND_DONE : command_error("ptx", "out of memory");
}

static int print_source(const struct request *request, const struct ptx_function *function)
{
    const struct decompile_options options = {.title = function->name};
    const char *reason = NULL;
    struct arena *arena = arena_create();
    if (!arena) return command_error("ptx", "out of memory");
    int status = COMMAND_DONE;
    function = plain_function(arena, function);
    if (!decompile_kernel(stdout, arena, function, &options, &reason))
        status = command_error("ptx", "%s: kernel %s: %s", request->path, function->name, reason);
    printf("\n");
    arena_free(arena);
    return status;
}

static void list_kernel(const struct ptx_function *function)
{
    printf("%s:", function->name);
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *parameter = &function->parameters[i];
        printf(" %s[%u,%llu)", ptx_type_name(parameter->type), parameter->offset,
               (unsigned long long)(parameter->offset + parameter->size));
    }
    printf("%s%s\n", function->unreadable ? "  unreadable: " : "",
           function->unreadable ? function->unreadable : "");
}

/* The kernels of one PTX text that were asked for; counts them. */
static int print_module(const struct request *request, const struct ptx_text *text, isl_ctx *ctx,
                        uint32_t *shown)
{
    const char *error = NULL;
    int status = COMMAND_DONE;
    struct ptx_module *module = ptx_parse(request->path, text->text, text->length, &error);
    if (!module) return command_error("ptx", "out of memory");
    if (error) {
        command_error("ptx", "%s", error);
        ptx_module_free(module);
        return COMMAND_FAILED;
    }
    printf("// %s: PTX %u.%u for %s\n", request->path, module->version_major, module->version_minor,
           module->target ? module->target : "an unnamed target");
    for (uint32_t i = 0; i < module->function_count && status == COMMAND_DONE; i++) {
        const struct ptx_function *function = module->functions[i];
        if (!function->is_entry || (request->kernel && strcmp(function->name, request->kernel) != 0))
            continue;
        (*shown)++;
        if (request->is_list)
            list_kernel(function);
        else if (request->is_source)
            status = print_source(request, function);
        else if (function->unreadable)
            printf("%s: unreadable: %s\n", function->name, function->unreadable);
        else
            status = print_kernel(request, function, ctx);
    }
    ptx_module_free(module);
    return status;
}

static int print_file(const struct request *request)
{
    struct arena *arena = arena_create();
    isl_ctx *ctx = isl_ctx_alloc();
    if (!arena || !ctx) return command_error("ptx", "out of memory");
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, MOST_OPERATIONS);

    struct ptx_text *texts = NULL;
    const char *error = NULL;
    uint32_t count = ptx_texts_of_file(arena, request->path, &texts, &error), shown = 0;
    int status = COMMAND_DONE;
    if (count == 0) status = command_error("ptx", "%s", error ? error : "out of memory");
    for (uint32_t i = 0; i < count && status == COMMAND_DONE; i++) {
        if (request->sm && texts[i].sm != request->sm) continue;
        status = print_module(request, &texts[i], ctx, &shown);
    }
    if (status == COMMAND_DONE && shown == 0 && (request->kernel || request->sm))
        status = command_error("ptx", "%s: no such kernel; 'kfuse ptx --list %s' names them", request->path,
                               request->path);
    isl_ctx_free(ctx);
    arena_free(arena);
    return status;
}

int command_ptx(int argc, char **argv)
{
    enum { SM = 256, SHARED };
    static const struct option options[] = {{"list", no_argument, NULL, 'l'},
                                            {"source", no_argument, NULL, 's'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"sm", required_argument, NULL, SM},
                                            {"grid", required_argument, NULL, 'g'},
                                            {"block", required_argument, NULL, 'b'},
                                            {"shared", required_argument, NULL, SHARED},
                                            {"args", required_argument, NULL, 'a'},
                                            {"pointer", required_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct request request = {.launch = {.grid = {4, 1, 1}, .block = {128, 1, 1}}};
    struct launch_input *launch = &request.launch;
    int option;
    while ((option = getopt_long(argc, argv, "lsk:g:b:a:p:h", options, NULL)) != -1) switch (option) {
        case 'l':
            request.is_list = true;
            break;
        case 's':
            request.is_source = true;
            break;
        case 'k':
            request.kernel = optarg;
            break;
        case SM:
            if (!command_number(optarg, &request.sm))
                return command_usage("ptx", "%s: not a number, as 90 of sm_90", optarg);
            break;
        case 'g':
            if (!parse_shape(optarg, launch->grid)) return command_usage("ptx", "%s: not a grid", optarg);
            break;
        case 'b':
            if (!parse_shape(optarg, launch->block)) return command_usage("ptx", "%s: not a block", optarg);
            break;
        case SHARED:
            if (!command_number(optarg, &launch->dynamic_shared))
                return command_usage("ptx", "%s: not a number of bytes", optarg);
            break;
        case 'a':
            request.arguments = optarg;
            break;
        case 'p':
            if (launch->pointer_count == MOST_POINTERS) return command_usage("ptx", "too many pointers");
            if (!command_number(optarg, &request.pointers[launch->pointer_count++].offset))
                return command_usage("ptx", "%s: not an offset", optarg);
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("ptx", NULL);
        }
    if (argc - optind != 1) return command_usage("ptx", "name one file");
    request.path = argv[optind];
    return print_file(&request);
}

/* SPDX-License-Identifier: Apache-2.0
 * What the parser says of an entry's interface is what ptxas made of it: check_layout PTX CUBIN. Compared:
 * number, offsets and sizes of the parameters, and the launch bounds, with the attributes in the cubin's
 * section .nv.info.NAME (as ptxas 13.0 writes them). Names each difference; exit status 1 then. */
#include "ptx/ptx.h"
#include "tests/ptx/cubin.h"

#include <stdlib.h>
#include <string.h>

/* Formats and kinds of attributes */
enum { FORMAT_HALF = 3, FORMAT_BYTES = 4 };
enum { MAX_THREADS = 0x05, REQUIRED_THREADS = 0x10, PARAMETER = 0x17, PARAMETER_BYTES = 0x19 };

struct attribute {
    uint8_t format, kind;
    uint16_t value; /* FORMAT_BYTES: how many follow */
};
struct parameter_info { /* of kind PARAMETER */
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t space_and_size; /* bytes in the upper 14 bits */
};

static unsigned differences;

static void expect(const struct ptx_function *function, const char *what, uint32_t is, uint32_t made)
{
    if (is == made) return;
    printf("%s: %s: %u in the parser, %u in the code\n", function->name, what, is, made);
    differences++;
}

static void check_parameter(const struct ptx_function *function, const unsigned char *payload)
{
    struct parameter_info info;
    memcpy(&info, payload, sizeof info);
    if (info.ordinal >= function->parameter_count) {
        expect(function, "parameters", function->parameter_count, info.ordinal + 1);
        return;
    }
    const struct ptx_variable *parameter = &function->parameters[info.ordinal];
    expect(function, "a parameter's offset", parameter->offset, info.offset);
    expect(function, "a parameter's size", (uint32_t)parameter->size, info.space_and_size >> 18);
}

static void check_threads(const struct ptx_function *function, const uint32_t bounds[3],
                          const unsigned char *payload)
{
    uint32_t made[3];
    memcpy(made, payload, sizeof made);
    for (int i = 0; i < 3; i++) expect(function, "a launch bound", bounds[i] ? bounds[i] : 1, made[i]);
}

static void check_function(const struct ptx_function *function, const struct section *section)
{
    struct attribute attribute;
    uint32_t parameters = 0, bytes = 0;
    for (size_t at = 0; at + sizeof attribute <= section->header->sh_size;) {
        memcpy(&attribute, section->bytes + at, sizeof attribute);
        const unsigned char *payload = section->bytes + at + sizeof attribute;
        if (attribute.format == FORMAT_BYTES && attribute.kind == PARAMETER) {
            check_parameter(function, payload);
            parameters++;
        }
        if (attribute.format == FORMAT_BYTES && attribute.kind == MAX_THREADS)
            check_threads(function, function->maxntid, payload);
        if (attribute.format == FORMAT_BYTES && attribute.kind == REQUIRED_THREADS)
            check_threads(function, function->reqntid, payload);
        if (attribute.format == FORMAT_HALF && attribute.kind == PARAMETER_BYTES) bytes = attribute.value;
        at += sizeof attribute + (attribute.format == FORMAT_BYTES ? attribute.value : 0);
    }
    expect(function, "parameters", function->parameter_count, parameters);
    expect(function, "bytes of parameters", function->parameter_bytes, bytes);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    const char *error;
    if (argc != 3 || !arena || ptx_texts_of_file(arena, argv[1], &texts, &error) != 1) {
        fprintf(stderr, "usage: check_layout PTX CUBIN\n");
        return 2;
    }
    struct cubin cubin = cubin_read(argv[2]);
    struct ptx_module *module = ptx_parse(argv[1], texts[0].text, texts[0].length, &error);
    if (!module) return 2;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = module->functions[i];
        struct section section;
        if (!function->is_entry || function->is_declaration) continue;
        bool is_there = cubin_find(&cubin, arena_printf(arena, ".nv.info.%s", function->name), &section);
        if (is_there) check_function(function, &section);
        expect(function, "kernels of that name", 1, is_there);
    }
    ptx_module_free(module);
    arena_free(arena);
    free(cubin.bytes);
    return differences != 0;
}

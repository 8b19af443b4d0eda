/* SPDX-License-Identifier: Apache-2.0
 * plan.bin: what the builder writes is mapped back; whatever is wrong in the file, it is refused whole, and
 * what is accepted can be followed blindly. */
#include "common/image.h"
#include "common/plan_build.h"
#include "tests/common/follow_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/kfuse-test-plan-XXXXXX";
static char path[128];
static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

static struct plan_step step_of(uint32_t kernel)
{
    return (struct plan_step){.kernel = kernel,
                              .role = PLAN_MEMBER,
                              .grid = {8, 1, 1},
                              .block = {256, 1, 1},
                              .arguments_size = 16,
                              .max_gap_ns = 1000};
}

/* Two groups: scale+add with two variants, and one that passes a launch over. */
static struct plan_builder *build_sample(struct arena *arena)
{
    static const unsigned char mask[16] = {[8] = 0xff}, value[16] = {[8] = 3};
    struct plan_builder *builder = plan_build_start(arena);
    plan_build_device(builder, "NVIDIA H100 80GB HBM3", 9, 0, 13000, false);
    plan_build_source(builder, hash_bytes("{}", 2));
    uint32_t module = plan_build_module(builder, hash_bytes("module", 6));
    struct plan_kernel scale = {
        .module = module, .name = plan_build_string(builder, "scale"), .parameter_bytes = 16};
    static const char *const variables[] = {"factors", "table"};
    struct plan_kernel add = {.module = module,
                              .name = plan_build_string(builder, "add"),
                              .parameter_bytes = 16,
                              .first_variable = plan_build_variables(builder, variables, 2),
                              .variable_count = 2};
    uint32_t first = plan_build_kernel(builder, &scale), second = plan_build_kernel(builder, &add);
    struct guard_check value_is = {.kind = GUARD_VALUE, .size = 4, .offset_a = 12, .value = {3}};
    struct guard_check same = {.kind = GUARD_DIFFERENCE, .step_a = 0, .step_b = 1, .offset_b = 8};
    struct guard_check inside = {.kind = GUARD_INSIDE, .value = {0, 4096}};
    struct plan_parameter parameters[] = {{0, 0, 0, 16}, {1, 24, 16, 8}};
    struct plan_variant variant = {
        .grid = {8, 1, 1}, .block = {256, 1, 1}, .parameter_bytes = 56, .registers = 20};
    struct plan_rename rename = {.step = 1, .from = -64, .bytes = 4096, .destination_offset = 24};
    struct plan_step steps[] = {step_of(first), step_of(second)};

    plan_build_group(builder, "scale_add", 0, 5000, 0);
    plan_build_step(builder, &steps[0], mask, value, &value_is, 1);
    plan_build_step(builder, &steps[1], NULL, NULL, &same, 1);
    plan_build_effect(builder, &(struct plan_effect){.kind = PLAN_WRITES, .step = 1, .offset = 8, .to = 4096},
                      NULL);
    plan_build_variant(builder, &variant, "kfuse_scale_add", ptx, sizeof ptx, parameters, 2, &inside, 1);
    plan_build_variant(builder, &variant, "kfuse_scale_add_2", ptx, sizeof ptx, parameters, 2, NULL, 0);
    plan_build_rename(builder, &rename);
    rename = (struct plan_rename){.offset = 8,
                                  .bytes = 512,
                                  .destination_offset = 40,
                                  .flags = PLAN_RENAME_PARTIAL,
                                  .written = {.from = 8,
                                              .width = 16,
                                              .row_pitch = 64,
                                              .rows = 2,
                                              .layers = 2,
                                              .layer_rows = 3}}; /* ends at 280 */
    plan_build_rename(builder, &rename);

    plan_build_group(builder, "add_add", PLAN_NEEDS_VERIFICATION, 100, 0);
    plan_build_step(builder, &steps[1], NULL, NULL, NULL, 0);
    steps[0].role = PLAN_BEFORE;
    plan_build_step(builder, &steps[0], NULL, NULL, NULL, 0);
    plan_build_step(builder, &steps[1], NULL, NULL, &same, 1);
    plan_build_variant(builder, &variant, "kfuse_add_add", ptx, sizeof ptx, parameters, 1, NULL, 0);

    plan_build_group(builder, "add_scale", 0, 100,
                     0); /* leaves what its second step writes stale, or stores it */
    plan_build_step(builder, &steps[0], NULL, NULL, NULL, 0);
    plan_build_step(builder, &steps[1], NULL, NULL, NULL, 0);
    struct plan_variant lazy = variant;
    lazy.rematerialisation = 2;
    plan_build_variant(builder, &lazy, "kfuse_add_scale_lazy", ptx, sizeof ptx, parameters, 1, NULL, 0);
    plan_build_stale(builder,
                     &(struct plan_stale){.step = 1,
                                          .from = -8,
                                          .bytes = 64,
                                          .flags = PLAN_STALE_PARTIAL,
                                          .left = {.width = 16, .row_pitch = 32, .rows = 2, .layers = 1}});
    plan_build_overwrite(builder, &(struct plan_overwrite){.step = 1, .from = -8, .bytes = 64},
                         &(struct plan_cover){.distance = -8}, 1);
    plan_build_variant(builder, &variant, "kfuse_add_scale", ptx, sizeof ptx, parameters, 1, NULL, 0);

    plan_build_group(builder, "bystander", PLAN_BYSTANDER, 0, 0);
    plan_build_step(builder, &steps[1], NULL, NULL, NULL, 0);
    plan_build_overwrite(builder, &(struct plan_overwrite){.bytes = 8, .flags = PLAN_OVERWRITE_COMPLETE},
                         NULL, 0);
    return builder;
}

static unsigned char *sample(struct arena *arena, size_t *size)
{
    char error[256];
    unsigned char *bytes = plan_build_bytes(build_sample(arena), size, error, sizeof error);
    assert_non_null(bytes);
    return bytes;
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static int setup(void **state)
{
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/plan.bin", folder);
    *state = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static int begin(void **state)
{
    *state = arena_create();
    return *state ? 0 : -1;
}

static int end(void **state)
{
    arena_free(*state);
    return 0;
}

static bool is_accepted(const void *bytes, size_t size, char error[256])
{
    struct plan plan;
    write_file(bytes, size);
    bool accepted = plan_map(&plan, folder, error, 256);
    if (accepted) {
        follow_plan_copy(&plan);
    } else {
        assert_non_null(strstr(error, path));
        assert_non_null(strstr(error, "kfuse plan"));
        assert_null(plan.header);
    }
    plan_unmap(&plan);
    return accepted;
}

static void maps_what_was_built(void **state)
{
    char error[256];
    struct plan plan;
    assert_true(plan_build_write(build_sample(*state), folder, error, sizeof error));
    assert_true(plan_map(&plan, folder, error, sizeof error));
    assert_string_equal(plan.header->device_name, "NVIDIA H100 80GB HBM3");
    assert_int_equal(plan.header->groups.count, 4);
    assert_int_equal(plan.header->modules.count, 1);
    assert_int_equal(plan.header->kernels.count, 2);
    assert_string_equal(plan.strings + plan.groups[0].name, "scale_add");
    assert_int_equal(plan.groups[0].step_count, 2);
    assert_int_equal(plan.groups[0].variant_count, 2);
    assert_int_equal(plan.groups[1].first_step, 2);
    assert_int_equal(plan.groups[1].step_count, 3);
    assert_int_equal(plan.steps[3].role, PLAN_BEFORE);
    assert_int_equal(plan.masks[plan.steps[0].mask + 8], 0xff);
    assert_int_equal(plan.masks[plan.steps[0].mask + 16 + 8], 3);
    assert_string_equal(plan.strings + plan.variants[1].entry, "kfuse_scale_add_2");
    assert_int_equal(plan.variants[0].code, plan.variants[2].code); /* equal code is stored once */
    assert_string_equal(plan.code + plan.variants[0].code, ptx);
    assert_int_equal(plan.guards[plan.variants[0].first_guard].kind, GUARD_INSIDE);
    assert_int_equal(plan.variants[0].rename_count, 0);
    assert_int_equal(plan.variants[1].rename_count, 2);
    assert_int_equal(plan.variants[2].rename_count, 0);
    assert_int_equal(plan.renames[plan.variants[1].first_rename].from, -64);
    assert_int_equal(plan.renames[plan.variants[1].first_rename + 1].flags, PLAN_RENAME_PARTIAL);
    assert_int_equal(plan.variants[3].stale_count, 1);
    assert_int_equal(plan.stales[plan.variants[3].first_stale].from, -8);
    assert_int_equal(plan.variants[4].stale_count, 0);
    assert_int_equal(plan.groups[3].variant_count, 0);
    follow_plan_copy(&plan);
    plan_unmap(&plan);
}

static void an_empty_plan_is_a_plan(void **state)
{
    char error[256];
    size_t size;
    void *bytes = plan_build_bytes(plan_build_start(*state), &size, error, sizeof error);
    assert_true(is_accepted(bytes, size, error));
}

static void equal_things_are_stored_once(void **state)
{
    struct plan_builder *builder = plan_build_start(*state);
    uint32_t axpy = plan_build_string(builder, "axpy");
    assert_int_equal(plan_build_string(builder, ""), 0);
    assert_int_not_equal(plan_build_string(builder, "axp"), axpy);
    assert_int_equal(plan_build_string(builder, "axpy"), axpy);
    assert_int_equal(plan_build_module(builder, hash_bytes("a", 1)), 0);
    assert_int_equal(plan_build_module(builder, hash_bytes("b", 1)), 1);
    assert_int_equal(plan_build_module(builder, hash_bytes("a", 1)), 0);
}

static void the_same_plan_has_the_same_bytes(void **state)
{
    size_t first_size, second_size;
    unsigned char *first = sample(*state, &first_size), *second = sample(*state, &second_size);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
}

static void a_step_outside_a_group_is_refused(void **state)
{
    char error[256] = "";
    size_t size;
    struct plan_builder *builder = plan_build_start(*state);
    struct plan_step step = step_of(0);
    plan_build_step(builder, &step, NULL, NULL, NULL, 0);
    assert_null(plan_build_bytes(builder, &size, error, sizeof error));
    assert_true(strlen(error) > 0);
}

static void a_rename_outside_a_variant_is_refused(void **state)
{
    char error[256] = "";
    size_t size;
    struct plan_builder *builder = plan_build_start(*state);
    plan_build_group(builder, "empty", 0, 0, 0);
    plan_build_rename(builder, &(struct plan_rename){.bytes = 8});
    assert_null(plan_build_bytes(builder, &size, error, sizeof error));
    assert_true(strlen(error) > 0);
}

/* A variant may rename no more than replay keeps track of. */
static void renames_are_limited(void **state)
{
    char error[256];
    size_t size;
    for (uint32_t count = PLAN_RENAMES_LIMIT; count <= PLAN_RENAMES_LIMIT + 1; count++) {
        struct plan_builder *builder = plan_build_start(*state);
        struct plan_kernel kernel = {.module = plan_build_module(builder, hash_bytes("m", 1)),
                                     .name = plan_build_string(builder, "k")};
        struct plan_step step = step_of(plan_build_kernel(builder, &kernel));
        struct plan_variant variant = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .parameter_bytes = 16 * count};
        plan_build_group(builder, "many", 0, 0, 0);
        plan_build_step(builder, &step, NULL, NULL, NULL, 0);
        plan_build_variant(builder, &variant, "kfuse_many", ptx, sizeof ptx, NULL, 0, NULL, 0);
        for (uint32_t i = 0; i < count; i++)
            plan_build_rename(builder, &(struct plan_rename){.bytes = 8, .destination_offset = 16 * i});
        void *bytes = plan_build_bytes(builder, &size, error, sizeof error);
        assert_int_equal(is_accepted(bytes, size, error), count <= PLAN_RENAMES_LIMIT);
    }
}

static void any_flipped_byte_is_noticed(void **state)
{
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x10;
        assert_false(is_accepted(bytes, size, error));
        bytes[at] ^= 0x10;
    }
    assert_true(is_accepted(bytes, size, error));
}

static void any_cut_is_noticed(void **state)
{
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    for (size_t cut = 0; cut < size; cut++) assert_false(is_accepted(bytes, cut, error));
    unsigned char *longer = calloc(1, size + 8);
    memcpy(longer, bytes, size);
    assert_false(is_accepted(longer, size + 8, error));
    free(longer);
}

static bool is_accepted_with_check(unsigned char *bytes, size_t size, char error[256])
{
    ((struct plan_header *)bytes)->check = plan_check(bytes, size);
    return is_accepted(bytes, size, error);
}

/* Hostile damage: every byte takes edge values and the check is made right. What is still accepted must be
 * safe to follow (the sanitizers watch). */
static void what_is_accepted_can_be_followed(void **state)
{
    static const unsigned char values[] = {0x00, 0x01, 0x08, 0x7f, 0x80, 0xff};
    char error[256];
    size_t size, refused = 0;
    unsigned char *bytes = sample(*state, &size);
    for (size_t at = sizeof(uint64_t); at < size; at++) {
        unsigned char kept = bytes[at];
        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            refused += !is_accepted_with_check(bytes, size, error);
        }
        bytes[at] = kept;
    }
    assert_true(refused > 1000);
}

/* One field wrong at a time: offset of the table in the header, entry, offset in the entry, value. */
static void every_kind_of_damage_is_refused(void **state)
{
#define FIELD(table, type, entry, field, value)                                                              \
    {                                                                                                        \
        offsetof(struct plan_header, table), (entry) * sizeof(struct type) + offsetof(struct type, field),   \
            sizeof(((struct type *)0)->field), value, #type "." #field                                       \
    }
    static const struct {
        size_t table, at, size;
        uint64_t value;
        const char *name;
    } damages[] = {
        FIELD(kernels, plan_kernel, 1, module, 1),
        FIELD(kernels, plan_kernel, 1, name, 0),
        FIELD(kernels, plan_kernel, 1, name, 100000),
        FIELD(kernels, plan_kernel, 1, first_variable, 1),
        FIELD(kernels, plan_kernel, 1, first_variable, 0xffffffff),
        FIELD(kernels, plan_kernel, 1, variable_count, 3),
        FIELD(kernels, plan_kernel, 1, variable_count, 0xffffffff),
        FIELD(variables, plan_variable, 1, name, 100000),
        FIELD(groups, plan_group, 0, name, 0),
        FIELD(groups, plan_group, 0, step_count, 0),
        FIELD(groups, plan_group, 0, step_count, 6),
        FIELD(groups, plan_group, 3, first_step, 8),
        FIELD(groups, plan_group, 1, first_step, 0xfffffffe),
        FIELD(groups, plan_group, 0, variant_count, 0),
        FIELD(groups, plan_group, 0, variant_count, 3), /* then more are used than there are */
        FIELD(groups, plan_group, 0, first_effect, 1),
        FIELD(groups, plan_group, 0, effect_count, 0xffffffff),
        FIELD(steps, plan_step, 0, kernel, 2),
        FIELD(steps, plan_step, 0, role, 3),
        FIELD(steps, plan_step, 0, grid, 0),
        FIELD(steps, plan_step, 0, block, 2048),
        FIELD(steps, plan_step, 0, arguments_size, 15),
        FIELD(steps, plan_step, 0, arguments_size, 0xfffffff0),
        FIELD(steps, plan_step, 4, mask, 256 - 31),
        FIELD(steps, plan_step, 4, mask, 0xffffffff),
        FIELD(steps, plan_step, 0, first_guard, 5),
        FIELD(steps, plan_step, 0, guard_count, 9),
        FIELD(guards, guard_check, 0, kind, GUARD_KINDS),
        FIELD(guards, guard_check, 0, size, 3),
        FIELD(guards, guard_check, 0, offset_a, 13),
        FIELD(guards, guard_check, 0, step_a, 1), /* step 1 has not arrived when step 0 is checked */
        FIELD(guards, guard_check, 1, step_b, 2),
        FIELD(guards, guard_check, 1, offset_b, 25),
        FIELD(guards, guard_check, 1, offset_b, 0xfffffffc),
        FIELD(parameters, plan_parameter, 0, step, 2),
        FIELD(parameters, plan_parameter, 0, source_offset, 1),
        FIELD(parameters, plan_parameter, 0, size, 17),
        FIELD(parameters, plan_parameter, 1, destination_offset, 49),
        FIELD(parameters, plan_parameter, 3, destination_offset, 17), /* into the distances of a rename */
        FIELD(parameters, plan_parameter, 1, destination_offset, 0xfffffff8),
        FIELD(effects, plan_effect, 0, kind, PLAN_EFFECT_KINDS),
        FIELD(effects, plan_effect, 0, step, 2),
        FIELD(effects, plan_effect, 0, offset, 25),
        FIELD(effects, plan_effect, 0, from, 4097),
        FIELD(variants, plan_variant, 0, code, 4),
        FIELD(variants, plan_variant, 0, code, 1 << 20),
        FIELD(variants, plan_variant, 0, code_size, 0),
        FIELD(variants, plan_variant, 0, code_size, sizeof ptx - 1), /* text without its NUL */
        FIELD(variants, plan_variant, 0, code_size, UINT64_MAX),
        FIELD(variants, plan_variant, 0, entry, 0),
        FIELD(variants, plan_variant, 0, block, 0),
        FIELD(renames, plan_rename, 0, step, 2),
        FIELD(renames, plan_rename, 0, offset, 25),
        FIELD(renames, plan_rename, 0, offset, 0xfffffffc),
        FIELD(renames, plan_rename, 0, bytes, 0),
        FIELD(renames, plan_rename, 0, bytes, UINT64_MAX),
        FIELD(renames, plan_rename, 0, from, INT64_MAX - 4095),
        FIELD(renames, plan_rename, 0, destination_offset, 16), /* into a parameter */
        FIELD(renames, plan_rename, 0, destination_offset, 28), /* not aligned */
        FIELD(renames, plan_rename, 0, destination_offset, 40), /* into the other one's distances */
        FIELD(renames, plan_rename, 0, destination_offset, 48), /* the second distance lies outside */
        FIELD(renames, plan_rename, 0, destination_offset, 0xfffffff8),
        FIELD(renames, plan_rename, 1, destination_offset, 32),
        FIELD(renames, plan_rename, 0, flags, 2),
        FIELD(renames, plan_rename, 0, flags, PLAN_RENAME_PARTIAL), /* and no box */
        FIELD(renames, plan_rename, 1, flags, 0),                   /* with a box */
        FIELD(renames, plan_rename, 1, bytes, 279),
        FIELD(renames, plan_rename, 1, written.from, 241),
        FIELD(renames, plan_rename, 1, written.from, UINT64_MAX),
        FIELD(renames, plan_rename, 1, written.width, 0),
        FIELD(renames, plan_rename, 1, written.width, 65), /* rows overlap */
        FIELD(renames, plan_rename, 1, written.width, UINT64_MAX),
        FIELD(renames, plan_rename, 1, written.row_pitch, 15),
        FIELD(renames, plan_rename, 1, written.row_pitch, 123),
        FIELD(renames, plan_rename, 1, written.row_pitch, UINT64_MAX),
        FIELD(renames, plan_rename, 1, written.rows, 0),
        FIELD(renames, plan_rename, 1, written.rows, 4), /* layers overlap */
        FIELD(renames, plan_rename, 1, written.layers, 0),
        FIELD(renames, plan_rename, 1, written.layers, 4),
        FIELD(renames, plan_rename, 1, written.layer_rows, 1),
        FIELD(renames, plan_rename, 1, written.layer_rows, 0xffffffff),
        FIELD(renames, plan_rename, 1, written.reserved, 1),
        FIELD(variants, plan_variant, 1, first_rename, 1),
        FIELD(variants, plan_variant, 1, first_rename, 0xffffffff),
        FIELD(variants, plan_variant, 1, rename_count, 3),
        FIELD(variants, plan_variant, 0, rename_count, 1), /* then more are used than there are */
        FIELD(variants, plan_variant, 1, rename_count, 0xffffffff),
        FIELD(stales, plan_stale, 0, step, 2),
        FIELD(stales, plan_stale, 0, offset, 41), /* of 16 bytes and two addresses */
        FIELD(stales, plan_stale, 0, bytes, 0),
        FIELD(stales, plan_stale, 0, bytes, UINT64_MAX),
        FIELD(stales, plan_stale, 0, from, INT64_MAX),
        FIELD(stales, plan_stale, 0, flags, 2),
        FIELD(stales, plan_stale, 0, flags, 0), /* and yet a box */
        FIELD(stales, plan_stale, 0, left.rows, 3),
        FIELD(stales, plan_stale, 0, reserved, 1),
        FIELD(groups, plan_group, 2, overwrite_count, 3),
        FIELD(groups, plan_group, 3, first_overwrite, 2),
        FIELD(overwrites, plan_overwrite, 0, step, 2),
        FIELD(overwrites, plan_overwrite, 1, step, 1), /* a bystander has one */
        FIELD(overwrites, plan_overwrite, 0, offset, 41),
        FIELD(overwrites, plan_overwrite, 0, bytes, 0),
        FIELD(overwrites, plan_overwrite, 0, bytes, UINT64_MAX),
        FIELD(overwrites, plan_overwrite, 0, from, INT64_MAX),
        FIELD(overwrites, plan_overwrite, 0, flags, 2),
        FIELD(overwrites, plan_overwrite, 0, reserved, 1),
        FIELD(overwrites, plan_overwrite, 0, cover_count, 2),
        FIELD(overwrites, plan_overwrite, 0, first_cover, 2),
        FIELD(covers, plan_cover, 0, stale, 1),
        FIELD(covers, plan_cover, 0, reserved, 1),
        FIELD(variants, plan_variant, 3, first_stale, 1),
        FIELD(variants, plan_variant, 3, stale_count, 0), /* and yet a rematerialisation */
        FIELD(variants, plan_variant, 3, stale_count, 2),
        FIELD(variants, plan_variant, 3, rematerialisation, 0),
        FIELD(variants, plan_variant, 3, rematerialisation, 1),  /* no member */
        FIELD(variants, plan_variant, 3, rematerialisation, 4),  /* no step */
        FIELD(variants, plan_variant, 3, arrivals_end, 2),       /* no place for a number */
        FIELD(variants, plan_variant, 3, arrivals_end, 1 << 20), /* outside */
        FIELD(variants, plan_variant, 4, stale_count, 1),
        FIELD(variants, plan_variant, 4, rematerialisation, 2),
        FIELD(groups, plan_group, 2, variant_count, 1), /* none that stores everything */
        FIELD(groups, plan_group, 2, flags, PLAN_BYSTANDER),
        FIELD(groups, plan_group, 3, flags, 0), /* no form */
        FIELD(variants, plan_variant, 0, parameter_bytes, 23),
        FIELD(variants, plan_variant, 0, parameter_count, 6),
        FIELD(variants, plan_variant, 0, guard_count, 9),
    };
#undef FIELD
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct plan_table *table = (const struct plan_table *)(bytes + damages[i].table);
        size_t width = damages[i].size > 8 ? 4 : damages[i].size; /* of an array, its first element */
        unsigned char kept[8], *at = bytes + table->offset + damages[i].at;
        memcpy(kept, at, width);
        memcpy(at, &damages[i].value, width);
        if (is_accepted_with_check(bytes, size, error)) fail_msg("%s was accepted", damages[i].name);
        memcpy(at, kept, width);
    }
    assert_true(is_accepted_with_check(bytes, size, error));
}

static void tables_lie_inside_the_file(void **state)
{
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    for (size_t at = offsetof(struct plan_header, modules); at < sizeof(struct plan_header);
         at += sizeof(struct plan_table)) {
        struct plan_table *table = (struct plan_table *)(bytes + at), kept = *table;
        const uint64_t offsets[] = {0, sizeof(struct plan_header) - 8, kept.offset + 4, size + 8,
                                    UINT64_MAX - 7};
        for (int i = 0; i < 5; i++) {
            table->offset = offsets[i];
            assert_false(is_accepted_with_check(bytes, size, error));
        }
        *table = kept;
        table->count = UINT32_MAX;
        assert_false(is_accepted_with_check(bytes, size, error));
        *table = kept;
    }
}

static void names_end(void **state)
{
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    struct plan_header *header = (struct plan_header *)bytes;
    memset(header->device_name, 'x', sizeof header->device_name);
    assert_false(is_accepted_with_check(bytes, size, error));
    bytes = sample(*state, &size);
    header = (struct plan_header *)bytes;
    bytes[header->strings.offset + header->strings.count - 1] = 'x';
    assert_false(is_accepted_with_check(bytes, size, error));
}

static void messages_tell_versions_from_damage(void **state)
{
    char error[256];
    size_t size;
    struct plan plan;
    unsigned char *bytes = sample(*state, &size);
    ((struct plan_header *)bytes)->version = 99;
    assert_false(is_accepted_with_check(bytes, size, error));
    assert_non_null(strstr(error, "version 99"));
    memset(bytes, 'x', size);
    assert_false(is_accepted(bytes, size, error));
    assert_non_null(strstr(error, "not a kfuse plan"));
    assert_false(plan_map(&plan, "/nonexistent", error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/plan.bin"));
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_false(plan_map(&plan, folder, error, sizeof error));
    assert_int_equal(rmdir(path), 0);
}

static void write_source(const char *text)
{
    char name[160];
    snprintf(name, sizeof name, "%s/plan.json", folder);
    unlink(name);
    if (!text) return;
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void an_edited_source_makes_the_plan_void(void **state)
{
    char error[256];
    size_t size;
    unsigned char *bytes = sample(*state, &size);
    write_source("{}");
    assert_true(is_accepted(bytes, size, error));
    write_source("{ }");
    assert_false(is_accepted(bytes, size, error));
    assert_non_null(strstr(error, "edited"));
    write_source("");
    assert_false(is_accepted(bytes, size, error));
    write_source(NULL);
    assert_true(is_accepted(bytes, size, error));
    bytes = plan_build_bytes(plan_build_start(*state), &size, error, sizeof error); /* names no source */
    write_source("{ }");
    assert_true(is_accepted(bytes, size, error));
    write_source(NULL);
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
    char error[256];
    assert_false(plan_build_write(build_sample(*state), "/nonexistent", error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/plan.bin"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(maps_what_was_built),
        TEST(an_empty_plan_is_a_plan),
        TEST(equal_things_are_stored_once),
        TEST(the_same_plan_has_the_same_bytes),
        TEST(a_step_outside_a_group_is_refused),
        TEST(a_rename_outside_a_variant_is_refused),
        TEST(renames_are_limited),
        TEST(any_flipped_byte_is_noticed),
        TEST(any_cut_is_noticed),
        TEST(what_is_accepted_can_be_followed),
        TEST(every_kind_of_damage_is_refused),
        TEST(tables_lie_inside_the_file),
        TEST(names_end),
        TEST(messages_tell_versions_from_damage),
        TEST(an_edited_source_makes_the_plan_void),
        TEST(a_folder_that_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

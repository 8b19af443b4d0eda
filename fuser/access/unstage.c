/* SPDX-License-Identifier: Apache-2.0
 * See unstage.h. What is computed of a thread's coordinates stands at the function's beginning, each sum once. */
#include "fuser/access/unstage.h"

#include "fuser/access/staging_finding.h"
#include "fuser/kernel/dead_code.h"
#include "fuser/kernel/inline_move.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

enum {
    AXES = 3,
    MOST_SUMS = 256,
    MOST_TESTS = 512,
    MOST_PARTS = 6,
    MOST_CONSTRAINTS = 8,
    MOST_RELATION_PARTS = 8
};
enum { NO_POINTER = UINT32_MAX };
struct sum { /* of coordinates times factors, and a pointer */
    int64_t of[ACCESS_THREAD_DIMENSIONS];
    uint32_t argument;
    int32_t reg;
};
struct test { /* that is written at the function's beginning */
    const char *mnemonic;
    int32_t a, b; /* registers; or b is -1 */
    int64_t number;
    int32_t reg;
};
struct condition { /* of a predicate register */
    int32_t reg;
    bool is_negated;
};
struct writing {
    struct arena *arena;
    const struct ptx_function *function;
    const struct staging *staging;
    struct inline_output head, body; /* registers and labels are the body's */
    const struct ptx_instruction *place;
    int32_t coordinates[ACCESS_THREAD_DIMENSIONS],
        numbers[AXES]; /* registers of 64 bits, or -1; numbers: ctaid * ntid + tid */
    struct sum sums[MOST_SUMS];
    uint32_t sum_count;
    struct test tests[MOST_TESTS];
    uint32_t test_count;
    bool has_failed;
};

/* --- instructions ------------------------------------------------------------------------------------ */

static const struct form {
    const char *mnemonic;
    enum ptx_opcode opcode;
    enum ptx_type types[2];
    enum ptx_modifier modifier;
    enum ptx_space space;
} forms[] = {
    {"mov.u32", PTX_OP_MOV, {PTX_U32}, PTX_MOD_NONE, PTX_GENERIC},
    {"cvt.u64.u32", PTX_OP_CVT, {PTX_U64, PTX_U32}, PTX_MOD_NONE, PTX_GENERIC},
    {"cvt.s64.s32", PTX_OP_CVT, {PTX_S64, PTX_S32}, PTX_MOD_NONE, PTX_GENERIC},
    {"mad.lo.s32", PTX_OP_MAD, {PTX_S32}, PTX_MOD_LO, PTX_GENERIC},
    {"mad.lo.s64", PTX_OP_MAD, {PTX_S64}, PTX_MOD_LO, PTX_GENERIC},
    {"mul.lo.s64", PTX_OP_MUL, {PTX_S64}, PTX_MOD_LO, PTX_GENERIC},
    {"add.s64", PTX_OP_ADD, {PTX_S64}, PTX_MOD_NONE, PTX_GENERIC},
    {"mov.u64", PTX_OP_MOV, {PTX_U64}, PTX_MOD_NONE, PTX_GENERIC},
    {"ld.param.u64", PTX_OP_LD, {PTX_U64}, PTX_MOD_NONE, PTX_PARAM},
    {"cvta.to.global.u64", PTX_OP_CVTA, {PTX_U64}, PTX_MOD_TO, PTX_GLOBAL},
    {"setp.ge.s64", PTX_OP_SETP, {PTX_S64}, PTX_MOD_GE, PTX_GENERIC},
    {"setp.eq.s64", PTX_OP_SETP, {PTX_S64}, PTX_MOD_EQ, PTX_GENERIC},
    {"and.pred", PTX_OP_AND, {PTX_PRED}, PTX_MOD_NONE, PTX_GENERIC},
    {"or.pred", PTX_OP_OR, {PTX_PRED}, PTX_MOD_NONE, PTX_GENERIC},
    {"selp.b64", PTX_OP_SELP, {PTX_B64}, PTX_MOD_NONE, PTX_GENERIC},
};

static struct ptx_operand of_register(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .reg = reg, .label = -1};
}

static struct ptx_operand of_number(int64_t number)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_INTEGER, .reg = -1, .label = -1, .value = number};
}

static struct ptx_operand of_special(enum ptx_special special)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_SPECIAL, .reg = -1, .label = -1, .special = special};
}

static int32_t new_register(struct writing *writing, enum ptx_type type)
{
    const char *name = arena_printf(writing->arena, "%%kfuse_staged_%u", writing->body.register_count);
    if (!name) writing->has_failed = true;
    return (int32_t)inline_add_register(&writing->body, (struct ptx_register){name, type, 1});
}

static void put(struct writing *writing, struct inline_output *output, struct ptx_instruction instruction,
                const struct ptx_operand *operands, uint32_t count)
{
    struct ptx_operand *own = arena_calloc(writing->arena, count, sizeof *own);
    if (!own) {
        writing->has_failed = true;
        return;
    }
    memcpy(own, operands, count * sizeof *own);
    instruction.operands = own;
    instruction.operand_count = count;
    instruction.guard = -1;
    instruction.vector = 1;
    instruction.line = writing->place->line;
    instruction.source_file = writing->place->source_file;
    instruction.source_line = writing->place->source_line;
    instruction.text = writing->place->text;
    inline_add_instruction(output, &instruction);
}

/* Its result, a new register: operands[0] is set. */
static int32_t emit(struct writing *writing, struct inline_output *output, const char *mnemonic,
                    struct ptx_operand *operands, uint32_t count)
{
    const struct form *form = forms;
    while (strcmp(form->mnemonic, mnemonic)) form++;
    struct ptx_instruction instruction = {.opcode = form->opcode,
                                          .types = {form->types[0], form->types[1]},
                                          .type_count = form->types[1] == PTX_NO_TYPE ? 1 : 2,
                                          .space = form->space,
                                          .mnemonic = {form->mnemonic, (uint32_t)strlen(form->mnemonic)}};
    if (form->modifier != PTX_MOD_NONE)
        instruction.modifiers[form->modifier / 64] |= UINT64_C(1) << form->modifier % 64;
    enum ptx_type type = form->opcode == PTX_OP_SETP           ? PTX_PRED
                         : form->types[0] == PTX_PRED          ? PTX_PRED
                         : ptx_type_bytes(form->types[0]) == 4 ? PTX_B32
                                                               : PTX_B64;
    int32_t reg = new_register(writing, type);
    operands[0] = of_register(reg);
    put(writing, output, instruction, operands, count);
    return reg;
}

static int32_t emit_one(struct writing *writing, struct inline_output *output, const char *mnemonic,
                        struct ptx_operand operand)
{
    return emit(writing, output, mnemonic, (struct ptx_operand[]){{0}, operand}, 2);
}

static int32_t emit_two(struct writing *writing, struct inline_output *output, const char *mnemonic,
                        struct ptx_operand a, struct ptx_operand b)
{
    return emit(writing, output, mnemonic, (struct ptx_operand[]){{0}, a, b}, 3);
}

static int32_t emit_three(struct writing *writing, struct inline_output *output, const char *mnemonic,
                          struct ptx_operand a, struct ptx_operand b, struct ptx_operand c)
{
    return emit(writing, output, mnemonic, (struct ptx_operand[]){{0}, a, b, c}, 4);
}

/* --- sums of coordinates ----------------------------------------------------------------------------- */

/* Of dimension d, from ctaid.z to tid.x. */
static enum ptx_special special_of(int d)
{
    return (enum ptx_special)((d < AXES ? PTX_SPECIAL_CTAID_X : PTX_SPECIAL_TID_X) + (2 - d % AXES));
}

static int32_t coordinate(struct writing *writing, int d)
{
    if (writing->coordinates[d] < 0) {
        int32_t narrow = emit_one(writing, &writing->head, "mov.u32", of_special(special_of(d)));
        writing->coordinates[d] = emit_one(writing, &writing->head, "cvt.u64.u32", of_register(narrow));
    }
    return writing->coordinates[d];
}

/* ctaid * ntid + tid: the sum in the form that kernels have it in themselves. */
static int32_t number(struct writing *writing, int d)
{
    struct inline_output *head = &writing->head;
    if (writing->numbers[d] < 0) {
        int32_t block = emit_one(writing, head, "mov.u32", of_special(special_of(d)));
        int32_t size =
            emit_one(writing, head, "mov.u32", of_special((enum ptx_special)(PTX_SPECIAL_NTID_X + (2 - d))));
        int32_t thread = emit_one(writing, head, "mov.u32", of_special(special_of(d + AXES)));
        int32_t sum = emit_three(writing, head, "mad.lo.s32", of_register(block), of_register(size),
                                 of_register(thread));
        writing->numbers[d] = emit_one(writing, head, "cvt.s64.s32", of_register(sum));
    }
    return writing->numbers[d];
}

static int32_t pointer(struct writing *writing, uint32_t argument)
{
    const struct ptx_function *function = writing->function;
    for (uint32_t p = 0; p < function->parameter_count; p++) {
        const struct ptx_variable *parameter = &function->parameters[p];
        if (argument < parameter->offset || argument - parameter->offset + 8 > parameter->size) continue;
        int32_t word = emit_one(writing, &writing->head, "ld.param.u64",
                                (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS,
                                                     .reg = -1,
                                                     .label = -1,
                                                     .variable = parameter,
                                                     .symbol = parameter->name,
                                                     .value = argument - parameter->offset});
        return emit_one(writing, &writing->head, "cvta.to.global.u64", of_register(word));
    }
    writing->has_failed = true;
    return -1;
}

static int32_t add_term(struct writing *writing, int32_t sum, int32_t term, int64_t factor)
{
    struct inline_output *head = &writing->head;
    if (sum < 0) return emit_two(writing, head, "mul.lo.s64", of_register(term), of_number(factor));
    return emit_three(writing, head, "mad.lo.s64", of_register(term), of_number(factor), of_register(sum));
}

static int32_t write_sum(struct writing *writing, const int64_t *of, uint32_t argument)
{
    const struct access_summary *summary = writing->staging->summary;
    int32_t sum = argument == NO_POINTER ? -1 : pointer(writing, argument);
    for (int d = 0; d < AXES; d++) {
        uint32_t block = summary->block[2 - d];
        int64_t threads = (int64_t)block * summary->grid[2 - d];
        if (of[d] && of[d] == of[d + AXES] * block && threads <= INT32_MAX) {
            sum = add_term(writing, sum, number(writing, d), of[d + AXES]);
            continue;
        }
        if (of[d]) sum = add_term(writing, sum, coordinate(writing, d), of[d]);
        if (of[d + AXES]) sum = add_term(writing, sum, coordinate(writing, d + AXES), of[d + AXES]);
    }
    return sum < 0 ? emit_one(writing, &writing->head, "mov.u64", of_number(0)) : sum;
}

/* argument: of a pointer that the sum begins with, or NO_POINTER. */
static int32_t sum_of(struct writing *writing, const int64_t *of, uint32_t argument)
{
    for (uint32_t s = 0; s < writing->sum_count; s++)
        if (writing->sums[s].argument == argument &&
            !memcmp(writing->sums[s].of, of, sizeof writing->sums[s].of))
            return writing->sums[s].reg;
    if (writing->sum_count == MOST_SUMS) {
        writing->has_failed = true;
        return 0;
    }
    struct sum *sum = &writing->sums[writing->sum_count++];
    memcpy(sum->of, of, sizeof sum->of);
    sum->argument = argument;
    return sum->reg = write_sum(writing, of, argument);
}

/* --- which threads ----------------------------------------------------------------------------------- */

/* A comparison of a register with a number, or what two predicates give together, each once. */
static int32_t test_of(struct writing *writing, const char *mnemonic, int32_t a, int32_t b, int64_t number)
{
    for (uint32_t t = 0; t < writing->test_count; t++) {
        const struct test *test = &writing->tests[t];
        if (!strcmp(test->mnemonic, mnemonic) && test->a == a && test->b == b && test->number == number)
            return test->reg;
    }
    if (writing->test_count == MOST_TESTS) {
        writing->has_failed = true;
        return 0;
    }
    int32_t reg = emit_two(writing, &writing->head, mnemonic, of_register(a),
                           b < 0 ? of_number(number) : of_register(b));
    writing->tests[writing->test_count++] = (struct test){mnemonic, a, b, number, reg};
    return reg;
}

/* The register of whether the constraint holds; -1: it can't be written. */
static int32_t write_constraint(struct writing *writing, isl_constraint *constraint)
{
    int64_t of[ACCESS_THREAD_DIMENSIONS], constant;
    bool is_equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    if (!staging_number(isl_constraint_get_constant_val(constraint), &constant)) return -1;
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++)
        if (!staging_number(isl_constraint_get_coefficient_val(constraint, isl_dim_set, d), &of[d]))
            return -1;
    int32_t sum = sum_of(writing, of, NO_POINTER);
    return test_of(writing, is_equality ? "setp.eq.s64" : "setp.ge.s64", sum, -1, -constant);
}

static int32_t join(struct writing *writing, const char *mnemonic, int32_t a, int32_t b)
{
    return a < 0 ? b : test_of(writing, mnemonic, a, b, 0);
}

static int32_t write_part(struct writing *writing, isl_basic_set *part)
{
    isl_constraint_list *list = isl_basic_set_get_constraint_list(part);
    isl_size count = list ? isl_constraint_list_size(list) : 0;
    int32_t all = -1;
    bool is = count > 0 && count <= MOST_CONSTRAINTS && isl_basic_set_dim(part, isl_dim_div) == 0;
    for (int i = 0; is && i < count; i++) {
        isl_constraint *constraint = isl_constraint_list_get_constraint(list, i);
        int32_t one = write_constraint(writing, constraint);
        isl_constraint_free(constraint);
        is = one >= 0;
        if (is) all = join(writing, "and.pred", all, one);
    }
    isl_constraint_list_free(list);
    return is ? all : -1;
}

/* factor * ctaid + tid, along an axis that the load's address is a sum of: where the thread is, in elements. False: along no such. */
static bool place_along(const struct staged_load *load, int d, isl_space *space, isl_aff **place)
{
    const int64_t *of = load->pieces[0].from.of;
    if (!of[d + AXES] || of[d] % of[d + AXES]) return false;
    isl_ctx *ctx = isl_space_get_ctx(space);
    *place = isl_aff_zero_on_domain(isl_local_space_from_space(isl_space_copy(space)));
    *place = isl_aff_set_coefficient_si(*place, isl_dim_in, d + AXES, 1);
    *place =
        isl_aff_set_coefficient_val(*place, isl_dim_in, d, isl_val_int_from_si(ctx, of[d] / of[d + AXES]));
    return true;
}

/* The bound that these threads keep and some other does not; box is added to. side: 1: from below, -1: from above */
static isl_basic_set *add_bound(isl_basic_set *box, const struct staged_load *load, isl_set *threads,
                                isl_aff *place, int side)
{
    isl_aff *along =
        isl_aff_scale_val(isl_aff_copy(place), isl_val_int_from_si(isl_aff_get_ctx(place), side));
    isl_val *own = isl_set_min_val(threads, along), *all = isl_set_min_val(load->threads, along);
    if (isl_val_is_int(own) == isl_bool_true && isl_val_is_int(all) == isl_bool_true &&
        isl_val_gt(own, all) == isl_bool_true) {
        along = isl_aff_add_constant_val(along, isl_val_neg(isl_val_copy(own)));
        box = isl_basic_set_add_constraint(box, isl_inequality_from_aff(isl_aff_copy(along)));
    }
    isl_val_free(own);
    isl_val_free(all);
    isl_aff_free(along);
    return box;
}

/* Where the threads lie between bounds along the axes, as those do whose element is inside of an array. */
static isl_basic_set *find_box(const struct staged_load *load, isl_set *threads)
{
    isl_space *space = isl_set_get_space(threads);
    isl_basic_set *box = isl_basic_set_universe(isl_space_copy(space));
    for (int d = 0; d < AXES; d++) {
        isl_aff *place;
        if (!place_along(load, d, space, &place)) continue;
        box = add_bound(box, load, threads, place, 1);
        box = add_bound(box, load, threads, place, -1);
        isl_aff_free(place);
    }
    isl_space_free(space);
    return box;
}

static isl_basic_set *find_hull(const struct staged_load *load, isl_set *threads)
{
    isl_basic_set *hull = isl_set_simple_hull(isl_set_remove_divs(isl_set_copy(threads)));
    return isl_basic_set_gist(hull, isl_set_simple_hull(isl_set_remove_divs(isl_set_copy(load->threads))));
}

/* Constraints that part these threads from the others that run the load; NULL: there are none such. */
static isl_basic_set *find_constraints(const struct staged_load *load, isl_set *threads)
{
    static isl_basic_set *(*const ways[])(const struct staged_load *, isl_set *) = {find_box, find_hull};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        isl_basic_set *found = ways[i](load, threads);
        isl_set *told =
            isl_set_intersect(isl_set_from_basic_set(isl_basic_set_copy(found)), isl_set_copy(load->threads));
        bool is = isl_set_is_equal(told, threads) == isl_bool_true;
        isl_set_free(told);
        if (is) return found;
        isl_basic_set_free(found);
    }
    return NULL;
}

static bool write_constraints(struct writing *writing, const struct staged_load *load, isl_set *threads,
                              int32_t *reg)
{
    isl_basic_set *constraints = find_constraints(load, threads);
    if (!constraints) return false;
    *reg = write_part(writing, constraints);
    isl_basic_set_free(constraints);
    return *reg >= 0;
}

static bool write_parts(struct writing *writing, const struct staged_load *load, isl_set *threads,
                        int32_t *reg)
{
    isl_set *set = isl_set_coalesce(isl_set_gist(isl_set_copy(threads), isl_set_copy(load->threads)));
    isl_basic_set_list *list = set ? isl_set_get_basic_set_list(set) : NULL;
    isl_size count = list ? isl_basic_set_list_size(list) : 0;
    bool is = count > 0 && count <= MOST_PARTS;
    *reg = -1;
    for (int i = 0; is && i < count; i++) {
        isl_basic_set *part = isl_basic_set_list_get_basic_set(list, i);
        int32_t one = write_part(writing, part);
        isl_basic_set_free(part);
        is = one >= 0;
        if (is) *reg = join(writing, "or.pred", *reg, one);
    }
    isl_basic_set_list_free(list);
    isl_set_free(set);
    return is;
}

/* Whether the thread reads this piece, of the threads that run the load. */
static struct condition write_threads(struct writing *writing, const struct staged_load *load, uint32_t piece)
{
    struct condition is = {-1, false};
    if (write_constraints(writing, load, load->pieces[piece].threads, &is.reg)) return is;
    is.is_negated = load->piece_count == 2;
    if (is.is_negated && write_constraints(writing, load, load->pieces[1 - piece].threads, &is.reg))
        return is;
    is.is_negated = false;
    if (!write_parts(writing, load, load->pieces[piece].threads, &is.reg)) writing->has_failed = true;
    return is;
}

/* --- loads ------------------------------------------------------------------------------------------- */

static void write_address(struct writing *writing, const struct staged_load *load,
                          struct ptx_operand *address)
{
    const struct staged_piece *first = &load->pieces[0];
    *address = (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS,
                                    .reg = sum_of(writing, first->from.of, first->argument),
                                    .label = -1,
                                    .value = first->from.constant};
    for (uint32_t p = 1; p < load->piece_count; p++) {
        const struct staged_piece *piece = &load->pieces[p];
        if (piece->load == UINT32_MAX) continue;
        if (address->value) {
            address->reg = emit_two(writing, &writing->body, "add.s64", of_register(address->reg),
                                    of_number(address->value));
            address->value = 0;
        }
        struct condition is = write_threads(writing, load, p);
        int32_t other = emit_two(writing, &writing->body, "add.s64",
                                 of_register(sum_of(writing, piece->from.of, piece->argument)),
                                 of_number(piece->from.constant));
        if (is.reg < 0) return;
        struct ptx_operand a = of_register(other), b = of_register(address->reg);
        address->reg = emit_three(writing, &writing->body, "selp.b64", is.is_negated ? b : a,
                                  is.is_negated ? a : b, of_register(is.reg));
    }
}

/* `ld.global` or `mov`, and the type of the load from shared memory */
static void write_typed(struct writing *writing, const struct ptx_instruction *shared, enum ptx_opcode opcode,
                        struct ptx_operand from)
{
    const char *mnemonic = arena_printf(writing->arena, "%s.%s", opcode == PTX_OP_LD ? "ld.global" : "mov",
                                        ptx_type_name(shared->types[0]));
    if (!mnemonic) {
        writing->has_failed = true;
        return;
    }
    struct ptx_instruction instruction = {.opcode = opcode,
                                          .types = {shared->types[0]},
                                          .type_count = 1,
                                          .space = opcode == PTX_OP_LD ? PTX_GLOBAL : PTX_GENERIC,
                                          .mnemonic = {mnemonic, (uint32_t)strlen(mnemonic)}};
    put(writing, &writing->body, instruction, (struct ptx_operand[]){shared->operands[0], from}, 2);
}

/* As the load would leave it in its register. */
static void write_number(struct writing *writing, const struct ptx_instruction *shared, uint64_t bits)
{
    enum ptx_type type = shared->types[0];
    const struct ptx_register *to = &writing->function->registers[shared->operands[0].reg];
    uint32_t width = ptx_type_bytes(type), size = ptx_type_bytes(to->type);
    if (width < size && ptx_type_is_signed(type) && bits >> (8 * width - 1) & 1)
        bits |= UINT64_MAX << 8 * width;
    struct ptx_operand from = of_number(size == 4   ? (int32_t)bits
                                        : size == 2 ? (int16_t)bits
                                                    : (int64_t)bits);
    struct ptx_instruction like = *shared;
    like.types[0] = size == 8 ? PTX_B64 : size == 4 ? PTX_B32 : PTX_B16;
    if (ptx_type_is_float(to->type)) {
        from = (struct ptx_operand){.kind = PTX_OPERAND_FLOAT,
                                    .reg = -1,
                                    .label = -1,
                                    .value = (int64_t)bits,
                                    .is_float64 = size == 8};
        like.types[0] = to->type;
    }
    writing->has_failed |= size < 2 || size > 8 || width > size;
    write_typed(writing, &like, PTX_OP_MOV, from);
}

/* Threads that read a number have it, and pass by the load. */
static void write_numbers(struct writing *writing, const struct staged_load *load, uint32_t *label)
{
    const struct ptx_instruction *shared = &writing->function->instructions[load->instruction];
    for (uint32_t p = 1; p < load->piece_count; p++) {
        const struct staged_piece *piece = &load->pieces[p];
        if (piece->load != UINT32_MAX) continue;
        write_number(writing, shared, piece->number);
        struct condition is = write_threads(writing, load, p);
        if (is.reg < 0) return;
        if (*label == UINT32_MAX)
            *label = inline_add_label(&writing->body,
                                      arena_printf(writing->arena, "$kfuse_staged_%u", load->instruction));
        inline_add_branch(&writing->body, writing->place, is.reg, is.is_negated, *label);
    }
}

/* Neighbours along x read neighbouring elements, and later threads later ones: else the tile is there to turn what it holds, and
 * memory would be read by columns. The first piece tells: others are of few threads. */
static bool is_in_order(const struct writing *writing, const struct staged_load *load)
{
    enum { MOST_STRIDE = 4 };
    const uint32_t *block = writing->staging->summary->block;
    const struct staged_piece *piece = &load->pieces[0];
    if (piece->load == UINT32_MAX) return true;
    uint32_t width = ptx_type_bytes(writing->function->instructions[piece->load].types[0]);
    for (int d = AXES; d < ACCESS_THREAD_DIMENSIONS; d++)
        if (piece->from.of[d] < 0) return false;
    int fastest = block[0] > 1 ? 5 : block[1] > 1 ? 4 : 3;
    return piece->from.of[fastest] <= MOST_STRIDE * (int64_t)width;
}

/* All that is loaded is converted alike. */
static bool may_be_written(const struct writing *writing, const struct staged_load *load)
{
    const struct ptx_instruction *instructions = writing->function->instructions;
    const struct ptx_operand *to = &instructions[load->instruction].operands[0];
    const struct staged_piece *first = &load->pieces[0];
    bool may = load->piece_count && to->kind == PTX_OPERAND_REGISTER && to->reg >= 0 && !to->component;
    for (uint32_t p = 0; may && p < load->piece_count; p++) {
        const struct staged_piece *piece = &load->pieces[p];
        if (piece->load == UINT32_MAX)
            may = p > 0 || load->piece_count == 1;
        else
            may = staging_converts_alike(writing->function, first, piece);
    }
    return may;
}

/* What is loaded is converted as the program converts it before it stages it. */
static void write_conversions(struct writing *writing, const struct staged_load *load,
                              struct ptx_operand address)
{
    const struct ptx_function *function = writing->function;
    const struct staged_piece *piece = &load->pieces[0];
    const struct ptx_instruction *shared = &function->instructions[load->instruction];
    struct ptx_instruction loaded = function->instructions[piece->load];
    const struct ptx_operand *first =
        &function->instructions[piece->conversions[piece->conversion_count - 1]].operands[1];
    struct ptx_operand operands[2] = {
        of_register(new_register(writing, function->registers[first->reg].type)), address};
    loaded.operands = operands;
    write_typed(writing, &loaded, PTX_OP_LD, address);
    for (uint32_t i = piece->conversion_count; i-- > 0;) {
        const struct ptx_instruction *conversion = &function->instructions[piece->conversions[i]];
        int32_t reg = new_register(writing, function->registers[conversion->operands[0].reg].type);
        struct ptx_operand own[2] = {of_register(reg), operands[0]};
        struct ptx_instruction copy = *conversion;
        put(writing, &writing->body, copy, own, 2);
        operands[0] = own[0];
    }
    writing->has_failed |= ptx_type_bytes(function->registers[shared->operands[0].reg].type) !=
                           ptx_type_bytes(shared->types[0]); /* it would be made wider by the load */
    struct ptx_instruction moved = *shared;
    moved.types[0] = ptx_type_bytes(shared->types[0]) == 8 ? PTX_B64 : PTX_B32;
    write_typed(writing, &moved, PTX_OP_MOV, operands[0]);
}

static void write_load(struct writing *writing, const struct staged_load *load)
{
    const struct ptx_instruction *shared = &writing->function->instructions[load->instruction];
    struct ptx_operand address;
    uint32_t label = UINT32_MAX;
    if (!may_be_written(writing, load) || !is_in_order(writing, load) ||
        (load->pieces[0].conversion_count && ptx_type_bytes(shared->types[0]) < 4)) {
        writing->has_failed = true;
        return;
    }
    if (load->pieces[0].load == UINT32_MAX) {
        write_number(writing, shared, load->pieces[0].number);
        return;
    }
    write_numbers(writing, load, &label);
    write_address(writing, load, &address);
    if (load->pieces[0].conversion_count)
        write_conversions(writing, load, address);
    else
        write_typed(writing, shared, PTX_OP_LD, address);
    if (label != UINT32_MAX) inline_set_label(&writing->body, label);
}

/* --- the function ------------------------------------------------------------------------------------ */

/* Registers, labels and tables as the function has them. */
static void begin(struct writing *writing)
{
    const struct ptx_function *function = writing->function;
    writing->head.arena = writing->body.arena = writing->arena;
    for (uint32_t r = 0; r < function->register_count; r++)
        inline_add_register(&writing->body, function->registers[r]);
    for (uint32_t l = 0; l < function->label_count; l++)
        inline_add_label(&writing->body, function->labels[l].name);
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) writing->coordinates[d] = -1;
    for (int d = 0; d < AXES; d++) writing->numbers[d] = -1;
}

static void write_body(struct writing *writing)
{
    const struct ptx_function *function = writing->function;
    uint32_t next = 0;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        for (uint32_t l = 0; l < function->label_count; l++)
            if (function->labels[l].instruction == i) inline_set_label(&writing->body, l);
        if (i == function->instruction_count) break;
        const struct ptx_instruction *instruction = &function->instructions[i];
        writing->place = instruction;
        if (next < writing->staging->load_count && writing->staging->loads[next].instruction == i)
            write_load(writing, &writing->staging->loads[next++]);
        else if (ptx_is_block_barrier(instruction) ||
                 (instruction->space == PTX_SHARED && ptx_is_store(instruction)))
            continue;
        else
            inline_add_instruction(&writing->body, instruction);
    }
}

/* The head's instructions before the body's. */
static bool take(struct writing *writing, struct ptx_function *copy)
{
    uint32_t count = writing->head.instruction_count;
    for (uint32_t i = 0; i < writing->body.instruction_count; i++)
        inline_add_instruction(&writing->head, &writing->body.instructions[i]);
    for (uint32_t l = 0; l < writing->body.label_count; l++) writing->body.labels[l].instruction += count;
    *copy = *writing->function;
    copy->registers = writing->body.registers;
    copy->register_count = writing->body.register_count;
    copy->labels = writing->body.labels;
    copy->label_count = writing->body.label_count;
    copy->instructions = writing->head.instructions;
    copy->instruction_count = writing->head.instruction_count;
    return !writing->head.has_failed && !writing->body.has_failed && !writing->has_failed;
}

static bool names_shared(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->space == PTX_SHARED) return true;
        for (uint32_t k = 0; k < instruction->operand_count; k++)
            if (instruction->operands[k].variable && instruction->operands[k].variable->space == PTX_SHARED)
                return true;
    }
    return false;
}

const struct ptx_function *unstage_function(struct arena *arena, const struct ptx_function *function,
                                            const struct staging *staging)
{
    struct writing *writing = arena_calloc(arena, 1, sizeof *writing);
    struct ptx_function copy;
    if (!writing || function->table_count) return NULL;
    *writing = (struct writing){.arena = arena, .function = function, .staging = staging};
    begin(writing);
    write_body(writing);
    const struct ptx_function *lean = take(writing, &copy) ? dead_code_remove(arena, &copy) : NULL;
    return lean && !names_shared(lean) ? lean : NULL;
}

const bool *unstage_loads(struct arena *arena, const struct ptx_function *function,
                          const struct ptx_function *copy)
{
    bool *was_staged = arena_calloc(arena, copy->instruction_count + 1, sizeof *was_staged);
    for (uint32_t i = 0; was_staged && i < copy->instruction_count; i++)
        for (uint32_t k = 0; k < function->instruction_count && ptx_is_load(&copy->instructions[i]); k++)
            was_staged[i] |= copy->instructions[i].space == PTX_GLOBAL &&
                             function->instructions[k].space == PTX_SHARED &&
                             function->instructions[k].text.text == copy->instructions[i].text.text;
    return was_staged;
}

static isl_stat has_no_divisions(isl_basic_map *part, void *context)
{
    bool *has = context;
    *has &= isl_basic_map_dim(part, isl_dim_div) == 0;
    isl_basic_map_free(part);
    return isl_stat_ok;
}

bool unstage_is_simple(const struct access_summary *summary)
{
    bool is = true;
    for (uint32_t i = 0; is && i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (!access->was_staged) continue;
        is = access->relation && access->address_is_exact &&
             isl_map_n_basic_map(access->relation) <= MOST_RELATION_PARTS &&
             isl_map_foreach_basic_map(access->relation, has_no_divisions, &is) == isl_stat_ok && is;
    }
    return is;
}

/* SPDX-License-Identifier: Apache-2.0
 * See staging.h: what loads from shared memory read, in pieces of threads. */
#include "fuser/access/staging_finding.h"

#include <isl/constraint.h>
#include <string.h>

struct piece {
    isl_map *bytes; /* { L -> [byte] }, or { L -> [0] } of a number */
    struct staged_piece staged;
    bool is_taken;
};
struct reading { /* of one load */
    struct finding *finding;
    isl_map *bytes;
    uint32_t phase, width;
    struct piece pieces[STAGING_MOST_PIECES];
    uint32_t piece_count;
};

/* { L -> L' : in one block }, and what they access is the same byte */
static isl_map *writers_of(const struct reading *reading, const struct store *store)
{
    isl_map *map =
        isl_map_apply_range(isl_map_copy(reading->bytes), isl_map_reverse(isl_map_copy(store->bytes)));
    for (int d = 0; map && d < 3; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    return map;
}

static isl_map *sum_map(isl_ctx *ctx, const struct staged_sum *sum)
{
    isl_space *space = isl_space_alloc(ctx, 0, ACCESS_THREAD_DIMENSIONS, 1);
    space = isl_space_set_tuple_name(space, isl_dim_in, "L");
    isl_constraint *equal = isl_constraint_alloc_equality(isl_local_space_from_space(isl_space_copy(space)));
    equal = isl_constraint_set_coefficient_si(equal, isl_dim_out, 0, -1);
    equal = isl_constraint_set_constant_val(equal, isl_val_int_from_si(ctx, sum->constant));
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++)
        equal =
            isl_constraint_set_coefficient_val(equal, isl_dim_in, d, isl_val_int_from_si(ctx, sum->of[d]));
    return isl_map_add_constraint(isl_map_universe(space), equal);
}

bool staging_number(__isl_take isl_val *value, int64_t *number)
{
    bool is = isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT32_MIN) >= 0 &&
              isl_val_cmp_si(value, INT32_MAX) <= 0;
    if (is) *number = isl_val_get_num_si(value);
    isl_val_free(value);
    return is;
}

/* byte = sum, where the constraint says just that. */
static bool read_equality(isl_constraint *constraint, struct staged_sum *sum)
{
    int64_t out;
    isl_val *constant = isl_constraint_get_constant_val(constraint);
    if (isl_constraint_is_equality(constraint) != isl_bool_true ||
        isl_constraint_is_div_constraint(constraint) == isl_bool_true ||
        !staging_number(isl_constraint_get_coefficient_val(constraint, isl_dim_out, 0), &out) ||
        (out != 1 && out != -1) || isl_val_is_int(constant) != isl_bool_true ||
        isl_val_cmp_si(constant, INT32_MAX) > 0 || isl_val_cmp_si(constant, -(long)INT32_MAX) < 0) {
        isl_val_free(constant);
        return false;
    }
    sum->constant = -out * isl_val_get_num_si(constant);
    isl_val_free(constant);
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) {
        if (!staging_number(isl_constraint_get_coefficient_val(constraint, isl_dim_in, d), &sum->of[d]))
            return false;
        sum->of[d] *= -out;
    }
    return true;
}

/* The bytes as a sum of the thread's coordinates; *equalities: of which there are so many, all told. */
static bool find_sum(__isl_take isl_map *bytes, struct staged_sum *sum, isl_size *equalities)
{
    bool found = false;
    isl_basic_map *hull = isl_map_affine_hull(bytes);
    isl_constraint_list *list = hull ? isl_basic_map_get_constraint_list(hull) : NULL;
    isl_size count = list ? isl_constraint_list_size(list) : 0,
             divs = hull ? isl_basic_map_dim(hull, isl_dim_div) : 0;
    for (int i = 0; !found && i < count; i++) {
        isl_constraint *constraint = isl_constraint_list_get_constraint(list, i);
        found = (!divs || !isl_constraint_involves_dims(constraint, isl_dim_div, 0, (unsigned)divs)) &&
                read_equality(constraint, sum);
        isl_constraint_free(constraint);
    }
    isl_constraint_list_free(list);
    isl_basic_map_free(hull);
    *equalities = count;
    return found;
}

/* That of the part that says least of the threads: others may follow it. */
static bool find_widest_sum(isl_map *bytes, struct staged_sum *sum)
{
    isl_size least = INT32_MAX, equalities;
    if (find_sum(isl_map_copy(bytes), sum, &equalities)) return true;
    isl_basic_map_list *list = isl_map_get_basic_map_list(bytes);
    isl_size count = list ? isl_basic_map_list_size(list) : 0;
    for (int i = 0; i < count; i++) {
        struct staged_sum own;
        isl_map *part = isl_map_from_basic_map(isl_basic_map_list_get_basic_map(list, i));
        if (!find_sum(part, &own, &equalities) || equalities >= least) continue;
        least = equalities;
        *sum = own;
    }
    isl_basic_map_list_free(list);
    return least < INT32_MAX;
}

/* Takes the bytes, which are NULL for a number, and the threads. */
static bool keep_piece(struct reading *reading, const struct origin *origin, isl_set *threads, isl_map *bytes,
                       const struct staged_sum *sum)
{
    struct piece *piece = &reading->pieces[reading->piece_count];
    bool is_number = origin->load == UINT32_MAX;
    if (!threads || (!bytes && !is_number) || reading->piece_count == STAGING_MOST_PIECES) {
        isl_set_free(threads);
        isl_map_free(bytes);
        return false;
    }
    *piece = (struct piece){.bytes = bytes,
                            .staged = {.threads = threads,
                                       .load = origin->load,
                                       .argument = origin->argument,
                                       .from = *sum,
                                       .number = origin->number,
                                       .conversion_count = origin->chain.count}};
    memcpy(piece->staged.conversions, origin->chain.of, sizeof piece->staged.conversions);
    reading->piece_count++;
    return true;
}

/* Where no one sum tells the bytes, as of an index that is clamped: those that follow one, then the rest. Takes the bytes. */
static bool keep_parts(struct reading *reading, const struct origin *origin, isl_map *bytes)
{
    bool is = true;
    while (is && isl_map_is_empty(bytes) == isl_bool_false) {
        struct staged_sum sum;
        is = find_widest_sum(bytes, &sum);
        if (!is) break;
        isl_map *all = sum_map(isl_map_get_ctx(bytes), &sum);
        isl_map *part = isl_map_coalesce(isl_map_intersect(isl_map_copy(bytes), isl_map_copy(all)));
        is = keep_piece(reading, origin, isl_set_coalesce(isl_map_domain(isl_map_copy(part))), part, &sum);
        bytes = isl_map_coalesce(isl_map_subtract(bytes, all));
    }
    is = is && bytes;
    isl_map_free(bytes);
    return is;
}

/* Takes the writers. */
static bool add_piece(struct reading *reading, const struct origin *origin, isl_map *writers)
{
    if (origin->load == UINT32_MAX)
        return keep_piece(reading, origin, isl_set_coalesce(isl_map_domain(writers)), NULL,
                          &(struct staged_sum){0});
    return keep_parts(reading, origin,
                      isl_map_coalesce(isl_map_apply_range(writers, isl_map_copy(origin->bytes))));
}

/* What the store gives to whom, of threads that have nothing yet from a later phase. told: those that have; *own: those that it gives
 * something, added to. */
static bool add_pieces(struct reading *reading, const struct store *store, isl_set *told, isl_set **own)
{
    if (!store->bytes) return true; /* no thread runs it */
    isl_map *writers = isl_map_subtract_domain(writers_of(reading, store), isl_set_copy(told));
    isl_bool is_empty = isl_map_is_empty(writers);
    if (is_empty != isl_bool_false) {
        isl_map_free(writers);
        return is_empty == isl_bool_true;
    }
    isl_set *given = isl_map_domain(isl_map_copy(writers));
    bool is = store->phase < reading->phase && store->width == reading->width &&
              isl_map_is_single_valued(writers) == isl_bool_true &&
              isl_set_is_disjoint(given, *own) == isl_bool_true;
    *own = isl_set_union(*own, given);
    for (uint32_t s = 0; is && s < store->origin_count; s++) {
        isl_map *part =
            isl_map_intersect_range(isl_map_copy(writers), isl_set_copy(store->origins[s].instances));
        isl_bool is_none = isl_map_is_empty(part);
        if (is_none == isl_bool_false)
            is = add_piece(reading, &store->origins[s], part);
        else
            isl_map_free(part);
        is = is && is_none != isl_bool_error;
    }
    isl_map_free(writers);
    return is;
}

/* Phase by phase, the latest one before the load first, as it overwrites what others leave. In the load's own phase there is no store
 * to what it reads; later ones come too late. */
static bool add_phases(struct reading *reading, isl_set **told)
{
    const struct finding *finding = reading->finding;
    bool is = true;
    for (uint32_t phase = reading->phase + 1; is && phase-- > 0;) {
        isl_set *own = isl_set_empty(isl_set_get_space(*told));
        for (uint32_t s = 0; is && s < finding->store_count; s++)
            if (finding->stores[s].phase == phase) is = add_pieces(reading, &finding->stores[s], *told, &own);
        *told = isl_set_coalesce(isl_set_union(*told, own));
    }
    return is;
}

/* --- pieces that are one ----------------------------------------------------------------------------- */

/* The same instruction, but for its registers. */
static bool is_same_operation(const struct ptx_instruction *a, const struct ptx_instruction *b)
{
    return a->mnemonic.length == b->mnemonic.length &&
           !memcmp(a->mnemonic.text, b->mnemonic.text, a->mnemonic.length);
}

bool staging_converts_alike(const struct ptx_function *function, const struct staged_piece *a,
                            const struct staged_piece *b)
{
    const struct ptx_instruction *instructions = function->instructions;
    bool does = a->conversion_count == b->conversion_count &&
                (!a->conversion_count || instructions[a->load].types[0] == instructions[b->load].types[0]);
    for (uint32_t i = 0; does && i < a->conversion_count; i++)
        does = is_same_operation(&instructions[a->conversions[i]], &instructions[b->conversions[i]]);
    return does;
}

/* The other piece's bytes follow the same sum. */
static bool follows(const struct finding *finding, const struct piece *piece, const struct piece *other)
{
    if (piece->staged.load == UINT32_MAX || other->staged.load == UINT32_MAX)
        return piece->staged.load == other->staged.load && piece->staged.number == other->staged.number;
    if (piece->staged.argument != other->staged.argument ||
        !staging_converts_alike(finding->function, &piece->staged, &other->staged))
        return false;
    isl_map *sum = sum_map(isl_map_get_ctx(other->bytes), &piece->staged.from);
    bool does = isl_map_is_subset(other->bytes, sum) == isl_bool_true;
    isl_map_free(sum);
    return does;
}

/* Whose sum most pieces follow. */
static uint32_t find_leader(const struct reading *reading)
{
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t p = 0; p < reading->piece_count; p++) {
        uint32_t count = 0;
        if (reading->pieces[p].is_taken) continue;
        for (uint32_t q = 0; q < reading->piece_count; q++)
            count += !reading->pieces[q].is_taken &&
                     follows(reading->finding, &reading->pieces[p], &reading->pieces[q]);
        /* loads lead; of a few threads alone, a sum may be any of several */
        count =
            4 * count + 4 * STAGING_MOST_PIECES * (reading->pieces[p].staged.load != UINT32_MAX) + (p == 0);
        if (count <= most) continue;
        most = count;
        best = p;
    }
    return best;
}

static void join_pieces(struct reading *reading, struct staged_load *load)
{
    for (uint32_t leader = find_leader(reading); leader != UINT32_MAX; leader = find_leader(reading)) {
        struct staged_piece *joined = &load->pieces[load->piece_count++];
        *joined = reading->pieces[leader].staged;
        joined->threads = isl_set_copy(joined->threads);
        reading->pieces[leader].is_taken = true;
        for (uint32_t p = 0; p < reading->piece_count; p++) {
            struct piece *piece = &reading->pieces[p];
            if (piece->is_taken || !follows(reading->finding, &reading->pieces[leader], piece)) continue;
            joined->threads = isl_set_union(joined->threads, isl_set_copy(piece->staged.threads));
            piece->is_taken = true;
        }
        joined->threads = isl_set_coalesce(joined->threads);
    }
}

bool staging_add_load(struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    struct reading reading = {.finding = finding, .width = ptx_access_bytes(instruction)};
    bool is_exact, is_idle;
    if (finding->staging->load_count == STAGING_MOST_LOADS || !staging_is_plain(instruction) ||
        instruction->vector != 1 || instruction->guard >= 0 ||
        finding->analysis->forest->loop_of[staging_block_of(finding, number)] != LOOPS_NONE ||
        !staging_phase(finding, number, &reading.phase))
        return false;
    reading.bytes = staging_describe(finding, number, &is_exact, &is_idle);
    struct staged_load *load = &finding->staging->loads[finding->staging->load_count++];
    isl_set *all = reading.bytes ? isl_map_domain(isl_map_copy(reading.bytes)) : NULL;
    isl_set *told = all ? isl_set_empty(isl_set_get_space(all)) : NULL;
    bool is = told;
    *load = (struct staged_load){.instruction = number, .threads = all};
    is = is && add_phases(&reading, &told);
    is = is && isl_set_is_subset(all, told) == isl_bool_true;
    if (is) join_pieces(&reading, load);
    for (uint32_t p = 0; p < reading.piece_count; p++) {
        isl_map_free(reading.pieces[p].bytes);
        isl_set_free(reading.pieces[p].staged.threads);
    }
    isl_set_free(told);
    isl_map_free(reading.bytes);
    return is;
}

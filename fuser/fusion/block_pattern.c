/* SPDX-License-Identifier: Apache-2.0
 * See block_pattern.h. Numbers are 64 bits wide; a form that may leave them, for any thread, refuses the
 * pattern. */
#include "fuser/fusion/block_pattern.h"

#include "fuser/access/range.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>
#include <string.h>

enum { KEYS_MOST = 4096, WORK_MOST = 1 << 27 /* blocks times keys */ };

/* --- out of isl ------------------------------------------------------------------------------------------
 */

struct reader {
    struct pattern *pattern;
    struct pattern_piece *piece;
    struct arena *arena;
    unsigned first_division; /* of the expressions that are read now: behind those of others */
    bool has_divisions, has_byte, is_wrong;
};

static bool whole_number(__isl_take isl_val *value, int64_t *number)
{
    const int64_t most = (int64_t)1 << 44;
    bool is_fine = value && isl_val_is_int(value) && isl_val_cmp_si(value, most) <= 0 &&
                   isl_val_cmp_si(value, -most) >= 0;
    *number = is_fine ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_fine;
}

/* The coefficients of an expression over dimensions and `count` divisions, times the factor; *byte: of the
 * byte. What divisions take from the block goes to its dimensions. */
static bool read_form(const struct reader *reader, __isl_keep isl_aff *aff, unsigned count,
                      __isl_keep isl_val *factor, struct pattern_form *form, int64_t *byte)
{
    unsigned dimensions = reader->pattern->dimensions, first = reader->first_division;
    bool has_byte = isl_aff_dim(aff, isl_dim_in) > (isl_size)dimensions;
    memset(form, 0, sizeof *form);
    *byte = 0;
    if (!whole_number(isl_val_mul(isl_aff_get_constant_val(aff), isl_val_copy(factor)), &form->constant))
        return false;
    for (unsigned d = 0; d < dimensions + has_byte; d++) {
        int64_t *to = d < dimensions ? &form->of[d] : byte;
        isl_val *value = isl_aff_get_coefficient_val(aff, isl_dim_in, (int)d);
        if (!whole_number(isl_val_mul(value, isl_val_copy(factor)), to)) return false;
    }
    for (unsigned k = 0; k < count; k++) {
        int64_t *of = &form->of[dimensions + first + k];
        isl_val *value = isl_aff_get_coefficient_val(aff, isl_dim_div, (int)k);
        if (!whole_number(isl_val_mul(value, isl_val_copy(factor)), of)) return false;
        for (int b = 0; b < 3; b++) form->of[b] += *of * reader->piece->divisions[first + k].block[b];
    }
    for (int b = 0; b < 3; b++)
        if (reader->pattern->shape.grid[2 - b] == 1) form->of[b] = 0;
    return true;
}

/* floor((f + g * block) / n) is floor(f / n) + g / n * block, where n divides g. */
static bool read_division(struct reader *reader, __isl_take isl_aff *aff, unsigned index)
{
    struct pattern_division *division = &reader->piece->divisions[reader->first_division + index];
    isl_val *denominator = aff ? isl_aff_get_denominator_val(aff) : NULL;
    int64_t byte = 0;
    bool is_fine = denominator && read_form(reader, aff, index, denominator, &division->numerator, &byte) &&
                   !byte && whole_number(isl_val_copy(denominator), &division->denominator) &&
                   division->denominator > 0;
    for (int b = 0; is_fine && b < 3; b++) {
        int64_t *of = &division->numerator.of[b];
        is_fine = *of % division->denominator == 0;
        division->block[b] = *of / division->denominator;
        *of = 0;
    }
    isl_val_free(denominator);
    isl_aff_free(aff);
    return is_fine;
}

static bool read_divisions(struct reader *reader, __isl_keep isl_aff *aff)
{
    unsigned first = reader->first_division;
    isl_size count = isl_aff_dim(aff, isl_dim_div);
    if (reader->has_divisions) return count >= 0 && first + (unsigned)count == reader->piece->division_count;
    if (count < 0 || first + (unsigned)count > PATTERN_DIVISIONS) return false;
    reader->has_divisions = true;
    for (unsigned k = 0; k < (unsigned)count; k++)
        if (!read_division(reader, isl_aff_get_div(aff, (int)k), k)) return false;
    reader->piece->division_count = first + (uint32_t)count;
    return true;
}

/* Takes aff, an expression that is whole for whole numbers. */
static bool read_expression(struct reader *reader, __isl_take isl_aff *aff, struct pattern_form *form,
                            int64_t *byte)
{
    isl_val *one = aff ? isl_val_one(isl_aff_get_ctx(aff)) : NULL;
    bool is_fine =
        one && read_divisions(reader, aff) &&
        read_form(reader, aff, reader->piece->division_count - reader->first_division, one, form, byte);
    isl_val_free(one);
    isl_aff_free(aff);
    reader->is_wrong |= !is_fine;
    return is_fine;
}

static void add_condition(struct reader *reader, struct pattern_form form, bool is_equality)
{
    struct pattern_piece *piece = reader->piece;
    uint32_t count = piece->condition_count;
    piece->conditions =
        arena_grow(reader->arena, piece->conditions, count, count + 1, sizeof *piece->conditions);
    reader->is_wrong |= !piece->conditions;
    if (!piece->conditions) return;
    piece->conditions[count] = (struct pattern_condition){form, is_equality};
    piece->condition_count++;
}

static struct pattern_form combine(struct pattern_form a, int64_t factor, const struct pattern_form *b)
{
    a.constant += factor * b->constant;
    for (unsigned d = 0; d < PATTERN_DIMENSIONS; d++) a.of[d] += factor * b->of[d];
    return a;
}

/* The first pass (has_byte false) finds the equality that gives the byte, the second one all conditions. */
static isl_stat read_constraint(__isl_take isl_constraint *constraint, void *context)
{
    static const struct pattern_form nothing;
    struct reader *reader = context;
    isl_aff *aff = isl_constraint_get_aff(constraint);
    bool is_equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    struct pattern_form form;
    int64_t byte;
    isl_constraint_free(constraint);
    if (!read_expression(reader, aff, &form, &byte)) return isl_stat_error;
    if (!reader->has_byte) {
        if (!is_equality || (byte != 1 && byte != -1)) return isl_stat_ok;
        reader->piece->byte = combine(nothing, -byte, &form);
        reader->has_byte = true;
        return isl_stat_error; /* found: an end, no error */
    }
    add_condition(reader, byte ? combine(form, byte, &reader->piece->byte) : form, is_equality);
    return reader->is_wrong ? isl_stat_error : isl_stat_ok;
}

static bool begin_piece(struct reader *reader, bool has_byte)
{
    struct pattern *pattern = reader->pattern;
    uint32_t count = pattern->piece_count;
    pattern->pieces = arena_grow(reader->arena, pattern->pieces, count, count + 1, sizeof *pattern->pieces);
    reader->is_wrong |= !pattern->pieces;
    if (!pattern->pieces) return false;
    reader->piece = &pattern->pieces[pattern->piece_count++];
    memset(reader->piece, 0, sizeof *reader->piece);
    reader->first_division = 0;
    reader->has_divisions = false;
    reader->has_byte = has_byte;
    return true;
}

static isl_stat read_map(__isl_take isl_basic_map *map, void *context)
{
    struct reader *reader = context;
    isl_basic_set *set = isl_basic_set_flatten(isl_basic_map_wrap(map));
    if (begin_piece(reader, false)) isl_basic_set_foreach_constraint(set, read_constraint, reader);
    reader->is_wrong |= !reader->has_byte;
    if (!reader->is_wrong && isl_basic_set_foreach_constraint(set, read_constraint, reader) != isl_stat_ok)
        reader->is_wrong = true;
    isl_basic_set_free(set);
    return reader->is_wrong ? isl_stat_error : isl_stat_ok;
}

/* Part of a function's domain: the function is read behind it. */
struct domain_reader {
    struct reader *reader;
    isl_aff *byte;
};

static isl_stat read_domain(__isl_take isl_basic_set *set, void *context)
{
    struct domain_reader *domain = context;
    struct reader *reader = domain->reader;
    int64_t byte;
    if (begin_piece(reader, true) &&
        isl_basic_set_foreach_constraint(set, read_constraint, reader) != isl_stat_ok)
        reader->is_wrong = true;
    isl_basic_set_free(set);
    if (reader->is_wrong) return isl_stat_error;
    reader->first_division = reader->piece->division_count;
    reader->has_divisions = false;
    return read_expression(reader, isl_aff_copy(domain->byte), &reader->piece->byte, &byte) ? isl_stat_ok
                                                                                            : isl_stat_error;
}

static isl_stat read_function(__isl_take isl_set *set, __isl_take isl_multi_aff *function, void *context)
{
    struct domain_reader domain = {context, isl_multi_aff_get_aff(function, 0)};
    isl_stat done = isl_set_foreach_basic_set(set, read_domain, &domain);
    isl_aff_free(domain.byte);
    isl_multi_aff_free(function);
    isl_set_free(set);
    return done;
}

/* As it stands, or else as the function that isl makes of it. */
static bool read_pieces(struct pattern *pattern, struct arena *arena, __isl_keep isl_map *bytes)
{
    struct reader reader = {.pattern = pattern, .arena = arena};
    bool is_fine = isl_map_foreach_basic_map(bytes, read_map, &reader) == isl_stat_ok && !reader.is_wrong;
    if (is_fine || isl_map_is_single_valued(bytes) != isl_bool_true) return is_fine;
    isl_pw_multi_aff *function = isl_pw_multi_aff_from_map(isl_map_copy(bytes));
    reader = (struct reader){.pattern = pattern, .arena = arena};
    pattern->piece_count = 0;
    is_fine = function && isl_pw_multi_aff_foreach_piece(function, read_function, &reader) == isl_stat_ok;
    isl_pw_multi_aff_free(function);
    return is_fine && !reader.is_wrong;
}

/* --- ranges ----------------------------------------------------------------------------------------------
 */

static struct range form_range(const struct pattern_form *form, const struct range *ranges)
{
    struct range range = range_point(form->constant);
    for (unsigned d = 0; d < PATTERN_DIMENSIONS; d++) {
        struct range term;
        if (!form->of[d]) continue;
        if (!range_scale(ranges[d], form->of[d], &term)) return (struct range){-RANGE_LIMIT, RANGE_LIMIT};
        range = range_add(range, term);
    }
    return range;
}

/* Of dimensions and of the piece's divisions. */
static void find_ranges(const struct pattern *pattern, const struct pattern_piece *piece,
                        struct range *ranges)
{
    memset(ranges, 0, PATTERN_DIMENSIONS * sizeof *ranges);
    for (int d = 0; d < 3; d++) {
        ranges[2 - d].high = pattern->shape.grid[d] - 1;
        ranges[5 - d].high = pattern->shape.block[d] - 1;
    }
    for (unsigned d = 6; d < pattern->dimensions; d++) ranges[d].high = pattern->last[d - 6];
    for (uint32_t k = 0; k < piece->division_count; k++) {
        const struct pattern_division *division = &piece->divisions[k];
        struct range of = form_range(&division->numerator, ranges);
        ranges[pattern->dimensions + k] = (struct range){wide_floor_divide(of.low, division->denominator),
                                                         wide_floor_divide(of.high, division->denominator)};
    }
}

static bool stays_small(const struct pattern_form *form, const struct range *ranges)
{
    const wide most = (wide)1 << 60;
    struct range range = form_range(form, ranges);
    return range.low > -most && range.high < most;
}

static bool is_in_numbers(const struct pattern *pattern)
{
    for (uint32_t p = 0; p < pattern->piece_count; p++) {
        const struct pattern_piece *piece = &pattern->pieces[p];
        struct range ranges[PATTERN_DIMENSIONS];
        find_ranges(pattern, piece, ranges);
        if (!stays_small(&piece->byte, ranges)) return false;
        for (uint32_t k = 0; k < piece->division_count; k++)
            if (!stays_small(&piece->divisions[k].numerator, ranges)) return false;
        for (uint32_t c = 0; c < piece->condition_count; c++)
            if (!stays_small(&piece->conditions[c].form, ranges)) return false;
    }
    return true;
}

static bool find_counters(struct pattern *pattern, __isl_keep isl_map *bytes)
{
    pattern->points = (uint64_t)pattern->shape.block[0] * pattern->shape.block[1] * pattern->shape.block[2];
    for (unsigned d = 6; d < pattern->dimensions; d++) {
        isl_set *domain = isl_map_domain(isl_map_copy(bytes));
        if (!whole_number(isl_set_dim_max_val(domain, (int)d), &pattern->last[d - 6])) return false;
        if (pattern->last[d - 6] < 0) return false;
        if (__builtin_mul_overflow(pattern->points, (uint64_t)pattern->last[d - 6] + 1, &pattern->points))
            return false;
    }
    return true;
}

static bool involves(const struct pattern_form *form, unsigned dimension)
{
    return form->of[dimension] != 0;
}

/* The condition bounds this dimension alone, and holds where it is 0. */
static bool holds_at_first(const struct pattern_condition *condition, unsigned dimension)
{
    for (unsigned d = 0; d < PATTERN_DIMENSIONS; d++)
        if (d != dimension && condition->form.of[d]) return false;
    return !condition->is_equality && condition->form.constant >= 0;
}

/* What the piece touches in any iteration, it touches in the first. */
static bool repeats(const struct pattern_piece *piece, unsigned counter)
{
    if (involves(&piece->byte, counter)) return false;
    for (uint32_t k = 0; k < piece->division_count; k++)
        if (involves(&piece->divisions[k].numerator, counter)) return false;
    for (uint32_t c = 0; c < piece->condition_count; c++) {
        const struct pattern_condition *condition = &piece->conditions[c];
        if (involves(&condition->form, counter) && !holds_at_first(condition, counter)) return false;
    }
    return true;
}

/* A thread's bytes are looked at once: an element that a loop adds to is the same in every iteration. */
static void drop_repeats(struct pattern *pattern)
{
    pattern->instances = pattern->points;
    for (unsigned d = 6; d < pattern->dimensions; d++) {
        bool all = true;
        for (uint32_t p = 0; p < pattern->piece_count; p++) all &= repeats(&pattern->pieces[p], d);
        if (!all) continue;
        pattern->points /= (uint64_t)pattern->last[d - 6] + 1;
        pattern->last[d - 6] = 0;
    }
}

/* --- steps -----------------------------------------------------------------------------------------------
 */

static void find_fixed(struct pattern_piece *piece)
{
    for (uint32_t c = 0; c < piece->condition_count; c++) {
        const struct pattern_condition *condition = &piece->conditions[c];
        unsigned count = 0, which = 0;
        for (unsigned d = 0; d < PATTERN_DIMENSIONS; d++) {
            if (!condition->form.of[d]) continue;
            count++;
            which = d;
        }
        if (!condition->is_equality || count != 1 || which >= 3) continue;
        if (condition->form.constant % condition->form.of[which]) continue;
        piece->is_fixed[which] = true;
        piece->fixed[which] = -condition->form.constant / condition->form.of[which];
    }
}

bool pattern_set_step(struct pattern *pattern, unsigned dimension, int64_t step)
{
    for (uint32_t p = 0; p < pattern->piece_count; p++) {
        struct pattern_piece *piece = &pattern->pieces[p];
        int64_t *of = &piece->byte.of[dimension], *constant = &piece->byte.constant, back;
        int64_t more = step - *of;
        if (more && !piece->is_fixed[dimension]) return false;
        if (__builtin_mul_overflow(more, piece->fixed[dimension], &back)) return false;
        if (__builtin_sub_overflow(*constant, back, constant)) return false;
        *of = step;
    }
    pattern->step[dimension] = step;
    return is_in_numbers(pattern);
}

static bool find_steps(struct pattern *pattern)
{
    for (uint32_t p = 0; p < pattern->piece_count; p++) find_fixed(&pattern->pieces[p]);
    for (unsigned d = 0; d < 3; d++) {
        int64_t step = 0;
        pattern->is_any[d] = true;
        for (uint32_t p = 0; p < pattern->piece_count; p++) {
            if (pattern->pieces[p].is_fixed[d]) continue;
            step = pattern->pieces[p].byte.of[d];
            pattern->is_any[d] = false;
        }
        if (!pattern_set_step(pattern, d, step)) return false;
    }
    return true;
}

bool pattern_open(struct pattern *pattern, struct arena *arena, __isl_keep isl_map *bytes,
                  const struct pattern_shape *shape)
{
    *pattern = (struct pattern){.shape = *shape};
    isl_size dimensions = bytes ? isl_map_dim(bytes, isl_dim_in) : 0;
    if (dimensions < 6 || dimensions > 6 + PATTERN_COUNTERS || isl_map_n_basic_map(bytes) < 1) return false;
    pattern->dimensions = (unsigned)dimensions;
    if (!find_counters(pattern, bytes) || !read_pieces(pattern, arena, bytes)) return false;
    drop_repeats(pattern);
    return find_steps(pattern);
}

/* --- instances -------------------------------------------------------------------------------------------
 */

static int64_t evaluate(const struct pattern_form *form, const int64_t *at, unsigned count)
{
    int64_t value = form->constant;
    for (unsigned d = 0; d < count; d++) value += form->of[d] * at[d];
    return value;
}

static int64_t floor_divide(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

static bool is_instance(const struct pattern *pattern, const struct pattern_piece *piece, int64_t *at)
{
    unsigned count = pattern->dimensions;
    for (uint32_t k = 0; k < piece->division_count; k++, count++)
        at[count] = floor_divide(evaluate(&piece->divisions[k].numerator, at, count),
                                 piece->divisions[k].denominator);
    for (uint32_t c = 0; c < piece->condition_count; c++) {
        int64_t value = evaluate(&piece->conditions[c].form, at, count);
        if (piece->conditions[c].is_equality ? value != 0 : value < 0) return false;
    }
    return true;
}

static bool next_counters(const struct pattern *pattern, int64_t *at)
{
    for (unsigned d = pattern->dimensions; d-- > 6;) {
        if (at[d]++ < pattern->last[d - 6]) return true;
        at[d] = 0;
    }
    return false;
}

static bool visit_thread(const struct pattern *pattern, const int64_t *place, uint32_t thread,
                         pattern_visitor *visitor, void *context)
{
    int64_t at[PATTERN_DIMENSIONS] = {0};
    memcpy(at, place, 6 * sizeof *at);
    do {
        for (uint32_t p = 0; p < pattern->piece_count; p++) {
            const struct pattern_piece *piece = &pattern->pieces[p];
            if (!is_instance(pattern, piece, at)) continue;
            int64_t byte = evaluate(&piece->byte, at, pattern->dimensions + piece->division_count);
            for (int b = 0; b < 3; b++) byte -= pattern->step[b] * at[b];
            if (!visitor(context, thread, byte)) return false;
        }
    } while (next_counters(pattern, at));
    return true;
}

bool pattern_visit(const struct pattern *pattern, const uint32_t block[3], pattern_visitor *visitor,
                   void *context)
{
    const uint32_t *extent = pattern->shape.block;
    uint32_t threads = extent[0] * extent[1] * extent[2];
    for (uint32_t thread = 0; thread < threads; thread++) {
        int64_t place[6] = {block[0],
                            block[1],
                            block[2],
                            thread / (extent[0] * extent[1]),
                            thread / extent[0] % extent[1],
                            thread % extent[0]};
        if (!visit_thread(pattern, place, thread, visitor, context)) return false;
    }
    return true;
}

/* --- classes ---------------------------------------------------------------------------------------------
 */

/* What a condition has of the block: of[] * block, as far as it matters. Below low it is never fulfilled,
 * above high always (an equality: never). */
struct key {
    int64_t of[3], low, high;
};
struct keys {
    struct arena *arena;
    struct key *list;
    uint32_t count, capacity;
};

static bool add_key(struct keys *keys, struct key key)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (!memcmp(&keys->list[i], &key, sizeof key)) return true;
    if (keys->count == KEYS_MOST) return false;
    if (keys->count == keys->capacity) {
        keys->list = arena_grow(keys->arena, keys->list, keys->count, 2 * keys->capacity + 16, sizeof key);
        keys->capacity = 2 * keys->capacity + 16;
    }
    if (!keys->list) return false;
    keys->list[keys->count++] = key;
    return true;
}

static bool add_condition_key(struct keys *keys, const struct pattern_condition *condition,
                              const struct range *ranges)
{
    struct pattern_form of_block = condition->form, rest = condition->form;
    memset(rest.of, 0, 3 * sizeof rest.of[0]);
    memset(of_block.of + 3, 0, (PATTERN_DIMENSIONS - 3) * sizeof of_block.of[0]);
    of_block.constant = 0;
    struct range block = form_range(&of_block, ranges), others = form_range(&rest, ranges);
    if (range_is_point(block) || (!condition->is_equality && block.low + others.low >= 0)) return true;
    struct key key = {.low = (int64_t)(-others.high - 1), .high = (int64_t)(-others.low + 1)};
    memcpy(key.of, of_block.of, sizeof key.of);
    return add_key(keys, key);
}

static bool find_keys(struct keys *keys, const struct pattern *pattern)
{
    for (uint32_t p = 0; p < pattern->piece_count; p++) {
        struct range ranges[PATTERN_DIMENSIONS];
        find_ranges(pattern, &pattern->pieces[p], ranges);
        for (uint32_t c = 0; c < pattern->pieces[p].condition_count; c++)
            if (!add_condition_key(keys, &pattern->pieces[p].conditions[c], ranges)) return false;
    }
    return true;
}

static void evaluate_keys(const struct keys *keys, const uint32_t block[3], int64_t *values)
{
    for (uint32_t k = 0; k < keys->count; k++) {
        const struct key *key = &keys->list[k];
        int64_t value = key->of[0] * block[0] + key->of[1] * block[1] + key->of[2] * block[2];
        values[k] = value < key->low ? key->low : value > key->high ? key->high : value;
    }
}

bool pattern_classify(struct pattern_classes *classes, struct arena *arena,
                      const struct pattern *const *patterns, uint32_t count)
{
    struct keys keys = {.arena = arena};
    classes->count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!find_keys(&keys, patterns[i])) return false;
    const uint32_t *grid = patterns[0]->shape.grid;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    int64_t *known = arena_calloc(arena, (size_t)(PATTERN_CLASSES + 1) * (keys.count + 1), sizeof *known);
    if (!known || blocks > WORK_MOST / (keys.count + 1)) return false;
    if (!keys.count) *classes = (struct pattern_classes){.sizes = {blocks}, .count = 1}; /* all are alike */
    for (uint64_t linear = 0; keys.count && linear < blocks; linear++) {
        const uint32_t block[3] = {(uint32_t)(linear / grid[0] / grid[1]),
                                   (uint32_t)(linear / grid[0] % grid[1]), (uint32_t)(linear % grid[0])};
        int64_t *own = known + (size_t)classes->count * keys.count;
        uint32_t class = 0;
        evaluate_keys(&keys, block, own);
        while (class < classes->count &&
               memcmp(known + (size_t) class * keys.count, own, keys.count * sizeof *own))
            class ++;
        if (class == PATTERN_CLASSES) return false;
        if (class == classes->count) {
            memcpy(classes->blocks[class], block, sizeof block);
            classes->sizes[class] = 0;
            classes->count++;
        }
        classes->sizes[class]++;
    }
    return true;
}

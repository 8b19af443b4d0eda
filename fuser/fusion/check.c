/* SPDX-License-Identifier: Apache-2.0
 * See check.h. */
#include "fuser/fusion/check_row.h"
#include "fuser/solver/quota.h"

#include <isl/point.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

struct test {
    const struct check_group *group;
    struct check_refusal *refusal; /* begun with rule, a and b of what is asked */
};

static bool refuse(struct test *test, bool gave_up)
{
    test->refusal->gave_up = gave_up;
    return false;
}

static void begin(struct test *test, enum check_rule rule, uint32_t a, uint32_t b)
{
    *test->refusal = (struct check_refusal){.rule = rule, .a = a, .b = b};
}

/* isl's answer to what must be so. */
static bool holds(struct test *test, isl_bool answer)
{
    return answer == isl_bool_true || refuse(test, answer == isl_bool_error);
}

static const struct check_access *access_of(const struct test *test, uint32_t index)
{
    return &test->group->accesses[index];
}

static const struct check_statement *statement_of(const struct test *test, uint32_t access)
{
    return &test->group->statements[access_of(test, access)->statement];
}

static bool is_in_memory(const struct check_access *access)
{
    return access->kind == ACCESS_READ ? access->from == CHECK_NONE : !access->is_left_out;
}

static bool may_meet(const struct check_access *a, const struct check_access *b)
{
    return a->array == b->array || (!a->is_plain && !b->is_plain);
}

static bool is_of_one_member(const struct test *test, uint32_t a, uint32_t b)
{
    return statement_of(test, a)->member == statement_of(test, b)->member;
}

static enum schedule_tie tie_of(const struct check_access *x, const struct check_access *y)
{
    if (x->statement != y->statement)
        return x->statement < y->statement ? SCHEDULE_TIE_BEFORE : SCHEDULE_TIE_BEHIND;
    return x->position < y->position ? SCHEDULE_TIE_INSTANCE_BEFORE : SCHEDULE_TIE_INSTANCE_BEHIND;
}

/* --- Questions: sets of violating tuples that must be empty. */
static void sample(struct test *test, const struct check_tuple *tuple, __isl_keep isl_set *set)
{
    struct check_refusal *refusal = test->refusal;
    isl_point *point = isl_set_sample_point(isl_set_copy(set));
    for (uint32_t side = 0; point && side < 2 && side < tuple->count; side++) {
        uint32_t count = tuple->rows[side].instance_count;
        int64_t *instance = side ? refusal->instance_b : refusal->instance_a;
        if (count > CHECK_MOST_INSTANCE) count = 0;
        for (uint32_t d = 0; d < count; d++) {
            isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, (int)(tuple->at[side] + d));
            instance[d] = value && isl_val_is_int(value) == isl_bool_true ? isl_val_get_num_si(value) : 0;
            isl_val_free(value);
        }
        *(side ? &refusal->count_b : &refusal->count_a) = count;
    }
    isl_point_free(point);
}

struct condition { /* one of the pieces holds of rows i and j */
    uint32_t i, j;
    bool is_order;
    struct schedule_pieces pieces;
};

/* No tuple of the set fulfils all conditions. */
static bool excludes(struct test *test, const struct check_tuple *tuple, __isl_keep isl_set *set,
                     const struct condition *conditions, uint32_t count)
{
    isl_bool empty = isl_set_is_empty(set);
    if (empty != isl_bool_false) return holds(test, empty);
    if (!count) {
        sample(test, tuple, set);
        return refuse(test, false);
    }
    if (conditions->pieces.is_lost) return refuse(test, true);
    for (uint32_t k = 0; k < conditions->pieces.count; k++) {
        isl_set *part = check_tuple_where(tuple, set, conditions->i, conditions->j, conditions->is_order,
                                          &conditions->pieces.all[k]);
        bool done = excludes(test, tuple, part, conditions + 1, count - 1);
        isl_set_free(part);
        if (!done) return false;
    }
    return true;
}

/* Frees the conditions; the tuple's set is left. */
static bool none_fulfils(struct test *test, const struct check_tuple *tuple, struct condition *conditions,
                         uint32_t count)
{
    bool done = excludes(test, tuple, tuple->set, conditions, count);
    for (uint32_t i = 0; i < count; i++) schedule_clear(&conditions[i].pieces);
    return done;
}

static void add(struct test *test, struct check_tuple *tuple, uint32_t access, unsigned parts)
{
    struct check_row row = check_row_open(test->group, access, parts);
    check_tuple_add(tuple, &row);
}

static uint32_t instance_count(const struct test *test, uint32_t access)
{
    return (uint32_t)isl_map_dim(statement_of(test, access)->order, isl_dim_in);
}

/* Rows i and j are of accesses x and y. */
static struct condition not_before(const struct test *test, bool is_order, uint32_t i, uint32_t x, uint32_t j,
                                   uint32_t y)
{
    const struct schedule_space *space =
        is_order ? &test->group->orders[statement_of(test, x)->member] : &test->group->space;
    enum schedule_tie tie = tie_of(access_of(test, x), access_of(test, y));
    return (struct condition){i, j, is_order, schedule_unordered(space, tie, instance_count(test, x))};
}

static struct condition before(const struct test *test, uint32_t i, uint32_t x, uint32_t j, uint32_t y)
{
    enum schedule_tie tie = tie_of(access_of(test, x), access_of(test, y));
    return (struct condition){
        i, j, true,
        schedule_ordered(&test->group->orders[statement_of(test, x)->member], tie, instance_count(test, x))};
}

/* --- Memory and order */
static unsigned points_of(const struct check_access *access)
{
    return access->kind == ACCESS_READ ? CHECK_PART_IMAGES : CHECK_PART_OWNERS;
}

/* Wherever x was before y (and both touch a byte), it still is. Members in their order. */
static bool keeps(struct test *test, uint32_t x, uint32_t y, bool meets)
{
    bool is_one = is_of_one_member(test, x, y);
    unsigned order = is_one ? CHECK_PART_ORDER : 0;
    struct check_tuple tuple = {0};
    struct condition conditions[2];
    uint32_t count = 0;
    add(test, &tuple, x, points_of(access_of(test, x)) | order);
    add(test, &tuple, y, points_of(access_of(test, y)) | order);
    if (meets) check_tuple_meet(&tuple, 0, 1);
    if (is_one) conditions[count++] = before(test, 0, x, 1, y);
    conditions[count++] = not_before(test, false, 0, x, 1, y);
    bool done = none_fulfils(test, &tuple, conditions, count);
    check_tuple_close(&tuple);
    return done;
}

static bool keeps_both(struct test *test, enum check_rule rule, uint32_t a, uint32_t b, bool meets)
{
    uint32_t p = statement_of(test, a)->member, q = statement_of(test, b)->member;
    begin(test, rule, a, b);
    if (p <= q && !keeps(test, a, b, meets)) return false;
    begin(test, rule, b, a);
    return a == b || p < q || keeps(test, b, a, meets);
}

/* Every image of the read, which may run at any time, gets the same. */
static bool meets_no_race(struct test *test, uint32_t read, uint32_t write)
{
    struct check_tuple tuple = {0};
    begin(test, CHECK_RECOMPUTED, read, write);
    add(test, &tuple, read, CHECK_PART_ORDER);
    add(test, &tuple, write, CHECK_PART_ORDER);
    check_tuple_meet(&tuple, 0, 1);
    struct condition conditions[2] = {not_before(test, true, 0, read, 1, write),
                                      not_before(test, true, 1, write, 0, read)};
    bool done = none_fulfils(test, &tuple, conditions, 2);
    check_tuple_close(&tuple);
    return done;
}

static bool is_recomputed(const struct test *test, uint32_t access)
{
    const struct schedule *schedule = &statement_of(test, access)->schedule;
    return schedule->owners || isl_map_is_single_valued(schedule->images) != isl_bool_true;
}

static bool pair_is_legal(struct test *test, uint32_t a, uint32_t b)
{
    const struct check_access *x = access_of(test, a), *y = access_of(test, b);
    if (x->keeps_order || y->keeps_order) return keeps_both(test, CHECK_ORDER, a, b, false);
    if (!is_in_memory(x) || !is_in_memory(y) || !may_meet(x, y)) return true;
    if (x->kind == ACCESS_READ && y->kind == ACCESS_READ) return true;
    if (!keeps_both(test, CHECK_MEMORY, a, b, true)) return false;
    if (x->kind != ACCESS_READ && y->kind != ACCESS_READ) return true;
    uint32_t read = x->kind == ACCESS_READ ? a : b, write = read == a ? b : a;
    return !is_of_one_member(test, a, b) || !is_recomputed(test, read) || meets_no_race(test, read, write);
}

/* --- Sources */
/* Each instance of the access has an image by its link, among those at which the other access is made. */
static bool links_all(struct test *test, uint32_t access, uint32_t other)
{
    const struct check_access *from = access_of(test, access), *to = access_of(test, other);
    isl_set *instances = isl_map_domain(isl_map_copy(from->bytes));
    isl_map *link =
        isl_map_intersect_range(isl_map_copy(from->to_source), isl_map_domain(isl_map_copy(to->bytes)));
    isl_set *linked = isl_map_domain(link);
    isl_bool all = isl_set_is_subset(instances, linked);
    isl_set_free(instances);
    isl_set_free(linked);
    return holds(test, all);
}

/* Rows i and j, which are linked, begin at one byte. */
static bool is_at_same_byte(struct test *test, const struct check_tuple *tuple, uint32_t i, uint32_t j)
{
    uint32_t p = tuple->at[i] + tuple->rows[i].byte_at, q = tuple->at[j] + tuple->rows[j].byte_at;
    for (int more = 0; more < 2; more++) {
        isl_set *apart = check_tuple_compare(tuple, p, more ? SCHEDULE_MORE : SCHEDULE_LESS, q);
        bool done = excludes(test, tuple, apart, NULL, 0);
        isl_set_free(apart);
        if (!done) return false;
    }
    return true;
}

/* A row and what it is linked to, in this order. */
static struct check_tuple linked(struct test *test, uint32_t access, unsigned parts, unsigned source_parts)
{
    const struct check_access *from = access_of(test, access);
    struct check_tuple tuple = {0};
    add(test, &tuple, access, parts);
    add(test, &tuple, from->source, source_parts);
    check_tuple_link(&tuple, 0, 1, from->to_source);
    return tuple;
}

/* The source touches the load's bytes; a store does before it. */
static bool source_is_before(struct test *test, uint32_t load)
{
    uint32_t source = access_of(test, load)->source;
    struct check_tuple tuple = linked(test, load, CHECK_PART_ORDER, CHECK_PART_ORDER);
    bool done = is_at_same_byte(test, &tuple, 0, 1);
    if (done && access_of(test, source)->kind == ACCESS_WRITE) {
        struct condition late = not_before(test, true, 1, source, 0, load);
        done = none_fulfils(test, &tuple, &late, 1);
    }
    check_tuple_close(&tuple);
    return done;
}

/* Rows 0, 1 and 2: a writer comes between the source and the load, or may. */
static bool is_free_between(struct test *test, const struct check_tuple *tuple, bool is_order,
                            uint32_t writer, uint32_t load, uint32_t source)
{
    struct condition conditions[3] = {not_before(test, is_order, 1, load, 0, writer),
                                      not_before(test, is_order, 0, writer, 2, source)};
    uint32_t count = 2;
    if (writer == source)
        conditions[count++] =
            (struct condition){0, 2, false, schedule_differing(instance_count(test, source))};
    return none_fulfils(test, tuple, conditions, count);
}

/* Two loads have the same contents, whichever is first: the writer is before both, or behind both. */
static bool is_beside_both(struct test *test, const struct check_tuple *tuple, uint32_t writer, uint32_t load,
                           uint32_t source)
{
    const uint32_t of[2] = {load, source};
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t first = k / 2, second = k % 2;
        struct condition conditions[2] = {not_before(test, true, 0, writer, 1 + first, of[first]),
                                          not_before(test, true, 1 + second, of[second], 0, writer)};
        if (!none_fulfils(test, tuple, conditions, 2)) return false;
    }
    return true;
}

/* In the original order the writer does not change what the source has left, before the load. */
static bool leaves_source(struct test *test, uint32_t writer, uint32_t load)
{
    const struct check_access *access = access_of(test, load);
    struct check_tuple tuple = {0};
    begin(test, CHECK_SOURCE, writer, load);
    add(test, &tuple, writer, CHECK_PART_ORDER);
    add(test, &tuple, load, CHECK_PART_ORDER);
    check_tuple_meet(&tuple, 0, 1);
    add(test, &tuple, access->source, CHECK_PART_ORDER);
    check_tuple_link(&tuple, 1, 2, access->to_source);
    bool done = access_of(test, access->source)->kind == ACCESS_READ
                    ? is_beside_both(test, &tuple, writer, load, access->source)
                    : is_free_between(test, &tuple, true, writer, load, access->source);
    check_tuple_close(&tuple);
    return done;
}

/* Its launch comes before those of the load and the source, or behind them. */
static bool is_of_other_launch(const struct test *test, uint32_t writer, uint32_t load, uint32_t source)
{
    uint32_t w = statement_of(test, writer)->member;
    uint32_t p = statement_of(test, load)->member, q = statement_of(test, source)->member;
    return (w < p && w < q) || (w > p && w > q);
}

static bool source_is_exact(struct test *test, uint32_t load)
{
    const struct check_access *access = access_of(test, load);
    begin(test, CHECK_SOURCE, load, access->source);
    if (!links_all(test, load, access->source) || !source_is_before(test, load)) return false;
    for (uint32_t writer = 0; writer < test->group->access_count; writer++) {
        const struct check_access *other = access_of(test, writer);
        if (other->kind == ACCESS_READ || !may_meet(other, access)) continue;
        if (is_of_other_launch(test, writer, load, access->source)) continue;
        if (!leaves_source(test, writer, load)) return false;
    }
    return true;
}

/* --- Storage */
/* { I -> place }, of the block or the thread. */
static __isl_give isl_map *places(__isl_keep isl_map *images, bool is_of_thread)
{
    unsigned kept = is_of_thread ? SCHEDULE_PLACE : SCHEDULE_FIRST_THREAD;
    isl_map *map = isl_map_copy(images);
    map = isl_map_project_out(map, isl_dim_out, kept, (unsigned)isl_map_dim(images, isl_dim_out) - kept);
    return isl_map_reset_tuple_id(map, isl_dim_out);
}

/* Each image of the load has an image of its source in its block or thread. */
static bool source_is_near(struct test *test, uint32_t load)
{
    const struct check_access *access = access_of(test, load), *source = access_of(test, access->source);
    bool is_of_thread = test->group->storages[access->from].is_of_thread;
    isl_map *own = places(statement_of(test, load)->schedule.images, is_of_thread);
    own = isl_map_intersect_domain(own, isl_map_domain(isl_map_copy(access->bytes)));
    isl_map *filled = places(statement_of(test, access->source)->schedule.images, is_of_thread);
    filled = isl_map_intersect_domain(filled, isl_map_domain(isl_map_copy(source->bytes)));
    filled = isl_map_apply_range(isl_map_copy(access->to_source), filled);
    isl_bool near = isl_map_is_subset(own, filled);
    isl_map_free(own);
    isl_map_free(filled);
    return holds(test, near);
}

/* Each image of the access has a cell. */
static bool has_cells(struct test *test, uint32_t access, unsigned cell)
{
    struct check_row all = check_row_open(test->group, access, CHECK_PART_IMAGES);
    struct check_row some = check_row_open(test->group, access, CHECK_PART_IMAGES | cell);
    some.set = isl_set_project_out(some.set, isl_dim_set, some.cell_at, some.cell_count);
    isl_bool is_total = isl_set_is_subset(all.set, some.set);
    isl_set_free(all.set);
    isl_set_free(some.set);
    return holds(test, is_total);
}

/* It has filled the load's cell, before the load. */
static bool source_is_ready(struct test *test, uint32_t load)
{
    const struct check_access *access = access_of(test, load);
    struct check_tuple tuple =
        linked(test, load, CHECK_PART_IMAGES | CHECK_PART_FROM, CHECK_PART_IMAGES | CHECK_PART_INTO);
    check_tuple_share(&tuple, 0, 1, test->group->storages[access->from].is_of_thread);
    struct condition late = not_before(test, false, 1, access->source, 0, load);
    bool done = none_fulfils(test, &tuple, &late, 1);
    for (uint32_t k = 0; done && k < 2 * tuple.rows[0].cell_count; k++) {
        isl_set *apart = check_tuple_compare(&tuple, tuple.at[0] + tuple.rows[0].cell_at + k / 2,
                                             k % 2 ? SCHEDULE_MORE : SCHEDULE_LESS,
                                             tuple.at[1] + tuple.rows[1].cell_at + k / 2);
        done = excludes(test, &tuple, apart, NULL, 0);
        isl_set_free(apart);
    }
    check_tuple_close(&tuple);
    return done;
}

static bool leaves_cell(struct test *test, uint32_t writer, uint32_t load)
{
    const struct check_access *access = access_of(test, load);
    bool is_of_thread = test->group->storages[access->from].is_of_thread;
    struct check_tuple tuple = {0};
    begin(test, CHECK_STORAGE, writer, load);
    add(test, &tuple, writer, CHECK_PART_IMAGES | CHECK_PART_INTO);
    add(test, &tuple, load, CHECK_PART_IMAGES | CHECK_PART_FROM);
    check_tuple_share(&tuple, 0, 1, is_of_thread);
    check_tuple_same_cell(&tuple, 0, 1);
    add(test, &tuple, access->source, CHECK_PART_IMAGES);
    check_tuple_link(&tuple, 1, 2, access->to_source);
    check_tuple_share(&tuple, 1, 2, is_of_thread);
    bool done = is_free_between(test, &tuple, false, writer, load, access->source);
    check_tuple_close(&tuple);
    return done;
}

static bool storage_has_source(struct test *test, uint32_t load)
{
    const struct check_access *access = access_of(test, load);
    begin(test, CHECK_STORAGE, load, access->source);
    if (!has_cells(test, load, CHECK_PART_FROM) || !has_cells(test, access->source, CHECK_PART_INTO))
        return false;
    if (!source_is_near(test, load) || !source_is_ready(test, load)) return false;
    for (uint32_t writer = 0; writer < test->group->access_count; writer++)
        if (access_of(test, writer)->into == access->from && !leaves_cell(test, writer, load)) return false;
    return true;
}

/* --- Final contents */
static bool is_once(struct test *test, uint32_t access)
{
    const struct schedule *schedule = &statement_of(test, access)->schedule;
    isl_map *made = schedule->owners ? schedule->owners : schedule->images;
    isl_set *instances = access_of(test, access)->bytes
                             ? isl_map_domain(isl_map_copy(access_of(test, access)->bytes))
                             : isl_map_domain(isl_map_copy(statement_of(test, access)->order));
    isl_set *run = isl_map_domain(isl_map_copy(made));
    isl_bool all = isl_set_is_subset(instances, run);
    isl_set_free(instances);
    isl_set_free(run);
    return holds(test, all) && holds(test, isl_map_is_single_valued(made)) &&
           (!schedule->owners || holds(test, isl_map_is_subset(made, schedule->images)));
}

/* No load finds the store in memory, before it is overwritten. */
static bool is_unread(struct test *test, uint32_t store, uint32_t load)
{
    const struct check_access *access = access_of(test, store);
    struct check_tuple tuple = {0};
    begin(test, CHECK_LEFT_OUT, load, store);
    add(test, &tuple, load, CHECK_PART_ORDER);
    add(test, &tuple, store, CHECK_PART_ORDER);
    check_tuple_meet(&tuple, 0, 1);
    add(test, &tuple, access->source, CHECK_PART_ORDER);
    check_tuple_link(&tuple, 1, 2, access->to_source);
    struct condition conditions[2] = {not_before(test, true, 0, load, 1, store),
                                      not_before(test, true, 2, access->source, 0, load)};
    bool done = none_fulfils(test, &tuple, conditions, 2);
    check_tuple_close(&tuple);
    return done;
}

static bool is_overwritten(struct test *test, uint32_t store)
{
    const struct check_access *access = access_of(test, store);
    uint32_t later = access->source;
    begin(test, CHECK_LEFT_OUT, store, later);
    if (!links_all(test, store, later)) return false;
    struct check_tuple tuple = linked(test, store, CHECK_PART_ORDER, CHECK_PART_ORDER);
    struct condition early = not_before(test, true, 0, store, 1, later);
    bool done = is_at_same_byte(test, &tuple, 0, 1) && none_fulfils(test, &tuple, &early, 1);
    check_tuple_close(&tuple);
    for (uint32_t load = 0; done && load < test->group->access_count; load++) {
        const struct check_access *other = access_of(test, load);
        if (other->kind != ACCESS_WRITE && is_in_memory(other) && may_meet(other, access))
            done = is_unread(test, store, load);
    }
    return done;
}

/* --- Barriers */
static bool barrier_is_uniform(struct test *test, uint32_t index)
{
    const struct check_barrier *barrier = &test->group->barriers[index];
    const struct check_statement *statement = &test->group->statements[barrier->statement];
    begin(test, CHECK_BARRIER, index, CHECK_NONE);
    isl_map *images =
        isl_map_intersect_domain(isl_map_copy(statement->schedule.images), isl_set_copy(barrier->instances));
    isl_set *reached = isl_map_range(images), *all = isl_set_copy(reached);
    all = isl_set_project_out(all, isl_dim_set, SCHEDULE_FIRST_THREAD, 3);
    all = isl_set_insert_dims(all, isl_dim_set, SCHEDULE_FIRST_THREAD, 3);
    for (int d = 0; d < 3; d++) {
        all = isl_set_lower_bound_si(all, isl_dim_set, (unsigned)(SCHEDULE_FIRST_THREAD + d), 0);
        all = isl_set_upper_bound_si(all, isl_dim_set, (unsigned)(SCHEDULE_FIRST_THREAD + d),
                                     (int)test->group->block[2 - d] - 1);
    }
    reached = isl_set_reset_tuple_id(reached);
    all = isl_set_reset_tuple_id(all);
    isl_bool uniform = isl_set_is_subset(all, reached);
    isl_set_free(reached);
    isl_set_free(all);
    return holds(test, uniform);
}

/* --- All rules */
static bool is_well_formed(struct test *test, uint32_t index)
{
    const struct check_group *group = test->group;
    const struct check_access *access = access_of(test, index);
    const struct check_access *source = access->source != CHECK_NONE ? access_of(test, access->source) : NULL;
    bool is_served = access->from != CHECK_NONE;
    begin(test, CHECK_SHAPE, index, access->source);
    bool is_right = access->kind == ACCESS_READ ? !access->is_left_out
                    : access->kind == ACCESS_WRITE
                        ? !is_served
                        : !is_served && access->into == CHECK_NONE && !access->is_left_out;
    if (access->keeps_order) is_right = is_right && !is_served && !access->is_left_out;
    if (access->into != CHECK_NONE)
        is_right = is_right && access->into < group->storage_count && access->bytes;
    if (!is_served && !access->is_left_out) return is_right || refuse(test, false);
    is_right = is_right && source && source->bytes && access->bytes && access->to_source &&
               source->array == access->array && source->is_exact && source->is_certain;
    if (is_served)
        is_right = is_right && access->from < group->storage_count && access->is_exact &&
                   source->into == access->from && source->width == access->width;
    else
        is_right = is_right && source->kind == ACCESS_WRITE && !source->is_left_out &&
                   source->width >= access->width;
    return is_right || refuse(test, false);
}

static bool access_is_legal(struct test *test, uint32_t index)
{
    const struct check_access *access = access_of(test, index);
    if (access->from != CHECK_NONE) return source_is_exact(test, index) && storage_has_source(test, index);
    if (access->is_left_out) return is_overwritten(test, index);
    if (access->kind == ACCESS_ATOMIC || access->keeps_order) {
        begin(test, CHECK_ATOMIC, index, CHECK_NONE);
        if (is_recomputed(test, index)) return refuse(test, false);
    }
    begin(test, CHECK_FINAL, index, CHECK_NONE);
    return (access->kind == ACCESS_READ && !access->keeps_order) || is_once(test, index);
}

static bool ask(struct test *test, bool (*question)(struct test *, uint32_t), uint32_t index)
{
    struct quota quota = quota_begin(test->group->ctx, CHECK_OPERATIONS);
    bool done = question(test, index);
    quota_end(&quota);
    return done;
}

static bool ask_pair(struct test *test, uint32_t a, uint32_t b)
{
    struct quota quota = quota_begin(test->group->ctx, CHECK_OPERATIONS);
    bool done = pair_is_legal(test, a, b);
    quota_end(&quota);
    return done;
}

bool check_group(const struct check_group *group, struct check_refusal *refusal)
{
    struct test test = {group, refusal};
    bool done = true;
    for (uint32_t a = 0; done && a < group->access_count; a++)
        done = ask(&test, is_well_formed, a) && ask(&test, access_is_legal, a);
    for (uint32_t i = 0; done && i < group->barrier_count; i++) done = ask(&test, barrier_is_uniform, i);
    for (uint32_t a = 0; done && a < group->access_count; a++)
        for (uint32_t b = a; done && b < group->access_count; b++) done = ask_pair(&test, a, b);
    return done;
}

const char *check_rule_text(enum check_rule rule)
{
    static const char *const texts[] = {
        [CHECK_MEMORY] = "two accesses to a byte change their order",
        [CHECK_RECOMPUTED] = "what is recomputed reads what its launch writes at any time",
        [CHECK_ORDER] = "an access that keeps its order changes it",
        [CHECK_SOURCE] = "what is to serve a load is not its source",
        [CHECK_STORAGE] = "a load does not find its source in the storage",
        [CHECK_FINAL] = "a store is not made once",
        [CHECK_LEFT_OUT] = "a store that is left out is still wanted",
        [CHECK_BARRIER] = "not all threads of a block come by a barrier",
        [CHECK_ATOMIC] = "an atomic is recomputed",
        [CHECK_SHAPE] = "the proposal is not well-formed",
    };
    return texts[rule];
}

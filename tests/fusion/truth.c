/* SPDX-License-Identifier: Apache-2.0
 * See truth.h. Threads run their points in the order of time; a barrier stands at every step between two values of a
 * component that has one, for each prefix that somebody in its scope has. x happens before y where one thread runs
 * them so, or where a barrier that holds both lies behind x in its thread and before y in y's. */
#include "tests/fusion/truth.h"

#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COORDINATES = 32, MOST_BYTES = 256, MOST_VALUES = 64 };

struct list { /* of tuples */
    int (*all)[MOST_COORDINATES];
    int count, capacity;
};

static void push(struct list *list, const int *tuple)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->all = realloc(list->all, (size_t)list->capacity * sizeof *list->all);
        if (!list->all) abort();
    }
    memcpy(list->all[list->count++], tuple, sizeof *list->all);
}

static isl_stat take_point(isl_point *point, void *to)
{
    int tuple[MOST_COORDINATES] = {0};
    isl_space *space = isl_point_get_space(point);
    int count = (int)isl_space_dim(space, isl_dim_set);
    isl_space_free(space);
    for (int i = 0; i < count && i < MOST_COORDINATES; i++) {
        isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, i);
        tuple[i] = (int)isl_val_get_num_si(value);
        isl_val_free(value);
    }
    push(to, tuple);
    isl_point_free(point);
    return isl_stat_ok;
}

static struct list points_of(isl_set *set)
{
    struct list list = {0};
    set = isl_set_flatten(set);
    if (isl_set_foreach_point(set, take_point, &list) != isl_stat_ok) abort();
    isl_set_free(set);
    return list;
}

static struct list pairs_of(isl_map *map)
{
    return points_of(isl_map_wrap(isl_map_copy(map)));
}

struct event { /* an access of an instance; of the fused launch, by one image of it */
    int access, statement, position;
    const int *instance, *point; /* the point: of the order that is looked at */
    int byte;
    bool is_made; /* in memory */
    const int *from, *into;
    int instance_number;
};
struct barrier_event { /* before value of component k begins, behind that prefix */
    int launch, block[3], component, value, prefix[SCHEDULE_MOST_TIME];
    enum schedule_barrier scope;
};
struct world {
    const struct check_group *group;
    bool is_order;                                 /* the launches as they were */
    struct list *images, *owners, *orders, *bytes; /* statement's, but bytes: access's */
    int *instance_counts;
    struct event *events;
    int event_count, event_capacity;
    struct barrier_event *barriers;
    int barrier_count, barrier_capacity;
    int (*cells)[MOST_COORDINATES];
};

static const struct schedule_space *space_of(const struct world *world, int member)
{
    return world->is_order ? &world->group->orders[member] : &world->group->space;
}

static int compare(const int *a, const int *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static bool holds(const struct barrier_event *barrier, const int *point)
{
    return barrier->launch == point[SCHEDULE_LAUNCH] &&
           (barrier->scope == SCHEDULE_GRID || !compare(barrier->block, point + SCHEDULE_FIRST_BLOCK, 3));
}

/* The barrier lies behind the point. */
static bool is_behind(const struct barrier_event *barrier, const int *point)
{
    int order = compare(point + SCHEDULE_PLACE, barrier->prefix, barrier->component);
    return order < 0 || (!order && point[SCHEDULE_PLACE + barrier->component] < barrier->value);
}

static bool happens_before(const struct world *world, const struct event *x, const struct event *y)
{
    const int *p = x->point, *q = y->point;
    if (p[SCHEDULE_LAUNCH] != q[SCHEDULE_LAUNCH]) return p[SCHEDULE_LAUNCH] < q[SCHEDULE_LAUNCH];
    if (!compare(p, q, SCHEDULE_PLACE)) {
        int member = (int)world->group->statements[x->statement].member;
        int order = compare(p + SCHEDULE_PLACE, q + SCHEDULE_PLACE, (int)space_of(world, member)->time_count);
        if (order) return order < 0;
        if (x->statement != y->statement) return x->statement < y->statement;
        bool is_one = !compare(x->instance, y->instance, world->instance_counts[x->statement]);
        return is_one && x->position < y->position;
    }
    for (int i = 0; i < world->barrier_count; i++) {
        const struct barrier_event *barrier = &world->barriers[i];
        if (holds(barrier, p) && holds(barrier, q) && is_behind(barrier, p) && !is_behind(barrier, q))
            return true;
    }
    return false;
}

static void add_barrier(struct world *world, const struct barrier_event *barrier)
{
    for (int i = 0; i < world->barrier_count; i++)
        if (!memcmp(&world->barriers[i], barrier, sizeof *barrier)) return;
    if (world->barrier_count == world->barrier_capacity) {
        world->barrier_capacity = world->barrier_capacity ? 2 * world->barrier_capacity : 16;
        world->barriers = realloc(world->barriers, (size_t)world->barrier_capacity * sizeof *barrier);
        if (!world->barriers) abort();
    }
    world->barriers[world->barrier_count++] = *barrier;
}

/* Between the values that two points of one scope have behind one prefix. */
static void add_barriers_between(struct world *world, const struct schedule_space *space, const int *p,
                                 const int *q)
{
    if (p[SCHEDULE_LAUNCH] != q[SCHEDULE_LAUNCH]) return;
    for (int k = 0; k < (int)space->time_count; k++) {
        enum schedule_barrier scope = space->barriers[k];
        struct barrier_event barrier;
        memset(&barrier, 0, sizeof barrier);
        barrier.launch = p[SCHEDULE_LAUNCH], barrier.component = k, barrier.scope = scope;
        if (scope != SCHEDULE_GRID) memcpy(barrier.block, p + SCHEDULE_FIRST_BLOCK, sizeof barrier.block);
        if (scope >= SCHEDULE_BLOCK && holds(&barrier, q) &&
            !compare(p + SCHEDULE_PLACE, q + SCHEDULE_PLACE, k)) {
            memcpy(barrier.prefix, p + SCHEDULE_PLACE, (size_t)k * sizeof *p);
            for (int v = p[SCHEDULE_PLACE + k] + 1; v <= q[SCHEDULE_PLACE + k]; v++) {
                barrier.value = v;
                add_barrier(world, &barrier);
            }
        }
    }
}

static const struct list *points_of_statement(const struct world *world, int s)
{
    return world->is_order ? &world->orders[s] : &world->images[s];
}

static void find_barriers(struct world *world)
{
    const struct check_group *group = world->group;
    for (int s = 0; s < (int)group->statement_count; s++)
        for (int r = 0; r < (int)group->statement_count; r++) {
            const struct list *a = points_of_statement(world, s), *b = points_of_statement(world, r);
            const struct schedule_space *space = space_of(world, (int)group->statements[s].member);
            int n = world->instance_counts[s], m = world->instance_counts[r];
            for (int i = 0; i < a->count; i++)
                for (int j = 0; j < b->count; j++)
                    add_barriers_between(world, space, a->all[i] + n, b->all[j] + m);
        }
}

static bool is_owner(const struct world *world, int s, const int *tuple)
{
    const struct list *owners = &world->owners[s];
    if (!world->group->statements[s].schedule.owners) return true;
    for (int i = 0; i < owners->count; i++)
        if (!compare(owners->all[i], tuple, MOST_COORDINATES)) return true;
    return false;
}

static void cell_of(const struct world *world, uint32_t storage, const int *point, int byte, int *cell)
{
    isl_map *cells = isl_map_copy(world->group->storages[storage].cells);
    for (int i = 0; i < SCHEDULE_PLACE; i++) cells = isl_map_fix_si(cells, isl_dim_in, (unsigned)i, point[i]);
    struct list list = points_of(isl_map_range(isl_map_fix_si(cells, isl_dim_in, SCHEDULE_PLACE, byte)));
    if (list.count) memcpy(cell, list.all[0], sizeof *list.all);
    free(list.all);
}

static void add_event(struct world *world, const struct event *event)
{
    if (world->event_count == world->event_capacity) {
        world->event_capacity = world->event_capacity ? 2 * world->event_capacity : 64;
        world->events = realloc(world->events, (size_t)world->event_capacity * sizeof *event);
        if (!world->events) abort();
    }
    world->events[world->event_count++] = *event;
}

static int *new_cell(const struct world *world, uint32_t storage, const int *point, int byte)
{
    int *cell = calloc(MOST_COORDINATES, sizeof *cell);
    if (!cell) abort();
    cell_of(world, storage, point, byte, cell);
    return cell;
}

static void add_events(struct world *world, int index)
{
    const struct check_access *access = &world->group->accesses[index];
    int s = (int)access->statement, n = world->instance_counts[s];
    const struct list *points = points_of_statement(world, s), *bytes = &world->bytes[index];
    for (int i = 0; i < bytes->count; i++)
        for (int j = 0; j < points->count; j++) {
            if (compare(bytes->all[i], points->all[j], n)) continue;
            struct event event = {index,
                                  s,
                                  (int)access->position,
                                  points->all[j],
                                  points->all[j] + n,
                                  bytes->all[i][n],
                                  true,
                                  NULL,
                                  NULL,
                                  i};
            if (!world->is_order) {
                event.is_made = access->kind == ACCESS_READ ||
                                (!access->is_left_out && is_owner(world, s, points->all[j]));
                if (access->kind == ACCESS_ATOMIC) event.is_made = true;
                if (access->from != CHECK_NONE)
                    event.from = new_cell(world, access->from, event.point, event.byte);
                if (access->into != CHECK_NONE)
                    event.into = new_cell(world, access->into, event.point, event.byte);
            }
            add_event(world, &event);
        }
}

static struct list *lists(uint32_t count)
{
    struct list *all = calloc(count + 1, sizeof *all);
    if (!all) abort();
    return all;
}

static struct world world_open(const struct check_group *group, bool is_order)
{
    struct world world = {.group = group, .is_order = is_order};
    world.images = lists(group->statement_count), world.owners = lists(group->statement_count);
    world.orders = lists(group->statement_count), world.bytes = lists(group->access_count);
    world.instance_counts = calloc(group->statement_count + 1, sizeof *world.instance_counts);
    for (uint32_t s = 0; s < group->statement_count; s++) {
        const struct check_statement *statement = &group->statements[s];
        world.instance_counts[s] = (int)isl_map_dim(statement->order, isl_dim_in);
        world.images[s] = pairs_of(statement->schedule.images);
        world.orders[s] = pairs_of(statement->order);
        if (statement->schedule.owners) world.owners[s] = pairs_of(statement->schedule.owners);
    }
    for (uint32_t i = 0; i < group->access_count; i++) {
        world.bytes[i] = pairs_of(group->accesses[i].bytes);
        add_events(&world, (int)i);
    }
    find_barriers(&world);
    return world;
}

static void world_close(struct world *world)
{
    for (uint32_t s = 0; s < world->group->statement_count; s++) {
        free(world->images[s].all);
        free(world->owners[s].all);
        free(world->orders[s].all);
    }
    for (uint32_t i = 0; i < world->group->access_count; i++) free(world->bytes[i].all);
    for (int i = 0; i < world->event_count; i++) {
        free((void *)(uintptr_t)world->events[i].from);
        free((void *)(uintptr_t)world->events[i].into);
    }
    free(world->images), free(world->owners), free(world->orders), free(world->bytes);
    free(world->instance_counts), free(world->events), free(world->barriers);
}

/* --- What a load may get, and what may be last: values, by who made them and where. */
struct value {
    int access, instance, byte; /* access -1: as it was before */
};
struct values {
    struct value all[MOST_VALUES];
    int count;
    bool is_bad;
};

static void add_value(struct values *values, struct value value)
{
    for (int i = 0; i < values->count; i++)
        if (!memcmp(&values->all[i], &value, sizeof value)) return;
    if (values->count < MOST_VALUES)
        values->all[values->count++] = value;
    else
        values->is_bad = true;
}

static bool is_within(const struct values *inner, const struct values *outer)
{
    struct values all = *outer;
    for (int i = 0; i < inner->count; i++) add_value(&all, inner->all[i]);
    return all.count == outer->count;
}

static const struct check_access *access_of(const struct world *world, const struct event *event)
{
    return &world->group->accesses[event->access];
}

static bool touches(const struct world *world, const struct event *event, uint32_t array, int byte)
{
    const struct check_access *access = access_of(world, event);
    return access->array == array && event->byte <= byte && byte < event->byte + (int)access->width;
}

static bool writes(const struct world *world, const struct event *event, uint32_t array, int byte)
{
    return access_of(world, event)->kind != ACCESS_READ && event->is_made &&
           touches(world, event, array, byte);
}

typedef bool (*chooser)(const struct world *, const struct event *writer, const struct event *load, int byte);

static bool chooses_memory(const struct world *world, const struct event *writer, const struct event *load,
                           int byte)
{
    return writer != load && writes(world, writer, access_of(world, load)->array, byte);
}

static bool chooses_cell(const struct world *world, const struct event *writer, const struct event *load,
                         int byte)
{
    const struct check_access *from = access_of(world, load), *into = access_of(world, writer);
    (void)byte;
    if (writer == load || into->into != from->from || !writer->into) return false;
    int scope = world->group->storages[from->from].is_of_thread ? SCHEDULE_PLACE : SCHEDULE_FIRST_THREAD;
    return !compare(writer->point, load->point, scope) &&
           !compare(writer->into, load->from, MOST_COORDINATES);
}

/* Writers that the load may find, as events; is_first: or none. */
static int sources(const struct world *world, const struct event *load, int byte, chooser chooses,
                   const struct event **found, bool *is_first)
{
    int count = 0;
    *is_first = true;
    for (int i = 0; i < world->event_count; i++) {
        const struct event *writer = &world->events[i];
        if (!chooses(world, writer, load, byte)) continue;
        if (happens_before(world, writer, load)) *is_first = false;
        if (happens_before(world, load, writer)) continue;
        bool is_hidden = false;
        for (int j = 0; j < world->event_count && !is_hidden; j++) {
            const struct event *other = &world->events[j];
            is_hidden = chooses(world, other, load, byte) && happens_before(world, writer, other) &&
                        happens_before(world, other, load);
        }
        if (!is_hidden && count < MOST_VALUES) found[count++] = writer;
    }
    return count;
}

static struct values loaded(const struct world *world, const struct event *load, int byte)
{
    struct values values = {.count = 0};
    const struct event *found[MOST_VALUES];
    bool is_first;
    int count = sources(world, load, byte, chooses_memory, found, &is_first);
    if (is_first) add_value(&values, (struct value){-1, -1, byte});
    for (int i = 0; i < count; i++)
        add_value(&values, (struct value){found[i]->access, found[i]->instance_number, byte});
    return values;
}

static const struct event *same_in(const struct world *world, const struct event *event)
{
    for (int i = 0; i < world->event_count; i++)
        if (world->events[i].access == event->access &&
            world->events[i].instance_number == event->instance_number)
            return &world->events[i];
    return NULL;
}

/* What the storage has for the load's byte `behind` its first. */
static struct values served(const struct world *world, const struct world *before, const struct event *load,
                            int behind)
{
    struct values values = {.count = 0};
    const struct event *found[MOST_VALUES];
    bool is_first;
    int count = sources(world, load, 0, chooses_cell, found, &is_first);
    values.is_bad = is_first;
    for (int i = 0; i < count; i++) {
        const struct event *fill = found[i];
        if (access_of(world, fill)->kind == ACCESS_WRITE) {
            add_value(&values, (struct value){fill->access, fill->instance_number, fill->byte + behind});
            continue;
        }
        const struct event *original = same_in(before, fill);
        struct values filled = loaded(before, original, fill->byte + behind);
        if (filled.count != 1) values.is_bad = true;
        for (int k = 0; k < filled.count; k++) add_value(&values, filled.all[k]);
    }
    return values;
}

static struct values last(const struct world *world, uint32_t array, int byte)
{
    struct values values = {.count = 0};
    bool is_written = false;
    for (int i = 0; i < world->event_count; i++) {
        const struct event *writer = &world->events[i];
        if (!writes(world, writer, array, byte)) continue;
        is_written = true;
        bool is_hidden = false;
        for (int j = 0; j < world->event_count && !is_hidden; j++)
            is_hidden = writes(world, &world->events[j], array, byte) &&
                        happens_before(world, writer, &world->events[j]);
        if (!is_hidden) add_value(&values, (struct value){writer->access, writer->instance_number, byte});
    }
    if (!is_written) add_value(&values, (struct value){-1, -1, byte});
    return values;
}

static const char *load_fault(const struct world *fused, const struct world *before, const struct event *load)
{
    const struct event *original = same_in(before, load);
    int images = 0;
    for (int i = 0; i < fused->event_count; i++)
        images += fused->events[i].access == load->access &&
                  fused->events[i].instance_number == load->instance_number;
    for (int k = 0; k < (int)access_of(fused, load)->width; k++) {
        struct values may = loaded(before, original, original->byte + k);
        struct values gets =
            load->from ? served(fused, before, load, k) : loaded(fused, load, load->byte + k);
        if (gets.is_bad) return "a served load finds nothing";
        if (!is_within(&gets, &may))
            return load->from ? "a served load gets another value" : "a load gets another value";
        if (images > 1 && gets.count > 1) return "images of a load get different values";
        if (images > 1 && may.count > 1) return "images of a load that races";
    }
    return NULL;
}

static const char *final_fault(const struct world *fused, const struct world *before)
{
    for (uint32_t array = 0; array < 8; array++)
        for (int byte = -16; byte < MOST_BYTES; byte++) {
            struct values was = last(before, array, byte), is = last(fused, array, byte);
            if (!is_within(&is, &was)) return "a byte ends with another value";
        }
    return NULL;
}

static const char *barrier_fault(const struct world *fused)
{
    const struct check_group *group = fused->group;
    int threads = (int)(group->block[0] * group->block[1] * group->block[2]);
    for (uint32_t i = 0; i < group->barrier_count; i++) {
        const struct check_barrier *barrier = &group->barriers[i];
        isl_map *map =
            isl_map_intersect_domain(isl_map_copy(group->statements[barrier->statement].schedule.images),
                                     isl_set_copy(barrier->instances));
        struct list points = points_of(isl_map_range(map));
        bool is_bad = false;
        for (int p = 0; p < points.count && !is_bad; p++) {
            int count = 0;
            for (int q = 0; q < points.count; q++)
                count += !compare(points.all[p], points.all[q], SCHEDULE_FIRST_THREAD) &&
                         !compare(points.all[p] + SCHEDULE_PLACE, points.all[q] + SCHEDULE_PLACE,
                                  (int)group->space.time_count);
            is_bad = count != threads;
        }
        free(points.all);
        if (is_bad) return "a block hangs";
    }
    return NULL;
}

static const char *once_fault(const struct world *fused, const struct world *before)
{
    for (int i = 0; i < before->event_count; i++) {
        const struct event *event = &before->events[i];
        const struct check_access *access = access_of(before, event);
        int count = 0;
        if (access->kind != ACCESS_ATOMIC && !access->keeps_order) continue;
        for (int j = 0; j < fused->event_count; j++)
            count += fused->events[j].access == event->access &&
                     fused->events[j].instance_number == event->instance_number;
        if (count != 1) return "an atomic is not run once";
    }
    return NULL;
}

static const char *order_fault(const struct world *fused, const struct world *before)
{
    for (int i = 0; i < fused->event_count; i++)
        for (int j = 0; j < fused->event_count; j++) {
            const struct event *x = &fused->events[i], *y = &fused->events[j];
            if (!access_of(fused, x)->keeps_order && !access_of(fused, y)->keeps_order) continue;
            if (i != j && happens_before(before, same_in(before, x), same_in(before, y)) &&
                !happens_before(fused, x, y))
                return "an access does not keep its order";
        }
    return NULL;
}

static const char *fault(const struct world *fused, const struct world *before)
{
    const char *found = barrier_fault(fused);
    if (!found) found = once_fault(fused, before);
    if (!found) found = order_fault(fused, before);
    for (int i = 0; !found && i < fused->event_count; i++)
        if (access_of(fused, &fused->events[i])->kind != ACCESS_WRITE)
            found = load_fault(fused, before, &fused->events[i]);
    return found ? found : final_fault(fused, before);
}

const char *truth_fault(const struct check_group *group)
{
    struct world before = world_open(group, true), fused = world_open(group, false);
    const char *found = fault(&fused, &before);
    world_close(&fused);
    world_close(&before);
    return found;
}

bool truth_has_race(const struct check_group *group)
{
    struct world before = world_open(group, true);
    bool has_race = false;
    for (int i = 0; i < before.event_count && !has_race; i++)
        for (int j = 0; j < i && !has_race; j++) {
            const struct event *x = &before.events[i], *y = &before.events[j];
            enum access_kind a = access_of(&before, x)->kind, b = access_of(&before, y)->kind;
            bool is_conflict = a == ACCESS_WRITE || b == ACCESS_WRITE;
            for (int k = 0; is_conflict && k < (int)access_of(&before, x)->width; k++)
                has_race |= touches(&before, y, access_of(&before, x)->array, x->byte + k) &&
                            !happens_before(&before, x, y) && !happens_before(&before, y, x);
        }
    world_close(&before);
    return has_race;
}

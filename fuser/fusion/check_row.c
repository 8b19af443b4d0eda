/* SPDX-License-Identifier: Apache-2.0
 * See check_row.h. Nothing is eliminated from a tuple: isl answers sooner where bytes and points stay coordinates. */
#include "fuser/fusion/check_row.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/space.h>
#include <isl/stride_info.h>
#include <isl/val.h>

static isl_map *images_of(const struct check_statement *statement, unsigned parts)
{
    const struct schedule *schedule = &statement->schedule;
    return (parts & CHECK_PART_OWNERS) && schedule->owners ? schedule->owners : schedule->images;
}

/* { I -> [byte] }: any, where they are not known. */
static __isl_give isl_map *bytes_of(const struct check_group *group, const struct check_access *access)
{
    if (access->bytes) return isl_map_copy(access->bytes);
    isl_set *instances = isl_map_domain(isl_map_copy(group->statements[access->statement].order));
    isl_map *bytes = isl_map_from_domain(instances);
    return isl_map_add_dims(bytes, isl_dim_out, 1);
}

/* Where all first bytes are the residue modulo the stride, which is 1 where isl cannot tell. */
static void measure(struct check_row *row, __isl_keep isl_map *bytes)
{
    isl_stride_info *info = isl_map_get_range_stride_info(bytes, 0);
    isl_val *stride = info ? isl_stride_info_get_stride(info) : NULL;
    isl_aff *offset = info ? isl_stride_info_get_offset(info) : NULL;
    row->stride = 1;
    if (stride && isl_val_is_pos(stride) == isl_bool_true && offset &&
        isl_aff_is_cst(offset) == isl_bool_true) {
        isl_val *constant = isl_aff_get_constant_val(offset);
        if (constant && isl_val_is_int(constant) == isl_bool_true) {
            row->stride = isl_val_get_num_si(stride);
            row->residue = isl_val_get_num_si(constant);
        }
        isl_val_free(constant);
    }
    isl_aff_free(offset);
    isl_val_free(stride);
    isl_stride_info_free(info);
}

/* { [byte, .., point, ..] -> the same, and the cell that place and byte choose } */
static __isl_give isl_map *cell_behind(__isl_take isl_space *row, const struct check_row *layout,
                                       __isl_keep isl_map *cells)
{
    unsigned byte = layout->byte_at - layout->instance_count,
             place = layout->point_at - layout->instance_count;
    isl_space *to =
        isl_space_map_from_domain_and_range(isl_space_copy(row), isl_space_domain(isl_map_get_space(cells)));
    isl_multi_aff *choose = isl_multi_aff_zero(to);
    isl_local_space *local = isl_local_space_from_space(isl_space_copy(row));
    for (unsigned i = 0; i <= SCHEDULE_PLACE; i++) {
        unsigned from = i < SCHEDULE_PLACE ? place + i : byte;
        isl_aff *one = isl_aff_var_on_domain(isl_local_space_copy(local), isl_dim_set, from);
        choose = isl_multi_aff_set_aff(choose, (int)i, one);
    }
    isl_local_space_free(local);
    isl_map *found = isl_map_preimage_domain_multi_aff(isl_map_copy(cells), choose);
    isl_map *same = isl_map_identity(isl_space_map_from_set(row));
    return isl_map_flat_range_product(same, found);
}

/* Takes both. */
static __isl_give isl_map *beside(__isl_take isl_map *row, __isl_take isl_map *more)
{
    return isl_map_flat_range_product(row, more);
}

/* Without names of tuples, which need not match. */
static __isl_give isl_map *plain(__isl_take isl_map *map)
{
    map = isl_map_has_tuple_id(map, isl_dim_in) == isl_bool_true ? isl_map_reset_tuple_id(map, isl_dim_in)
                                                                 : map;
    return isl_map_has_tuple_id(map, isl_dim_out) == isl_bool_true ? isl_map_reset_tuple_id(map, isl_dim_out)
                                                                   : map;
}

struct check_row check_row_open(const struct check_group *group, uint32_t index, unsigned parts)
{
    const struct check_access *access = &group->accesses[index];
    const struct check_statement *statement = &group->statements[access->statement];
    struct check_row row = {.width = access->width};
    isl_map *map = plain(bytes_of(group, access));
    row.instance_count = (uint32_t)isl_map_dim(map, isl_dim_in);
    row.byte_at = row.instance_count;
    row.count = row.byte_at + 1;
    if (access->bytes) measure(&row, access->bytes);
    if (parts & CHECK_PART_ORDER) {
        map = beside(map, plain(isl_map_copy(statement->order)));
        row.order_at = row.count;
        row.count += SCHEDULE_PLACE + group->orders[statement->member].time_count;
    }
    if (parts & (CHECK_PART_OWNERS | CHECK_PART_IMAGES)) {
        map = beside(map, plain(isl_map_copy(images_of(statement, parts))));
        row.point_at = row.count;
        row.count += SCHEDULE_PLACE + group->space.time_count;
    }
    if (parts & (CHECK_PART_FROM | CHECK_PART_INTO)) {
        uint32_t storage = parts & CHECK_PART_FROM ? access->from : access->into;
        isl_map *cells = plain(isl_map_copy(group->storages[storage].cells));
        row.cell_at = row.count;
        row.cell_count = (uint32_t)isl_map_dim(cells, isl_dim_out);
        row.count += row.cell_count;
        isl_space *before = isl_space_range(isl_map_get_space(map));
        map = isl_map_apply_range(map, cell_behind(before, &row, cells));
        isl_map_free(cells);
    }
    row.set = isl_set_flatten(isl_map_wrap(map));
    return row;
}

void check_tuple_add(struct check_tuple *tuple, struct check_row *row)
{
    tuple->at[tuple->count] = tuple->count ? (uint32_t)isl_set_dim(tuple->set, isl_dim_set) : 0;
    tuple->set = tuple->count ? isl_set_flat_product(tuple->set, row->set) : row->set;
    row->set = NULL;
    tuple->rows[tuple->count++] = *row;
}

void check_tuple_close(struct check_tuple *tuple)
{
    isl_set_free(tuple->set);
    *tuple = (struct check_tuple){0};
}

/* p + more < q, p + more = q or p > q + more */
static __isl_give isl_constraint *compare(__isl_take isl_local_space *space, uint32_t p,
                                          enum schedule_comparison comparison, uint32_t q, int64_t more)
{
    int sign = comparison == SCHEDULE_MORE ? 1 : -1;
    isl_constraint *constraint = comparison == SCHEDULE_EQUAL ? isl_constraint_alloc_equality(space)
                                                              : isl_constraint_alloc_inequality(space);
    constraint = isl_constraint_set_coefficient_si(constraint, isl_dim_set, (int)p, sign);
    constraint = isl_constraint_set_coefficient_si(constraint, isl_dim_set, (int)q, -sign);
    return isl_constraint_set_constant_si(constraint,
                                          (int)(comparison == SCHEDULE_EQUAL ? -more : -1 - more));
}

static __isl_give isl_basic_set *add_comparison(__isl_take isl_basic_set *set, uint32_t p,
                                                enum schedule_comparison comparison, uint32_t q, int64_t more)
{
    isl_local_space *space = isl_local_space_from_space(isl_basic_set_get_space(set));
    return isl_basic_set_add_constraint(set, compare(space, p, comparison, q, more));
}

static __isl_give isl_basic_set *universe(__isl_keep isl_set *set)
{
    return isl_basic_set_universe(isl_set_get_space(set));
}

static __isl_give isl_set *both(__isl_take isl_set *set, __isl_take isl_basic_set *where)
{
    return isl_set_intersect(set, isl_set_from_basic_set(where));
}

void check_tuple_meet(struct check_tuple *tuple, uint32_t i, uint32_t j)
{
    const struct check_row *a = &tuple->rows[i], *b = &tuple->rows[j];
    uint32_t p = tuple->at[i] + a->byte_at, q = tuple->at[j] + b->byte_at;
    if (!a->stride || !b->stride) return;
    int64_t width = a->width;
    bool is_same = b->width == a->width && !(a->stride % width) && !(b->stride % width) &&
                   !((a->residue - b->residue) % width);
    isl_basic_set *where = universe(tuple->set);
    if (is_same) {
        where = add_comparison(where, p, SCHEDULE_EQUAL, q, 0);
    } else { /* p < q + width_b, and q < p + width_a */
        where = add_comparison(where, p, SCHEDULE_LESS, q, -(int64_t)b->width);
        where = add_comparison(where, q, SCHEDULE_LESS, p, -(int64_t)a->width);
    }
    tuple->set = both(tuple->set, where);
}

void check_tuple_link(struct check_tuple *tuple, uint32_t i, uint32_t j, __isl_keep isl_map *link)
{
    const struct check_row *a = &tuple->rows[i], *b = &tuple->rows[j];
    unsigned size = (unsigned)isl_set_dim(tuple->set, isl_dim_set);
    isl_set *set = isl_set_flatten(isl_map_wrap(plain(isl_map_copy(link))));
    unsigned first = tuple->at[i], second = tuple->at[j];
    set = isl_set_insert_dims(set, isl_dim_set, 0, first);
    set =
        isl_set_insert_dims(set, isl_dim_set, first + a->instance_count, second - first - a->instance_count);
    set =
        isl_set_insert_dims(set, isl_dim_set, second + b->instance_count, size - second - b->instance_count);
    tuple->set = isl_set_intersect(tuple->set, set);
}

static void equate(struct check_tuple *tuple, uint32_t p, uint32_t q, uint32_t count)
{
    isl_basic_set *where = universe(tuple->set);
    for (uint32_t k = 0; k < count; k++) where = add_comparison(where, p + k, SCHEDULE_EQUAL, q + k, 0);
    tuple->set = both(tuple->set, where);
}

void check_tuple_share(struct check_tuple *tuple, uint32_t i, uint32_t j, bool is_of_thread)
{
    equate(tuple, tuple->at[i] + tuple->rows[i].point_at, tuple->at[j] + tuple->rows[j].point_at,
           is_of_thread ? SCHEDULE_PLACE : SCHEDULE_FIRST_THREAD);
}

void check_tuple_same_cell(struct check_tuple *tuple, uint32_t i, uint32_t j)
{
    equate(tuple, tuple->at[i] + tuple->rows[i].cell_at, tuple->at[j] + tuple->rows[j].cell_at,
           tuple->rows[i].cell_count);
}

__isl_give isl_set *check_tuple_where(const struct check_tuple *tuple, __isl_keep isl_set *set, uint32_t i,
                                      uint32_t j, bool is_order, const struct schedule_piece *piece)
{
    const struct check_row *a = &tuple->rows[i], *b = &tuple->rows[j];
    uint32_t p = tuple->at[i] + (is_order ? a->order_at : a->point_at);
    uint32_t q = tuple->at[j] + (is_order ? b->order_at : b->point_at);
    isl_basic_set *where = universe(set);
    for (uint32_t k = 0; k < piece->count; k++) {
        const struct schedule_term *term = &piece->terms[k];
        where =
            add_comparison(where, term->coordinate + (term->is_instance ? tuple->at[i] : p), term->comparison,
                           term->coordinate + (term->is_instance ? tuple->at[j] : q), 0);
    }
    return both(isl_set_copy(set), where);
}

__isl_give isl_set *check_tuple_compare(const struct check_tuple *tuple, uint32_t p,
                                        enum schedule_comparison comparison, uint32_t q)
{
    return both(isl_set_copy(tuple->set), add_comparison(universe(tuple->set), p, comparison, q, 0));
}

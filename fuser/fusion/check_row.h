/* SPDX-License-Identifier: Apache-2.0
 * Rows: what an access does at an instance, as one tuple of coordinates [instance, byte, order, point, cell]; and tuples of
 * up to three rows, the space in which the legality test asks. Internal to check.c. */
#ifndef KFUSE_FUSER_FUSION_CHECK_ROW_H
#define KFUSE_FUSER_FUSION_CHECK_ROW_H

#include "fuser/fusion/check.h"

#include <isl/set.h>

enum check_part { /* what a row has beside instance and byte; a bit each */
                  CHECK_PART_ORDER = 1,
                  CHECK_PART_OWNERS = 2, /* the point is one that stores to memory */
                  CHECK_PART_IMAGES = 4, /* the point is any */
                  CHECK_PART_FROM = 8,   /* the cell of the storage that serves it */
                  CHECK_PART_INTO = 16,  /* of the one that it fills */
};
struct check_row {
    isl_set *set; /* owned; NULL: isl gave up */
    uint32_t instance_count, byte_at, order_at, point_at, cell_at, cell_count, count;
    uint32_t width;
    int64_t stride, residue; /* of the first byte; 0: any byte is touched */
};
enum { CHECK_ROWS = 3 };
struct check_tuple {
    isl_set *set;                      /* owned; NULL: isl gave up */
    struct check_row rows[CHECK_ROWS]; /* their sets are gone */
    uint32_t at[CHECK_ROWS], count;
};

/* parts: OWNERS or IMAGES, not both; FROM or INTO, with IMAGES. */
struct check_row check_row_open(const struct check_group *group, uint32_t access, unsigned parts);
/* Takes the row's set. */
void check_tuple_add(struct check_tuple *tuple, struct check_row *row);
void check_tuple_close(struct check_tuple *tuple);
/* Only where rows i and j touch a byte in common. */
void check_tuple_meet(struct check_tuple *tuple, uint32_t i, uint32_t j);
/* Only where row j's instance is an image of row i's. */
void check_tuple_link(struct check_tuple *tuple, uint32_t i, uint32_t j, __isl_keep isl_map *link);
/* Only where rows i and j run in one launch and block (is_of_thread: and thread). */
void check_tuple_share(struct check_tuple *tuple, uint32_t i, uint32_t j, bool is_of_thread);
/* Only where their cells are the same. */
void check_tuple_same_cell(struct check_tuple *tuple, uint32_t i, uint32_t j);
/* The part of the set where a piece holds of rows i and j. is_order: of their original order, else of their points. */
__isl_give isl_set *check_tuple_where(const struct check_tuple *tuple, __isl_keep isl_set *set, uint32_t i,
                                      uint32_t j, bool is_order, const struct schedule_piece *piece);
/* The part where coordinate p, counted in the tuple, compares so with coordinate q. */
__isl_give isl_set *check_tuple_compare(const struct check_tuple *tuple, uint32_t p,
                                        enum schedule_comparison comparison, uint32_t q);

#endif

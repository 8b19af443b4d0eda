/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the halo fusion share: halo.c, halo_writer.c, halo_small.c, halo_serve.c. Internal to
 * fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_HALO_PARTS_H
#define KFUSE_FUSER_FUSION_HALO_PARTS_H

#include "fuser/fusion/space.h"

enum { HALO_MOST_LAYERS = 8 }; /* rule 9 */
enum { HALO_NEARBY = 2 };      /* cells along each dimension to a place that is chosen freely */
struct halo_served {           /* cells that a load needed, and where they have their places */
    isl_map *needed;
    int64_t offset[3];
    struct halo_served *next;
};
struct spread {     /* one member */
    isl_map *cells; /* { F -> F }: the thread, as a cell, that a cell runs */
    isl_map
        *threads; /* { F -> F }: of a small member, its own cells -> its threads; NULL: they are the same */
    int32_t low[3], high[3], dense_low[3], dense_high[3]; /* of its stage's box */
    isl_set *sparse; /* { F }: places that run beyond the dense border, some of them within; NULL: none */
    bool is_recomputed, is_small, is_flat;
    struct halo_served *served;
    isl_map *periodic; /* { place -> cell }: halo_serve.c */
};
struct halo_writer { /* what a load reads of what one store wrote, itself or through members that copy it */
    const struct placed_access *store;
    isl_map *source; /* { F -> F }: cell that loads -> cell that stores */
    /* { F -> [byte] }: all that the load reads of it, which is in memory where data keep the store from being made; NULL: they do
     * not. */
    isl_map *masked;
};
struct halo_load {
    const struct placed_access *load;
    bool is_elsewhere, is_served;
    struct halo_writer *writers;
    uint32_t writer_count, first_fetch;
    isl_map *rest; /* { F -> [byte] }, where served: what no member before writes; NULL: nothing */
};
/* Two stores of a member that write one element in each thread, at least one of which data may keep it from: as the two ways of a
 * condition do. They have one place in the tile, which keeps the value of the last that was made. */
struct halo_twin {
    const struct placed_access *store, *of; /* of: a writer */
};
struct halo {
    struct group *group;
    struct space *space;
    struct spread *spreads;
    struct placement_failure *failure;
    struct halo_load *loads; /* of all members, in order */
    uint32_t load_count;
    struct halo_twin *twins;
    uint32_t twin_count;
    uint32_t layers; /* rule 9: along z; 0: no member is flat */
};

static inline const struct access_summary *halo_summary(const struct halo *halo, uint32_t member)
{
    return halo->space->members[member].summary;
}

/* Notes the hazard, and the reason if it is the first; false. */
bool halo_refuse(struct halo *halo, const struct placed_access *a, const struct placed_access *b,
                 const char *why);

/* --- halo_small.c: rule 6 */
/* Places every member, small ones where they are near what they read, or what reads them; sets the group's
 * cells. */
bool halo_place_members(struct halo *halo);

/* --- halo_writer.c: rule 1 */
/* A store of one element once a thread, but that data may keep threads from it. */
bool halo_is_masked(const struct halo *halo, const struct placed_access *store);
bool halo_are_twins(const struct halo *halo, const struct placed_access *store,
                    const struct placed_access *of);
/* Fills the load's last writers and rest; false with the reason. */
bool halo_find_writers(struct halo *halo, struct halo_load *load);
void halo_clear_load(struct halo_load *load);

/* --- halo_kept.c: rule 8 */
/* The last store alone is made where both write. False: it may not be so. */
bool halo_make_way(struct halo *halo, const struct placed_access *first, const struct placed_access *last);

/* All such pairs. False: isl gave up. */
bool halo_make_ways(struct halo *halo);
/* Some store of the member does. */
bool halo_gives_way(const struct halo *halo, uint32_t member);
/* Cells that store something all the same. */
__isl_give isl_set *halo_storing(const struct halo *halo, uint32_t member);

/* --- halo_serve.c */
/* Gives what the load reads of the writer places in its tile, fetches, and the cells that fill them. */
bool halo_serve(struct halo *halo, struct halo_load *load, const struct halo_writer *writer);
/* Rule 9: the member's border along z has no layer in which it runs no cell. False: isl gave up. */
bool halo_clip_layers(const struct halo *halo, struct spread *spread);
/* Tiles of twins of stores that have some. */
bool halo_add_twins(struct halo *halo);
void halo_clear_spread(struct spread *spread);

#endif

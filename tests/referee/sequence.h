/* SPDX-License-Identifier: Apache-2.0
 * What a random program is drawn of: items in sequences, and the state of the generator (generate.c draws the
 * program and its rounds, contents.c what variables hold, sequence.c launches and what stands between them, vary.c variants of a sequence,
 * say.c writes it all as text and keeps streams in order). */
#ifndef KFUSE_TESTS_REFEREE_SEQUENCE_H
#define KFUSE_TESTS_REFEREE_SEQUENCE_H

#include "tests/referee/launch.h"

#include <stddef.h>

enum {
    FILLER = 40,
    POOL = 41,
    OWN = 42 /* and on: those of struct kernel_pointer */,
    KERNELS_MOST = 8,
    ITEMS_MOST = 48,
    STREAMS_MOST = 4,
    NULL_STREAM = 0
};

enum item_kind {
    ITEM_LAUNCH,
    ITEM_FILL,
    ITEM_SET,
    ITEM_COPY,
    ITEM_READ,
    ITEM_SYNC,
    ITEM_QUERY,
    ITEM_PAUSE,
    ITEM_ALLOCATE,
    ITEM_RELOAD,
    ITEM_TABLE,
    ITEM_BAD,
    ITEM_CALL,
    ITEM_JOIN,
    ITEM_RENEW,
    ITEM_MARK, /* an event, which nobody waits for */
    ITEM_POLL
};
struct item {
    enum item_kind kind;
    struct launch launch;
    struct launch_place place, source;
    int64_t bytes;
    uint32_t stream, seed;
    bool has_stream; /* else the call without one */
};
struct sequence {
    uint32_t count;
    struct item items[ITEMS_MOST];
};

struct generator {
    struct arena *arena;
    struct random random;
    uint32_t number;
    struct kernel_theme theme;
    struct kernel *kernels[KERNELS_MOST];
    uint32_t kernel_count, stream_count;
    int32_t level;   /* the theme's levels_of: of this round */
    uint32_t spread; /* percent of the launches that are in any stream, not in the last one */
    struct launch_arrays arrays;
    struct launch_place homes[LAUNCH_ARRAYS]; /* which allocation an array lies in, and where */
    int64_t pool_size;                        /* of the allocation POOL; 0: there is none */
    bool is_blocking[STREAMS_MOST];           /* the null stream waits for it and it for the null stream */
    /* What stream wrote an array last, and which ones have read it since, and when by the stream's clock; -1
     * and 0: none, or all is done. */
    int32_t writer[LAUNCH_ARRAYS];
    uint32_t written[LAUNCH_ARRAYS], read[LAUNCH_ARRAYS][STREAMS_MOST];
    uint32_t clocks[STREAMS_MOST];
    uint32_t known[STREAMS_MOST][STREAMS_MOST]; /* a stream comes behind what another did until then */
    uint32_t known_by_event[STREAMS_MOST][STREAMS_MOST]; /* likewise what waits for its recorded event */
    uint32_t event;
    int32_t recorded[STREAMS_MOST]; /* an event behind all that the stream has to do, or -1 */
    /* What the tables of pointers have, q and z; the flag's value, and what the stream that set it was
     * behind. */
    struct launch_place pointed[2][KERNEL_ENTRIES];
    bool is_pointed[2][KERNEL_ENTRIES];
    uint32_t flag, known_by_flag[STREAMS_MOST];
    /* Of the variables u and b: what they have by now, and whether the last write was one that kfuse does not follow. */
    struct generator_contents {
        unsigned char bytes[KERNEL_CONSTANT_BYTES];
        bool is_odd;
    } contents[KERNEL_CONSTANT_VARIABLES];
    struct random own; /* for contents.c */
    struct generator_contents
        later[KERNEL_CONSTANT_VARIABLES]; /* where launches wait for the host: what they find */
    bool has_initial, is_replayed, is_behind_host;
    bool has_filler; /* an array that nobody uses, so that others come to lie elsewhere */
    char *text;
    size_t size, capacity;
};

/* sequence.c */
void sequence_draw(struct generator *generator, struct sequence *sequence);
/* The grid, the block and the scalars of a launch over so many elements. */
void sequence_draw_numbers(struct generator *generator, const struct kernel *kernel, int32_t length,
                           struct kernel_numbers *numbers);
/* Anything but a launch. */
void sequence_draw_other(struct generator *generator, struct item *item);
/* What may overtake launches that are held, or that they may overtake: in a stream, about an array. */
void sequence_draw_between(struct generator *generator, struct item *item, const struct launch *launch);
/* Changes, reads or copies an array that the launch uses, in a stream. */
void sequence_draw_use(struct generator *generator, struct item *item, const struct launch *launch,
                       uint32_t stream);
bool sequence_insert(struct sequence *sequence, uint32_t at, const struct item *item);
/* Mostly makes it about an array of the launch. */
void sequence_aim(struct generator *generator, struct item *item, const struct launch *launch);

/* vary.c: other data, the order and shape of everything staying; and one change of what happens. */
void vary_data(struct generator *generator, struct sequence *sequence);
/* Likewise of what launches find in variables. */
void vary_contents(struct generator *generator, struct sequence *sequence);
void vary_something(struct generator *generator, struct sequence *sequence);

/* contents.c: the variables' declarations; all that stands before a launch for them; the module is loaded again */
void contents_declare(struct generator *generator);
/* The number that a scalar is. */
int32_t *contents_number(struct launch *launch, uint32_t scalar);
/* Launches that look at one element are to find one value there, that of the first one from there on, where they can: else no
 * two of them are fused. */
void contents_agree(struct generator *generator, struct sequence *sequence, uint32_t first);
/* Nothing but the launches, in a stream that may wait for the host, where there is one. */
void contents_move_apart(struct generator *generator, struct sequence *sequence);
void contents_before(struct generator *generator, const struct launch *launch);
void contents_reload(struct generator *generator);
/* Launches of the sequence wait for the host, which writes what they are to find when they have been made. False: not so. */
bool contents_begin_behind_host(struct generator *generator, const struct sequence *sequence);
void contents_end_behind_host(struct generator *generator);

/* say.c */
__attribute__((format(printf, 2, 3))) void say(struct generator *generator, const char *format, ...);
void say_place(struct generator *generator, const struct launch_place *place);
char say_data_type(const struct generator *generator, uint32_t seed);
void say_sequence(struct generator *generator, const struct sequence *sequence);
/* All arrays, before what comes next overwrites them. */
void say_results(struct generator *generator);
/* A stream comes behind what else touches an array. */
void sequence_touch(struct generator *generator, uint32_t array, bool writes, uint32_t stream);
/* The device has done all. */
void say_forget_order(struct generator *generator);

#endif

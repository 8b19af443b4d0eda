/* SPDX-License-Identifier: Apache-2.0
 * A random program as text, read back. One program is
 *
 *   program NUMBER
 *   source                     CUDA C of its one module, up to a line "end"; or
 *   ptx                        what was compiled of it, likewise; or
 *   image FILE                 a file to load as the module
 *   alloc aN BYTES             alloc, free, stream, launch ... are operations; see enum script_operation_kind
 *   replay                     what follows happens only when a plan is replayed, not when it is recorded
 *   launch KERNEL GX GY GZ BX BY BZ SHARED STREAM ARGUMENT...
 *   done
 *
 * A kernel named bare or debug is not of that module but of one that every program has (script_library).
 * Arguments: a3+16 (address in array 3), c5, h5, i-5, l7 (8, 16, 32 and 64 bits), f3f800000,
 * d3ff0000000000000 (bits of a float or double), { ... } (a struct by value). Streams: s0 is the null stream, or as
 * the operation stream says.
 * Lines that begin with # are comments. */
#ifndef KFUSE_TESTS_REFEREE_SCRIPT_H
#define KFUSE_TESTS_REFEREE_SCRIPT_H

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCRIPT_ARRAYS = 64, SCRIPT_STREAMS = 8, SCRIPT_EVENTS = 256, SCRIPT_ARGUMENT_BYTES = 512 };
enum { SCRIPT_PUT_BYTES = 32, SCRIPT_PARAMETERS = 32, SCRIPT_POINTERS = 32 };

enum script_operation_kind {
    SCRIPT_ALLOC, /* alloc aN BYTES [managed|async|unprinted]: unprinted: what ends up in it is not told */
    SCRIPT_FREE,  /* free aN */
    SCRIPT_STREAM, /* stream sN 0|1: 1 is one that the null stream does not wait for; s0 1: the thread's own default
                    * stream takes the place of the null stream, s0 2: a stream of the program's own does */
    SCRIPT_LAUNCH,
    SCRIPT_FILL,     /* fill aN+OFFSET BYTES TYPE SEED [sM]: from the host; with a stream asynchronously */
    SCRIPT_SET,      /* set aN+OFFSET BYTES VALUE [sM]: bytes of one value */
    SCRIPT_COPY,     /* copy aN+OFFSET aM+OFFSET BYTES [sM]: destination, source */
    SCRIPT_READ,     /* read aN+OFFSET BYTES [sM]: to the host, and waits for it */
    SCRIPT_VARIABLE, /* variable NAME BYTES TYPE SEED: writes a variable of the module from the host */
    SCRIPT_SYNC,     /* sync: everything; sync sN: a stream */
    SCRIPT_RECORD,   /* record eN sM */
    SCRIPT_WAIT,     /* wait eN sM */
    SCRIPT_QUERY,    /* query sN: asks whether it is done, and does nothing with the answer */
    SCRIPT_PAUSE,    /* pause MICROSECONDS */
    SCRIPT_RELOAD,   /* reload: unloads the module and loads it again */
    SCRIPT_BAD,      /* bad KERNEL: a launch that fails, with a block that is too large */
    SCRIPT_CALL,     /* call sN: a function of the host, in the stream */
    SCRIPT_HOLD,     /* hold sN: a function of the host, in the stream, that ends at the next open, or sync */
    SCRIPT_OPEN,     /* open */
    SCRIPT_AWAIT,    /* await: until all of these functions have run, with no call that waits */
    SCRIPT_JOIN,     /* join eN: waits for an event */
    SCRIPT_RENEW,    /* renew sN: destroys the stream while work may be in it, and creates it again */
    SCRIPT_POINT,    /* point aN+OFFSET aM+OFFSET [sM]: writes the address of the second to the first */
    SCRIPT_AIM,      /* aim NAME+OFFSET aM+OFFSET: likewise, to a variable of the module */
    SCRIPT_PUT, /* put NAME+OFFSET host|pinned|set|device HEX [sM]: writes bytes to a variable of the module: a copy from
                    * the host, sets, or a copy within the device; one from pinned memory is over before the next */
    SCRIPT_POLL,   /* poll aN+OFFSET VALUE aM+OFFSET BYTES sM [thread]: asks in the stream until the first is
                    * VALUE, then reads the second there; from another thread of the host */
    SCRIPT_REPLAY, /* replay: not an operation */
    SCRIPT_OPERATIONS
};

struct script_place {
    uint32_t array;
    int64_t offset;
};
struct script_launch {
    const char *kernel;
    uint32_t grid[3], block[3], shared;
    unsigned char arguments[SCRIPT_ARGUMENT_BYTES]; /* pointers hold the offset in their array */
    uint32_t size, parameter_count, pointer_count;
    uint32_t parameters[SCRIPT_PARAMETERS]; /* where each begins */
    struct {
        uint32_t offset, array;
    } pointers[SCRIPT_POINTERS];
};
struct script_operation {
    enum script_operation_kind kind;
    uint32_t line;   /* in the program's text, from 0 */
    uint32_t number; /* among the operations */
    bool has_stream;
    uint32_t stream, event;
    struct script_place place, source;
    uint64_t bytes;
    char type;                            /* of a fill's data; see script_data; of a put the first letter */
    unsigned char data[SCRIPT_PUT_BYTES]; /* of a put: the bytes */
    bool is_threaded;
    uint32_t seed;
    const char *name;
    struct script_launch *launch;
};
struct script {
    uint32_t number;
    const char *text; /* the whole of it; text_size bytes */
    size_t text_size;
    const char *source, *ptx, *image; /* NULL where there is none */
    struct script_operation *operations;
    uint32_t count, launch_count;
};

/* Reads the program at *cursor and moves it behind. NULL with *error NULL at the end, with a message
 * otherwise. */
struct script *script_read(struct arena *arena, const char **cursor, const char **error);
/* What a fill writes. Types: f, d (floating point), F, D (with infinities, NaN and denormal numbers among
 * them), i (small integers), b (any bytes). */
void script_data(unsigned char *bytes, uint64_t size, char type, uint32_t seed);
/* PTX of a module with one kernel, from[n], to[n], n, that copies 32-bit words. bare: what plans is not to
 * have its PTX; debug: compiled for debugging. NULL: the kernel is of the program's own module. */
const char *script_library(const char *kernel);
/* The whole file, NUL-terminated; NULL when it cannot be read. To be freed. */
char *script_read_file(const char *path);

#endif

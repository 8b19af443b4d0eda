/* SPDX-License-Identifier: Apache-2.0
 * plan.bin: what replay maps. Flat, hashed, position independent; all offsets are from the start of the file, all
 * tables are 8-byte aligned. The planner writes it (through common/plan_build.h), replay maps it read-only and
 * refuses it whole on any mismatch of version, hash, device or driver. See kfuse-plan(5).
 *
 * A group's pattern is a list of steps: consecutive launches of one stream. The patterns of all groups form one
 * automaton: a trie over steps, in which two groups share a node as long as their steps, masks and guards are
 * equal. When the last step has arrived and its guards hold, replay issues: the passed-over launches marked
 * BEFORE, in order; the group's kernel; those marked AFTER, in order. */
#ifndef KFUSE_COMMON_PLAN_H
#define KFUSE_COMMON_PLAN_H

#include "common/guard.h"
#include "common/hash.h"
#include "common/memop.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAN_MAGIC  "KFPLAN\0"
#define PLAN_STAGED ".kfuse-next-" /* before the names of a plan's files until all are there */
enum {
    PLAN_VERSION = 12,
    PLAN_SUM_TERMS = 4,
    PLAN_PARAMETERS_LIMIT = 32764, /* bytes of one launch's parameters, CUDA 12.1 and later */
    PLAN_RENAMES_LIMIT = 16,
    PLAN_CONTENTS_LIMIT = 65536, /* bytes of a `__constant__` variable: those of a module together */
    PLAN_STALES_LIMIT = 16,      /* of one variant */
    PLAN_ARRIVALS = 1024         /* counters of a module in which blocks are counted */
};

struct plan_table { /* count entries of a fixed struct */
    uint64_t offset;
    uint32_t count, reserved;
};

struct plan_header {
    char magic[8];
    uint32_t version, header_size;
    uint64_t file_size;
    uint64_t check;           /* hash_check of the bytes after this field up to file_size */
    struct hash128 plan_hash; /* of plan.json beside it as the planner wrote it: an edited one is noticed */
    char device_name[64];
    uint32_t compute_major, compute_minor, driver_version, is_emulated;
    struct plan_table modules, variables, sums, kernels, groups, steps, guards, masks, parameters, effects,
        renames, stales, overwrites, covers, boxes, variants;
    struct plan_table strings; /* bytes */
    struct plan_table code;    /* bytes: fatbin containers, 8-byte aligned */
};

struct plan_module {
    struct hash128 hash; /* as in trace_module: image and JIT options */
};

struct plan_variable {       /* of a kernel's module */
    uint32_t name, reserved; /* offset in strings */
};

/* A word that a launch has besides its arguments. PLAN_SUM: an address that its kernel makes of them, the pointer at offset
 * pointer, and factors times signed integers of size 4 or 8. PLAN_CONTENTS: terms[0].size bytes at terms[0].offset of the
 * kernel's variable number `pointer`, which the host alone writes; terms[0].factor: what the module begins with. */
enum plan_sum_kind { PLAN_SUM, PLAN_CONTENTS, PLAN_SUM_KINDS };
struct plan_sum {
    uint32_t kind, pointer, term_count, reserved;
    struct plan_term {
        uint32_t offset, size;
        int64_t factor;
    } terms[PLAN_SUM_TERMS];
};

struct plan_kernel {       /* a member or a launch passed over; its attributes must be as recorded */
    uint32_t module, name; /* name: offset in strings */
    uint32_t registers, static_shared, local_bytes, parameter_bytes;
    int32_t max_dynamic_shared;
    uint32_t memop,
        memop_width; /* enum memop_kind; bytes of an element: no kernel of a module, but a set or a copy */
    uint32_t reserved;
    uint32_t first_variable, variable_count; /* see plan_words_size */
    uint32_t first_sum, sum_count;
};

enum plan_step_role { PLAN_MEMBER, PLAN_BEFORE, PLAN_AFTER };
struct plan_step {
    uint32_t kernel, role;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared, arguments_size;
    /* arguments[i] & mask[i] must equal value[i]: arguments_size bytes of mask, then as many of value */
    uint32_t mask; /* offset in masks (bytes) */
    uint32_t first_guard, guard_count;
    uint32_t max_gap_ns; /* longest recorded gap between this arrival and the one before; 0: first step */
};

struct plan_parameter { /* copies one piece of a member's parameter buffer into the fused kernel's */
    uint32_t step, source_offset, destination_offset, size;
};

enum plan_effect_kind {
    PLAN_WRITES,        /* what the members write of an array, in one range */
    PLAN_TOUCH_READ,    /* what one step reads through one pointer */
    PLAN_TOUCH_WRITTEN, /* what it writes, and perhaps reads */
    /* as PLAN_WRITES, but by floating-point atomics: as their order is open, no two runs need write the same */
    PLAN_WRITES_UNORDERED,
    PLAN_EFFECT_KINDS
};
enum plan_effect_flags {
    /* The word that holds p serves for nothing but addresses of what is touched through it (fuser/kernel/pointer_use.h). */
    PLAN_TOUCH_MOVABLE = 1,
};
/* Bytes [p+from, p+to) around those that are written, or touched. is_exact: none outside; else any of the
 * allocation. All that a group's launches touch is listed, those that it passes over included. What is written of it lies in the
 * boxes and is all that they have, whatever the data; where there are none, nothing is said. */
struct plan_effect {
    uint32_t kind, step, offset, is_exact;
    int64_t from, to;
    uint32_t flags, first_box, box_count, reserved;
};

enum plan_rename_flags {
    /* the kernel writes the bytes of a box only; else it writes every byte of the range */
    PLAN_RENAME_PARTIAL = 1,
};
/* Rows of width bytes, row_pitch from one to the next; layers of so many rows, layer_rows rows from one to
 * the next. */
struct plan_box {
    uint64_t from; /* its first byte, from the range's */
    uint64_t width, row_pitch;
    uint32_t rows, layers, layer_rows, reserved;
};
/* A range that a fused kernel reads in one buffer and writes in another, so that whatever it reads is what
 * was there before it: [p+from, p+from+bytes) around the pointer p in a step's word. Two distances of 8 bytes
 * lie at destination_offset in the fused kernel's parameters: what is added to an address in the range to
 * come to the buffer that has the old contents, then to the one that gets the new ones. One of the two is the
 * range itself, distance 0. Ranges of one variant are disjoint: replay looks, and runs the members where they
 * are not. What is said to be written is written at every use that fits, whatever the data: those bytes alone
 * are copied back from the second buffer, since anyone may write the others meanwhile. Of the others the same
 * are read at every use; the second buffer begins as a copy of the range. What launches write there between uses, which the
 * plan lists, is copied to the other buffer; others end the chain. No member has atomics, fences or volatile accesses: nothing on the device can
 * wait for what is written. */
struct plan_rename {
    uint32_t step, offset; /* the word that holds p */
    int64_t from;
    uint64_t bytes;
    uint32_t destination_offset, flags; /* plan_rename_flags */
    struct plan_box written;            /* zeros unless PARTIAL */
    uint64_t before, behind; /* bytes at its ends that no member touches, but launches between uses do */
};

enum plan_stale_flags {
    PLAN_STALE_PARTIAL = 1, /* the kernel does store what lies outside of a box */
};
/* A range [p+from, p+from+bytes) that a fused kernel does not store, though the members write it: replay has
 * it made again, by the launches of the rematerialisation, should anybody want it. Whatever the group's
 * launches read of it, they have written before. The rematerialisation writes nothing else; what it reads
 * outside of such ranges is after the group as it was when its members read it. */
struct plan_stale {
    uint32_t step, offset; /* the word that holds p */
    int64_t from;
    uint64_t bytes;
    uint32_t flags /* plan_stale_flags */, reserved;
    struct plan_box left; /* what is stale; zeros unless PARTIAL */
};

enum plan_overwrite_flags {
    PLAN_OVERWRITE_COMPLETE = 1, /* every byte of the range */
};
/* A range [p+from, p+from+bytes) of which each use of the group, or the bystander, writes at least all that its covers say, whatever
 * the data, and reads nothing of that before: what was left stale there nobody can want any more. */
struct plan_overwrite {
    uint32_t step, offset; /* the word that holds p */
    int64_t from;
    uint64_t bytes;
    uint32_t flags /* plan_overwrite_flags */;
    uint32_t first_cover, cover_count, reserved;
};
/* All that a stale range leaves stale, where that begins `distance` bytes behind the range that is overwritten. */
struct plan_cover {
    uint32_t stale, reserved; /* that one, in the table of all */
    int64_t distance;
};

/* One compiled form of a group; replay takes the first whose guards hold. One that leaves ranges stale is
 * followed by one that stores them, with the same guards, for when they must not be stale. */
struct plan_variant {
    uint32_t first_guard, guard_count;
    uint64_t code; /* offset in code of a fatbin with machine code and PTX */
    uint64_t code_size;
    uint32_t entry; /* name: offset in strings */
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared, parameter_bytes;
    uint32_t first_parameter, parameter_count;
    uint32_t registers;
    uint32_t first_rename, rename_count; /* at most PLAN_RENAMES_LIMIT */
    uint32_t first_stale, stale_count;   /* at most PLAN_STALES_LIMIT */
    uint32_t rematerialisation; /* steps of the group, a bit each: members that write what is stale */
    /* Where in the parameters the 4 bytes end that take the number of the stream's counter, less than PLAN_ARRIVALS; 0: there are none
     * (fuser/fusion/last_block.h). */
    uint32_t arrivals_end;
};

enum plan_group_flags {
    PLAN_NEEDS_VERIFICATION = 1,
    PLAN_BYSTANDER = 2, /* one launch, left as it is, with no form: listed for what it touches */
    /* Kinds of fusion that other kinds stand beside: what is measured of the same members in one says nothing of the other. */
    PLAN_INTER_BLOCK = 4,
    PLAN_LAST_BLOCK = 8,
    PLAN_KINDS = PLAN_INTER_BLOCK | PLAN_LAST_BLOCK,
};
struct plan_group {
    uint32_t name; /* offset in strings */
    uint32_t flags;
    uint32_t first_step, step_count;
    uint32_t first_variant, variant_count;
    uint32_t first_effect, effect_count;
    uint32_t first_overwrite, overwrite_count;
    uint64_t projected_gain_ns; /* per use */
    uint64_t projected_ns;      /* device time that a use takes at least, fused or not */
};

_Static_assert(sizeof(struct plan_sum) == 80, "plan sum");
_Static_assert(sizeof(struct plan_header) == 416, "plan header");
_Static_assert(sizeof(struct plan_variable) == 8, "plan variable");
_Static_assert(sizeof(struct plan_kernel) == 56, "plan kernel");
_Static_assert(sizeof(struct plan_step) == 56, "plan step");
_Static_assert(sizeof(struct plan_effect) == 48, "plan effect");
_Static_assert(sizeof(struct plan_rename) == 88, "plan rename");
_Static_assert(sizeof(struct plan_stale) == 72, "plan stale");
_Static_assert(sizeof(struct plan_overwrite) == 40, "plan overwrite");
_Static_assert(sizeof(struct plan_cover) == 16, "plan cover");
_Static_assert(sizeof(struct plan_variant) == 96, "plan variant");
_Static_assert(sizeof(struct plan_group) == 56, "plan group");

/* What header.check must be: bytes is the whole file. */
static inline uint64_t plan_check(const void *bytes, size_t size)
{
    enum { START = offsetof(struct plan_header, plan_hash) };
    return hash_check((const char *)bytes + START, size - START);
}

/* --- map: plan_map.c; used by replay and by `kfuse report` ------------------------------------------------- */
struct plan {
    const struct plan_header *header;
    const struct plan_module *modules;
    const struct plan_variable *variables;
    const struct plan_sum *sums;
    const struct plan_kernel *kernels;
    const struct plan_group *groups;
    const struct plan_step *steps;
    const struct guard_check *guards;
    const unsigned char *masks;
    const struct plan_parameter *parameters;
    const struct plan_effect *effects;
    const struct plan_rename *renames;
    const struct plan_stale *stales;
    const struct plan_overwrite *overwrites;
    const struct plan_cover *covers;
    const struct plan_box *boxes;
    const struct plan_variant *variants;
    const char *strings;
    const unsigned char *code;
    size_t size;
};
/* The words of a step: its parameter buffer, and behind it, at the next multiple of 8, the addresses of the
 * kernel's variables in the instance of the module that the launch belongs to, 8 bytes each, then its sums
 * and the contents of variables, the same. Guards, parameters, effects, renames, stale and overwritten ranges name words; masks cover the parameter
 * buffer alone. */
static inline uint32_t plan_words_size(const struct plan *plan, const struct plan_step *step)
{
    uint32_t count = plan->kernels[step->kernel].variable_count + plan->kernels[step->kernel].sum_count;
    return count ? ((step->arguments_size + 7) & ~7u) + 8 * count : step->arguments_size;
}

static inline int64_t plan_term_of(const struct plan_term *term, const unsigned char *arguments)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    if (term->size == 8)
        memcpy(&wide, arguments + term->offset, sizeof wide);
    else
        memcpy(&narrow, arguments + term->offset, sizeof narrow);
    return term->size == 8 ? wide : narrow;
}

/* Modulo 2^64, as the kernel reckons. */
static inline uint64_t plan_sum_of(const struct plan_sum *sum, const unsigned char *arguments)
{
    uint64_t address;
    memcpy(&address, arguments + sum->pointer, sizeof address);
    for (uint32_t i = 0; i < sum->term_count; i++)
        address += (uint64_t)sum->terms[i].factor * (uint64_t)plan_term_of(&sum->terms[i], arguments);
    return address;
}

/* Maps DIRECTORY/plan.bin and checks every offset, count and index in it, and that plan.json beside it, if
 * there, is unedited. False with a message in error (file, what is wrong, what to do). Device and driver are
 * left to the caller. */
bool plan_map(struct plan *plan, const char *directory, char *error, size_t error_size);
/* The same for a plan whose code is to run: only what nobody else can have written (trusted.h). */
bool plan_map_trusted(struct plan *plan, const char *directory, char *error, size_t error_size);
void plan_unmap(struct plan *plan);

#endif

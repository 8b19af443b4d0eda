/* SPDX-License-Identifier: Apache-2.0
 * A launch's accesses as text: stable, for people and for golden tests. */
#include "fuser/access/access.h"

#include "fuser/kernel/loops.h"

#include <stdlib.h>

static const char *const kind_names[] = {
    [ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_ATOMIC] = "atomic"};

static void print_base_name(FILE *out, const struct access_base *base)
{
    switch (base->kind) {
    case ACCESS_BASE_ARGUMENT:
        fprintf(out, "argument+%u", base->argument_offset);
        break;
    case ACCESS_BASE_VARIABLE:
        fprintf(out, "variable %s", base->variable);
        break;
    case ACCESS_BASE_UNKNOWN:
        fputs("unknown pointer", out);
        break;
    }
}

static void print_bases(FILE *out, const struct access_summary *summary)
{
    for (uint32_t b = 0; b < summary->base_count; b++) {
        const struct access_base *base = &summary->bases[b];
        fputs("base ", out);
        print_base_name(out, base);
        fprintf(out, ": %s%s%s",
                base->is_read      ? "read"
                : base->is_written ? ""
                                   : "not null",
                base->is_read && base->is_written ? " and " : "", base->is_written ? "written" : "");
        if (base->is_bounded)
            fprintf(out, ", bytes [%lld, %lld)\n", (long long)base->from, (long long)base->to);
        else
            fputs(", anywhere in its allocation\n", out);
    }
}

static void print_access(FILE *out, const struct access_summary *summary, const struct access *access)
{
    const struct ptx_instruction *instruction = &summary->function->instructions[access->instruction];

    fprintf(out, "line %u: %.*s\n    %s ", access->line, (int)instruction->text.length,
            instruction->text.text, kind_names[access->kind]);
    print_base_name(out, &summary->bases[access->base]);
    fprintf(out, ", %u bytes, address %s, domain %s%s%s%s\n", access->width,
            access->address_is_exact ? "exact" : "may", access->domain_is_exact ? "exact" : "may",
            access->is_once ? "" : ", in a loop", access->ends_loop ? " that it ends" : "",
            access->is_unordered        ? ", unordered"
            : access->is_uncached_order ? ", ordered"
                                        : "");
    if (access->relation) {
        char *text = isl_map_to_str(access->relation);
        fprintf(out, "    %s\n", text ? text : "(isl gave up)");
        free(text);
    }
    if (access->reason) fprintf(out, "    because: %s\n", access->reason);
}

static void print_set(FILE *out, const char *name, isl_set *set)
{
    char *text = isl_set_to_str(set);

    fprintf(out, "%s %s\n", name, text ? text : "(isl gave up)");
    free(text);
}

static void print_flow(FILE *out, const struct access_summary *summary)
{
    struct arena *arena = arena_create();
    const char *reason = NULL;
    struct ptx_cfg *cfg = arena ? ptx_cfg_build(arena, summary->function, &reason) : NULL;
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    struct loop_forest *forest = dominators ? loops_build(arena, dominators, &reason) : NULL;

    for (uint32_t b = 0; forest && b + 1 < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        if (!dominators_is_reachable(dominators, b) || block->count == 0) continue;
        fprintf(out, "block %u: lines %u-%u", b, summary->function->instructions[block->first].line,
                summary->function->instructions[block->first + block->count - 1].line);
        if (forest->loop_of[b] != LOOPS_NONE)
            fprintf(out, ", in the loop of block %u", forest->loops[forest->loop_of[b]].header);
        fputs(", then", out);
        for (uint32_t s = 0; s < block->successor_count; s++) {
            if (block->successors[s] + 1 == cfg->block_count)
                fputs(" exit", out);
            else
                fprintf(out, " %u", block->successors[s]);
        }
        fputc('\n', out);
    }
    for (uint32_t l = 0; forest && l < forest->loop_count; l++)
        fprintf(out, "loop of block %u: counter i%u\n", forest->loops[l].header, forest->loops[l].depth - 1);
    arena_free(arena);
}

static void print_words(FILE *out, const struct access_summary *summary)
{
    if (summary->word_count) fputs("depends on argument bytes", out);
    for (uint32_t w = 0; w < summary->word_count; w++)
        fprintf(out, " [%u, %u)", summary->words[w].offset,
                summary->words[w].offset + summary->words[w].size);
    if (summary->word_count) fputc('\n', out);
    for (uint32_t c = 0; c < summary->content_count; c++)
        fprintf(out, "depends on bytes [%u, %u) of variable %s\n", summary->contents[c].words.offset,
                summary->contents[c].words.offset + summary->contents[c].words.size,
                summary->contents[c].variable);
}

void access_print(FILE *out, const struct access_summary *summary)
{
    fprintf(out, "kernel %s, grid %u %u %u, block %u %u %u\n", summary->function->name, summary->grid[0],
            summary->grid[1], summary->grid[2], summary->block[0], summary->block[1], summary->block[2]);
    if (!summary->function->unreadable) print_flow(out, summary);
    if (summary->refusal) {
        fprintf(out, "refused: %s\n", summary->refusal);
        return;
    }
    if (summary->no_member) fprintf(out, "no member: %s\n", summary->no_member);
    if (summary->keeps_place && summary->keeps_place != summary->no_member)
        fprintf(out, "keeps its place: %s\n", summary->keeps_place);
    if (summary->whole_block)
        fprintf(out, "blocks stay whole%s: %s\n", summary->is_exit_divergent ? ", uneven" : "",
                summary->whole_block);
    if (summary->no_whole_block) fprintf(out, "but cannot: %s\n", summary->no_whole_block);
    if (summary->has_barrier || summary->has_shared || summary->has_local || summary->has_warp_collective ||
        summary->has_atomic)
        fprintf(out, "has%s%s%s%s%s\n", summary->has_barrier ? " barriers" : "",
                summary->has_shared ? " shared" : "", summary->has_local ? " local" : "",
                summary->has_warp_collective ? " warp-collectives" : "",
                summary->has_atomic ? " atomics" : "");
    print_words(out, summary);
    print_bases(out, summary);
    for (uint32_t a = 0; a < summary->access_count; a++) print_access(out, summary, &summary->accesses[a]);
    print_set(out, "effective", summary->effective);
}

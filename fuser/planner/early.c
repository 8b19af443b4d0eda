/* SPDX-License-Identifier: Apache-2.0
 * See early.h. */
#include "fuser/planner/early.h"

#include "fuser/planner/search_memo.h"

static const double FIRST = 0.25,
                    GROWTH = 1.3; /* seconds until the first crew; how much later the next one */

void early_open(struct early *early, const struct planner_options *options)
{
    double now = deadline_now();
    *early = (struct early){.options = options, .opened = now, .next = now + FIRST};
}

struct worker { /* one's own view of the program, opened by its first task */
    const struct planner_options *options;
    struct launch_classes *classes;
    struct pairs pairs;
    struct search search;
    uint32_t launches;
    bool is_open, has_failed;
};

static void open_view(struct worker *worker)
{
    worker->is_open = true;
    worker->has_failed = !launch_classes_cut(worker->classes, worker->launches) ||
                         !pairs_open(&worker->pairs, worker->classes, worker->options) ||
                         !search_open(&worker->search, worker->options, &worker->pairs);
}

/* The latest first: what comes before them, the crew before has seen. */
static void look(void *context, uint32_t task)
{
    struct worker *worker = context;
    if (!worker->is_open) open_view(worker);
    if (!worker->has_failed) search_look_at_pairs(&worker->search, worker->launches - 1 - task);
}

void early_look(void *context, struct launch_classes *classes, uint32_t launches)
{
    struct early *early = context;
    double now = deadline_now();
    uint32_t workers = crew_workers(early->options->jobs);
    const struct compiler *compiler = classes->program->compiler;
    if (now < early->next || !workers || !compiler || !compiler->answers) return;
    struct worker worker = {.options = early->options, .classes = classes, .launches = launches};
    crew_end(&early->crew);
    crew_start(&early->crew, compiler->answers, workers, launches, look, &worker);
    early->next = early->opened + GROWTH * (now - early->opened);
}

void early_end(struct early *early)
{
    crew_end(&early->crew);
}

/* SPDX-License-Identifier: Apache-2.0
 * The legality test against enumeration, on random tiny launches with random schedules. What goes wrong under any order must
 * be refused; of what is right, the share that is refused is printed.
 * KFUSE_TEST_SCENES: how many scenes; KFUSE_TEST_SEED: the first one's number. */
#include "tests/fusion/scene.h"
#include "tests/fusion/truth.h"

#include <isl/options.h>
#include <stdlib.h>

enum { SCENES = 600 };

struct tally {
    uint32_t accepted, refused_good, gave_up, refused_bad, wrong;
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void say_scene(const struct scene *scene, enum scene_kind kind, uint64_t seed, const char *what)
{
    printf("%s %llu: %s\n", scene_names[kind], (unsigned long long)seed, what);
    scene_print(stdout, scene);
}

static void judge(isl_ctx *ctx, enum scene_kind kind, uint64_t seed, struct tally *tally)
{
    struct scene scene;
    struct check_refusal refusal;
    scene_draw(&scene, ctx, kind, seed);
    if (kind <= SCENE_SERVED && seed % 8 && truth_has_race(&scene.group)) {
        scene_close(&scene);
        return;
    }
    bool is_legal = check_group(&scene.group, &refusal);
    const char *fault = truth_fault(&scene.group);
    if (is_legal && fault) say_scene(&scene, kind, seed, fault);
    if (!is_legal && !fault && getenv("KFUSE_TEST_REFUSED")) {
        printf("accesses %d and %d, gave up %d\n", (int)refusal.a, (int)refusal.b, refusal.gave_up);
        say_scene(&scene, kind, seed, check_rule_text(refusal.rule));
    }
    *(is_legal ? fault ? &tally->wrong : &tally->accepted
      : fault  ? &tally->refused_bad
               : &tally->refused_good) += 1;
    tally->gave_up += !is_legal && refusal.gave_up;
    scene_close(&scene);
}

int main(void)
{
    isl_ctx *ctx = isl_ctx_alloc();
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    uint64_t count = setting("KFUSE_TEST_SCENES", SCENES);
    uint64_t first = setting("KFUSE_TEST_SEED", 1);
    struct tally tallies[SCENE_KINDS] = {0};
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        judge(ctx, i % SCENE_KINDS, first + i / SCENE_KINDS, &tallies[i % SCENE_KINDS]);
    printf("%-8s %9s %9s %9s %9s %9s\n", "scenes", "accepted", "too sure", "refused", "too shy", "gave up");
    for (int kind = 0; kind < SCENE_KINDS; kind++) {
        const struct tally *tally = &tallies[kind];
        printf("%-8s %9u %9u %9u %9u %9u\n", scene_names[kind], tally->accepted, tally->wrong,
               tally->refused_bad, tally->refused_good, tally->gave_up);
        wrong += tally->wrong;
    }
    isl_ctx_free(ctx);
    if (wrong) fprintf(stderr, "FAILED: %u schedules are accepted that are wrong\n", wrong);
    return wrong != 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Draws launches and what stands between them. */
#include "tests/referee/sequence.h"

#include <string.h>

/* --- launches --- */

static void choose_plane(struct generator *generator, struct kernel_numbers *numbers)
{
    static const uint32_t blocks[][2] = {{32, 4}, {16, 16}, {8, 8}, {32, 1}, {64, 2}, {16, 4}};
    struct random *random = &generator->random;
    const uint32_t *block = blocks[random_below(random, 6)];
    uint32_t smaller = generator->theme.has_steps ? 4 : 20; /* percent */
    numbers->n = generator->theme.width - (random_chance(random, smaller) ? 1 : 0);
    numbers->h = generator->theme.height - (random_chance(random, smaller) ? 1 : 0);
    if (numbers->h < 1) numbers->h = 1;
    numbers->m = generator->theme.width;
    numbers->block[0] = block[0];
    numbers->block[1] = block[1];
    numbers->grid[0] = ((uint32_t)numbers->n + block[0] - 1) / block[0];
    numbers->grid[1] = ((uint32_t)numbers->h + block[1] - 1) / block[1];
}

/* A small kernel in planes has the numbers of those, in a line the length is known. */
static void choose_small_or_plane(struct generator *generator, const struct kernel *kernel,
                                  struct kernel_numbers *numbers)
{
    if (kernel->shape == KERNEL_PLANE || kernel->limit != 'w') choose_plane(generator, numbers);
    if (!kernel->limit) return;
    int32_t threads = kernel->limit == 'w' ? kernel->width : kernel->limit == 'h' ? numbers->h : numbers->n;
    numbers->block[0] = (uint32_t)random_of(&generator->random, 32, 32, 64, 128);
    numbers->block[1] = numbers->grid[1] = 1;
    numbers->grid[0] = ((uint32_t)threads + numbers->block[0] - 1) / numbers->block[0];
}

void sequence_draw_numbers(struct generator *generator, const struct kernel *kernel, int32_t length,
                           struct kernel_numbers *numbers)
{
    struct random *random = &generator->random;
    uint32_t block = generator->theme.block;
    if (random_chance(random, kernel->is_plain ? 3 : 22))
        block = (uint32_t)random_of(random, 32, 64, 96, 128, 256);
    if (random_chance(random, kernel->is_plain ? 3 : 15)) length -= (int32_t)random_below(random, 20);
    length = length < 4 ? 4 : length;
    *numbers = (struct kernel_numbers){.n = length,
                                       .m = random_of(random, 2, 3, 4),
                                       .o = random_of(random, 0, 1, 2, 8, 32),
                                       .h = 1,
                                       .grid = {1, 1, 1},
                                       .block = {block, 1, 1}};
    if (generator->theme.levels_of && random_chance(random, 95)) numbers->o = generator->level;
    if (kernel->is_column && random_chance(random, 92)) numbers->m = generator->theme.levels;
    numbers->s = (float)random_of(random, -3, -1, 1, 2, 3, 5) / 4.0f;
    numbers->t = (float)random_of(random, -2, 0, 1, 2, 7) / 8.0f;
    uint32_t per_block = block * (kernel->shape == KERNEL_CHUNK ? (uint32_t)numbers->m : 1);
    numbers->grid[0] = ((uint32_t)length + per_block - 1) / per_block;
    if (kernel->shape == KERNEL_STRIDE && kernel->scene)
        numbers->grid[0] = generator->theme.stride_blocks;
    else if (kernel->shape == KERNEL_STRIDE && random_chance(random, kernel->is_plain ? 10 : 60))
        numbers->grid[0] = 1 + random_below(random, 3);
    if (random_chance(random, 8)) numbers->grid[0]++;
    if (kernel->is_exact) {
        if ((uint32_t)length < block) numbers->block[0] = block = 32;
        numbers->grid[0] = (uint32_t)length / block ? (uint32_t)length / block : 1;
        numbers->n = (int32_t)(numbers->grid[0] * block);
    }
    if (kernel->shape == KERNEL_PLANE || kernel->limit) choose_small_or_plane(generator, kernel, numbers);
    if (kernel->is_tall) {
        numbers->block[1] = (uint32_t)random_of(random, kernel->scene ? 2 : 1, 2, 4, 8);
        numbers->block[0] /= numbers->block[1];
    }
    if (kernel->is_wide && !kernel->is_exact) {
        numbers->grid[1] = 2;
        numbers->grid[0] = (numbers->grid[0] + 1) / 2;
    }
}

/* Shorter where the arrays are too small for what the kernel touches. */
static bool draw_launch(struct generator *generator, const struct kernel *kernel, struct launch *launch)
{
    *launch =
        (struct launch){.kernel = kernel, .lane = random_below(&generator->random, generator->arrays.lanes)};
    launch->stream = generator->stream_count > 1 && random_chance(&generator->random, generator->spread)
                         ? random_below(&generator->random, generator->stream_count)
                         : generator->stream_count - 1;
    for (int32_t length = generator->theme.length; length >= 8; length /= 2) {
        sequence_draw_numbers(generator, kernel, length, &launch->numbers);
        if (launch_bind(launch, &generator->arrays, &generator->random)) {
            uint32_t *latest = &generator->arrays.latest[launch->lane];
            *latest = launch_output(launch, *latest);
            return true;
        }
        if (kernel->shape == KERNEL_PLANE) break;
    }
    return false;
}

/* --- other items --- */

static struct launch_place draw_range(struct generator *generator, int64_t *bytes)
{
    struct random *random = &generator->random;
    uint32_t array = random_below(random, generator->arrays.count);
    int64_t size = generator->arrays.sizes[array], offset = 0;
    *bytes = size;
    if (random_chance(random, 50)) {
        offset = (int64_t)random_below(random, (uint32_t)size / 16) * 8;
        *bytes = 8 * (1 + (int64_t)random_below(random, (uint32_t)((size - offset) / 8)));
    }
    return (struct launch_place){array, offset};
}

void sequence_draw_other(struct generator *generator, struct item *item)
{
    struct random *random = &generator->random;
    static const enum item_kind kinds[] = {
        ITEM_FILL,  ITEM_FILL,  ITEM_SET,  ITEM_SET,   ITEM_COPY,  ITEM_COPY,     ITEM_READ,     ITEM_READ,
        ITEM_READ,  ITEM_SYNC,  ITEM_SYNC, ITEM_QUERY, ITEM_PAUSE, ITEM_ALLOCATE, ITEM_ALLOCATE, ITEM_RELOAD,
        ITEM_TABLE, ITEM_TABLE, ITEM_BAD,  ITEM_CALL,  ITEM_JOIN,  ITEM_RENEW};
    int64_t bytes;
    *item = (struct item){.kind = kinds[random_below(random, sizeof kinds / sizeof *kinds)],
                          .seed = random_below(random, 1000),
                          .has_stream = random_chance(random, 50)};
    item->stream = item->has_stream ? random_below(random, generator->stream_count) : NULL_STREAM;
    item->place = draw_range(generator, &item->bytes);
    item->source = draw_range(generator, &bytes);
    if (item->kind != ITEM_COPY) return;
    if (bytes < item->bytes) item->bytes = bytes;
    if (item->source.array == item->place.array) item->kind = ITEM_READ;
}

/* Most of what stands beside a launch is about an array of it. */
void sequence_aim(struct generator *generator, struct item *item, const struct launch *launch)
{
    uint32_t pointer = random_below(&generator->random, launch->kernel->pointer_count);
    uint32_t array = launch->places[pointer].array;
    if (launch->kernel->pointers[pointer].variable || random_chance(&generator->random, 30)) return;
    if (item->kind == ITEM_COPY && item->source.array == array) return;
    item->place = (struct launch_place){array, 0};
    if (item->kind != ITEM_COPY || item->bytes > generator->arrays.sizes[array])
        item->bytes = generator->arrays.sizes[array];
    if (item->kind == ITEM_COPY &&
        item->source.offset + item->bytes > generator->arrays.sizes[item->source.array])
        item->bytes = generator->arrays.sizes[item->source.array] - item->source.offset;
}

static uint32_t any_array(struct generator *generator, const struct launch *launch)
{
    for (uint32_t attempt = 0; attempt < 4; attempt++) {
        uint32_t pointer = random_below(&generator->random, launch->kernel->pointer_count);
        uint32_t array = launch->places[pointer].array;
        if (launch->kernel->pointers[pointer].variable) continue;
        if (attempt == 3 || launch_touches(launch, array, true)) return array;
    }
    return random_below(&generator->random, generator->arrays.count);
}

void sequence_draw_use(struct generator *generator, struct item *item, const struct launch *launch,
                       uint32_t stream)
{
    struct random *random = &generator->random;
    uint32_t array = any_array(generator, launch), other = random_below(random, generator->arrays.count);
    *item = (struct item){.kind = (enum item_kind)random_of(random, ITEM_FILL, ITEM_SET, ITEM_SET, ITEM_COPY,
                                                            ITEM_COPY, ITEM_READ),
                          .seed = random_below(random, 1000),
                          .stream = stream,
                          .has_stream = stream != NULL_STREAM || random_chance(random, 50),
                          .place = {array, 0},
                          .source = {other, 0},
                          .bytes = generator->arrays.sizes[array]};
    if (item->kind != ITEM_COPY) return;
    if (other == array) {
        item->kind = ITEM_READ;
        return;
    }
    if (random_chance(random, 50)) {
        item->place.array = other;
        item->source.array = array;
    }
    if (item->bytes > generator->arrays.sizes[other]) item->bytes = generator->arrays.sizes[other];
}

/* A set, or a copy from or to an array of the same size, of all that the launch touches through one pointer. */
static void draw_memop(struct generator *generator, struct item *item, const struct launch *launch)
{
    struct random *random = &generator->random;
    do sequence_draw_use(generator, item, launch, launch->stream);
    while (item->kind != ITEM_SET && item->kind != ITEM_COPY);
    const int64_t *sizes = generator->arrays.sizes;
    for (int attempt = 0; item->kind == ITEM_COPY && attempt < 8; attempt++) {
        uint32_t other = random_below(random, generator->arrays.count);
        if (other == item->source.array || sizes[other] != sizes[item->source.array]) continue;
        item->place.array = other;
        item->bytes = sizes[other];
        return;
    }
}

void sequence_draw_between(struct generator *generator, struct item *item, const struct launch *launch)
{
    struct random *random = &generator->random;
    if (random_chance(random, 55)) {
        sequence_draw_use(generator, item, launch,
                          random_chance(random, 60) ? launch->stream
                                                    : random_below(random, generator->stream_count));
        return;
    }
    *item = (struct item){.kind = (enum item_kind)random_of(random, ITEM_CALL, ITEM_CALL, ITEM_CALL,
                                                            ITEM_JOIN, ITEM_JOIN, ITEM_RENEW, ITEM_SYNC,
                                                            ITEM_QUERY, ITEM_ALLOCATE),
                          .seed = random_below(random, 1000),
                          .stream = launch->stream,
                          .has_stream = true,
                          .place = {any_array(generator, launch), 0}};
}

bool sequence_insert(struct sequence *sequence, uint32_t at, const struct item *item)
{
    if (sequence->count == ITEMS_MOST) return false;
    memmove(&sequence->items[at + 1], &sequence->items[at], (sequence->count++ - at) * sizeof *item);
    sequence->items[at] = *item;
    return true;
}

static void add_item(struct sequence *sequence, const struct item *item)
{
    if (sequence->count < ITEMS_MOST) sequence->items[sequence->count++] = *item;
}

/* The extra kernel is anywhere; of a scene, which it would cut in two, often at the end. */
static void draw_order(struct generator *generator, uint32_t order[KERNELS_MOST])
{
    uint32_t count = generator->kernel_count;
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    if (!generator->theme.extra) return;
    uint32_t place = random_below(&generator->random, count);
    if (generator->theme.scene && random_chance(&generator->random, 60)) place = count - 1;
    memmove(&order[place + 1], &order[place], (count - 1 - place) * sizeof *order);
    order[place] = generator->theme.extra_index;
}

static bool is_flag(const struct item *item)
{
    return item->kind == ITEM_LAUNCH && item->launch.kernel->sight == SIGHT_FLAG;
}

/* Of what was written last before the flag, in a stream that the device may run meanwhile. */
static void add_poll(struct generator *generator, struct sequence *sequence)
{
    struct item item = {.kind = ITEM_POLL, .seed = random_below(&generator->random, 3)};
    uint32_t flag = 0, own = sequence->items[0].stream;
    while (flag < sequence->count && !is_flag(&sequence->items[flag])) flag++;
    if (!flag || flag == sequence->count || generator->stream_count < 2) return;
    if (sequence->items[flag - 1].kind != ITEM_LAUNCH) return;
    item.place = (struct launch_place){launch_output(&sequence->items[flag - 1].launch, 0), 0};
    item.bytes = generator->arrays.sizes[item.place.array];
    for (uint32_t s = 0; s < generator->stream_count; s++)
        if (s != own && (!item.stream || !generator->is_blocking[s])) item.stream = s;
    sequence_insert(sequence, sequence->count - random_below(&generator->random, 2), &item);
}

/* Between the launches of a scene that are to fuse apart. */
static void part_scene(struct generator *generator, struct sequence *sequence)
{
    struct item item = {.kind = ITEM_SYNC};
    uint32_t first = kernel_scene_first(&generator->theme), at = 0;
    if (!first) return;
    if (random_chance(&generator->random, 50))
        item = (struct item){.kind = ITEM_MARK, .stream = generator->stream_count - 1};
    for (uint32_t launches = 0; at < sequence->count && launches < first; at++)
        launches += sequence->items[at].kind == ITEM_LAUNCH;
    sequence_insert(sequence, at, &item);
}

void sequence_draw(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    uint32_t launches = generator->kernel_count + random_below(random, 3);
    if (generator->theme.is_unseen && random_chance(random, 75))
        launches = generator->kernel_count; /* as in a loop */
    uint32_t order[KERNELS_MOST];
    draw_order(generator, order);
    uint32_t others = random_chance(random, generator->theme.scene ? 80 : 40) ? 0 : 14; /* percent */
    struct item item;
    for (uint32_t i = 0; i < launches; i++) {
        uint32_t k = i < generator->kernel_count ? order[i] : random_below(random, generator->kernel_count);
        item = (struct item){.kind = ITEM_LAUNCH};
        if (!draw_launch(generator, generator->kernels[k], &item.launch)) continue;
        item.stream = item.launch.stream;
        add_item(sequence, &item);
        const struct launch launch = item.launch;
        if (random_chance(random, generator->theme.memops)) {
            draw_memop(generator, &item, &launch);
            add_item(sequence, &item);
        }
        if (!random_chance(random, others)) continue;
        sequence_draw_other(generator, &item);
        sequence_aim(generator, &item, &launch);
        add_item(sequence, &item);
    }
    part_scene(generator, sequence);
    add_poll(generator, sequence);
    item = (struct item){.kind = ITEM_MARK, .stream = generator->stream_count - 1};
    if (generator->theme.is_unseen && random_chance(random, 40)) /* else one group takes all */
        sequence_insert(sequence, random_below(random, sequence->count + 1), &item);
    if (generator->theme.has_events && random_chance(random, 90)) {
        sequence_insert(sequence, random_chance(random, 80) ? 0 : sequence->count, &item);
        return;
    }
    if (random_chance(random, generator->theme.scene ? 85 : 50)) { /* else groups reach into the next round */
        item = (struct item){.kind = ITEM_SYNC};
        add_item(sequence, &item);
    }
}

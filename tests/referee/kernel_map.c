/* SPDX-License-Identifier: Apache-2.0
 * The elements that the accesses of a kernel touch, thread by thread: what kernel.c writes as CUDA C. */
#include "tests/referee/kernel.h"

struct point { /* one thread, one element of it */
    int32_t thread, x, y, j;
};

struct enumeration {
    const struct kernel *kernel;
    const struct kernel_numbers *numbers;
    kernel_visit visit;
    void *context;
};

static bool is_plane(const struct kernel *kernel)
{
    return kernel->shape == KERNEL_PLANE;
}

static bool is_wanted(const struct kernel *kernel, const struct kernel_access *access,
                      const struct kernel_numbers *numbers, const struct point *at)
{
    int32_t i = at->x;
    switch (access->guard) {
    case GUARD_INNER:
        return i > 0 && i < numbers->n - 1;
    case GUARD_EVEN:
        return i % 2 == 0;
    case GUARD_ODD:
        return i % 2 != 0;
    case GUARD_BELOW:
        return i < access->d;
    case GUARD_FROM_OFFSET:
        return i >= numbers->o;
    case GUARD_INSIDE: {
        int32_t height = is_plane(kernel) ? numbers->h - access->d : INT32_MAX;
        int32_t y = is_plane(kernel) ? at->y : access->d;
        return i >= access->d && i < numbers->n - access->d && y >= access->d && y < height;
    }
    case GUARD_FIRST_WARP:
        return at->thread % (int32_t)numbers->block[0] < 32;
    case GUARD_OTHER_WARPS:
        return at->thread % (int32_t)numbers->block[0] >= 32;
    case GUARD_IN_BLOCK:
        return at->thread % (int32_t)numbers->block[0] + access->c < (int32_t)numbers->block[0];
    case GUARD_NONE:
    case GUARD_DATA:
    case KERNEL_GUARDS:
        return true;
    }
    return true;
}

static int64_t clamp(int64_t value, int64_t from, int64_t to)
{
    value = value > from ? value : from;
    return value < to ? value : to;
}

static int64_t line_element(const struct kernel_access *access, const struct kernel_numbers *numbers,
                            const struct point *at)
{
    int64_t i = at->x, c = access->c, n = numbers->n;
    switch (access->map) {
    case MAP_OWN:
        return i;
    case MAP_SHIFT:
        return i + c;
    case MAP_OFFSET:
        return i + numbers->o;
    case MAP_TIMES:
        return c * i + access->d;
    case MAP_END:
        return n + i + c;
    case MAP_EDGE_ROW:
        return (c < 0 ? numbers->h + c : c) * numbers->m + i;
    case MAP_EDGE_COLUMN:
        return i * numbers->m + (c < 0 ? n + c : c);
    case MAP_REVERSE:
        return n - 1 - i;
    case MAP_NEGATIVE:
        return -1 - i;
    case MAP_HALF:
        return i / c;
    case MAP_SPLIT:
        return i / c * (c + access->d) + i % c;
    case MAP_MODULO:
        return i % c;
    case MAP_WRAP:
        return (i + c) % n;
    case MAP_RING:
        return (i + numbers->o) % n;
    case MAP_CLAMP:
        return clamp(i + c, 0, n - 1);
    case MAP_CELL: {
        int64_t row = access->row, y = clamp(i / row + c, 0, (n - 1) / row);
        return clamp(y * row + clamp(i % row + access->d, 0, row - 1), 0, n - 1);
    }
    case MAP_XOR:
        return i ^ c;
    case MAP_ROW:
        return i * c + at->j;
    case MAP_COLUMN:
        return at->j * n + i;
    case MAP_LEVEL:
        return (at->j + c) * n + i;
    case MAP_BESIDE:
        return (at->j + c) * n + i + access->d;
    case MAP_NEAREST:
        return (at->j + c) * n + clamp(i + access->d, 0, n - 1);
    case MAP_LEVEL_IN_BLOCK: {
        int64_t t = at->thread % (int64_t)numbers->block[0];
        return (at->j + c) * n + clamp(i - t + (t + access->d) % numbers->block[0], 0, n - 1);
    }
    case MAP_WINDOW:
        return i + at->j;
    case MAP_MIRROR:
        return clamp(i - 2 * (i % c), 0, i);
    case MAP_BACK:
        return clamp(i - at->j, 0, i);
    case MAP_IN_BLOCK: {
        int64_t block = (int64_t)numbers->block[0] * numbers->block[1], t = at->thread % block;
        return clamp(i - t + (t + c) % block, 0, n - 1);
    }
    case MAP_FIRST: {
        int64_t t = at->thread % (int64_t)numbers->block[0];
        return i - t + t % 32;
    }
    case MAP_WARP:
        return clamp(i - at->thread % (int32_t)numbers->block[0] % 32, 0, n - 1);
    case MAP_CONSTANT:
    case MAP_UPWIND:
    case MAP_TURNED:
    case MAP_GATHER:
    case MAP_ROAM:
    case MAP_CHOSEN:
    case KERNEL_MAPS:
        return c;
    }
    return c;
}

static int64_t plane_element(const struct kernel_access *access, const struct kernel_numbers *numbers,
                             const struct point *at)
{
    int64_t x = at->x, y = at->y, own = y * numbers->m + x;
    switch (access->map) {
    case MAP_SHIFT:
        return own + access->c;
    case MAP_OFFSET:
        return own + (int64_t)access->c * numbers->m;
    case MAP_REVERSE:
        return (int64_t)numbers->h * numbers->m - 1 - own;
    case MAP_CLAMP:
        return y * numbers->m + clamp(x + access->c, 0, numbers->n - 1);
    case MAP_IN_BLOCK: {
        int64_t width = numbers->block[0], height = numbers->block[1], in_x = x % width, in_y = y % height;
        return clamp(y - in_y + (in_y + access->c + 1) % height, 0, numbers->h - 1) * numbers->m +
               clamp(x - in_x + (in_x + access->c) % width, 0, numbers->n - 1);
    }
    case MAP_TURNED:
        return x * numbers->h + y;
    case MAP_CONSTANT:
        return access->c;
    default:
        return own;
    }
}

static bool visit_point(const struct enumeration *enumeration, const struct kernel_access *access,
                        const struct point *at)
{
    const struct kernel *kernel = enumeration->kernel;
    int64_t size = kernel->pointers[access->pointer].type->size;
    /* A load of the module's own variable the compiler may make before it asks. */
    bool is_early = kernel->pointers[access->pointer].variable && !access->is_write;
    if (!is_early && !is_wanted(kernel, access, enumeration->numbers, at)) return true;
    if (access->map == MAP_GATHER)
        return enumeration->visit(enumeration->context, access, at->thread, 0, (access->c + 1) * size, true);
    if (access->map == MAP_ROAM)
        return enumeration->visit(enumeration->context, access, at->thread, 0, (3 * access->c / 2 + 1) * size,
                                  true);
    if (access->map == MAP_CHOSEN) /* one visit stands for all threads */
        return at->thread > 0 || enumeration->visit(enumeration->context, access, at->thread, 0,
                                                    enumeration->numbers->n * size, true);
    if (access->map == MAP_UPWIND) {
        struct kernel_access way = *access;
        way.map = MAP_SHIFT;
        if (!visit_point(enumeration, &way, at)) return false;
        way.c = access->other;
        return visit_point(enumeration, &way, at);
    }
    int64_t element = is_plane(kernel) ? plane_element(access, enumeration->numbers, at)
                                       : line_element(access, enumeration->numbers, at);
    if (kernel->index == 'u') element = (uint32_t)element;
    return enumeration->visit(enumeration->context, access, at->thread, element * size, (element + 1) * size,
                              false);
}

static bool visit_element(const struct enumeration *enumeration, struct point at)
{
    for (uint32_t a = 0; a < enumeration->kernel->access_count; a++) {
        const struct kernel_access *access = &enumeration->kernel->accesses[a];
        int32_t trips = access->trips < 0 ? enumeration->numbers->m : access->trips ? access->trips : 1;
        for (at.j = access->from; at.j < trips; at.j++)
            if (!visit_point(enumeration, access, &at)) return false;
    }
    return true;
}

static bool visit_plane(const struct enumeration *enumeration)
{
    const struct kernel_numbers *numbers = enumeration->numbers;
    int32_t width = (int32_t)(numbers->grid[0] * numbers->block[0]);
    int32_t height = (int32_t)(numbers->grid[1] * numbers->block[1]);
    for (int32_t y = 0; y < height && y < numbers->h; y++)
        for (int32_t x = 0; x < width && x < numbers->n; x++)
            if (!visit_element(enumeration, (struct point){y * width + x, x, y, 0})) return false;
    return true;
}

bool kernel_enumerate(const struct kernel *kernel, const struct kernel_numbers *numbers, kernel_visit visit,
                      void *context)
{
    const struct enumeration enumeration = {kernel, numbers, visit, context};
    const uint32_t *grid = numbers->grid, *block = numbers->block;
    int32_t threads = (int32_t)(grid[0] * grid[1] * block[0] * block[1]), n = numbers->n;
    if (kernel->shape == KERNEL_PLANE) return visit_plane(&enumeration);
    int32_t limit = kernel->limit == 'w'   ? kernel->width
                    : kernel->limit == 'h' ? numbers->h
                    : kernel->limit        ? n
                                           : threads;
    for (int32_t t = 0; t < threads && t < limit; t++) {
        bool is_stride = kernel->shape == KERNEL_STRIDE, is_chunk = kernel->shape == KERNEL_CHUNK;
        int32_t first = is_chunk ? t * numbers->m : t, step = is_stride ? threads : 1;
        int32_t end = is_chunk ? first + numbers->m : is_stride ? n : t + 1;
        if (!kernel->is_exact && !kernel->limit && end > n) end = n;
        for (int32_t i = first; i < end; i += step)
            if (!visit_element(&enumeration, (struct point){t, kernel->is_backward ? n - 1 - i : i, 0, 0}))
                return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Stencils and filters whose blocks stage what they read in shared memory, in the ways that programs do, between kernels that do not.
 * --step: letters; capitals are kernels that must stay as they are. */
#include "tests/bench/arrays.h"
#include "tests/bench/staged_kernels.h"

#include <string.h>

enum { STEPS = 4 };

static int width = 100, height = 77;
static float *arrays[3]; /* each kernel reads one, and writes the next */
static unsigned turn;

static float start(size_t at)
{
    return (float)(at * 7919 % 1009) * 0.01f;
}

static void do_letter(char letter, int distance)
{
    int n = width * height, lines = (n + 127) / 128;
    dim3 block(B, B), grid((width + B - 1) / B, (height + B - 1) / B);
    float *from = arrays[turn % 3], *to = arrays[(turn + 1) % 3];
    switch (letter) {
    case 's':
        scale<<<lines, 128>>>(to, from, n);
        break;
    case 'e':
        edges<<<grid, block>>>(from, to, width, height);
        break;
    case 'c':
        clamped<<<grid, block>>>(from, to, width, height);
        break;
    case 'b':
        box<<<grid, block>>>(from, to, width, height);
        break;
    case 'w':
        counted<<<dim3((width + WIDE - 1) / WIDE, (height + LOW - 1) / LOW), dim3(WIDE, LOW)>>>(
            from, to, width, height);
        break;
    case 'p':
        periodic<<<grid, block>>>(from, to, width, height);
        break;
    case 'z':
        cleared<<<grid, block>>>(from, to, width, height);
        break;
    case 'r':
        row<<<lines, 128, (128 + 2 * R) * sizeof(float)>>>(from, to, n);
        break;
    case '8':
        plain_grey<<<grid, block>>>((signed char *)from, (unsigned char *)to, width, height);
        break;
    case '9':
        grey<<<grid, block>>>((unsigned char *)from, (unsigned char *)to, width, height);
        break;
    case 'd':
        beside<<<lines, 128>>>(from, to, n, distance);
        break;
    case 'I':
        in_place<<<lines, 128>>>(from, n);
        return;
    case 'L':
        late<<<lines, 128>>>(from, to, n);
        break;
    case 'F':
        refilled<<<lines, 128>>>(from, to, n);
        break;
    case 'S':
        sums<<<lines, 128>>>(from, to, n);
        break;
    }
    turn++;
}

int main(int argument_count, char **arguments)
{
    const char *step = "se";
    int distance = 1;
    for (int i = 1; i < argument_count; i++) {
        if (!strcmp(arguments[i], "--step") && i + 1 < argument_count)
            step = arguments[++i];
        else if (!strcmp(arguments[i], "--distance") && i + 1 < argument_count)
            distance = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--dump"))
            i++; /* what is told is all */
        else if (!strcmp(arguments[i], "--size") && i + 2 < argument_count)
            width = atoi(arguments[i + 1]), height = atoi(arguments[i + 2]), i += 2;
        else
            return fprintf(stderr, "usage: staged [--step LETTERS] [--distance N] [--size WIDTH HEIGHT]\n"),
                   2;
    }
    count = (size_t)width * height;
    host = (float *)malloc(count * sizeof *host);
    for (float *&array : arrays) array = array_of(start);
    for (int s = 0; s < STEPS; s++)
        for (const char *letter = step; *letter; letter++) do_letter(*letter, distance);
    CHECK(cudaDeviceSynchronize());
    tell("first", arrays[0], count);
    tell("second", arrays[1], count);
    tell("third", arrays[2], count);
    return 0;
}

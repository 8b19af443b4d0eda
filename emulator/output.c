/* SPDX-License-Identifier: Apache-2.0
 * What kernels print: vprintf and __assertfail, functions that PTX only declares -- CUDA C++ Programming
 * Guide, "Formatted Output" and "Assertion". Arguments of printf lie in memory one after the other, each
 * aligned to its size; lanes print one after the other. */
#include "emulator/machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { STRING_MOST = 1 << 20, WIDTH_MOST = 1 << 16 };

struct text {
    char *start; /* NULL until needed */
    size_t length, capacity;
};
struct output { /* one lane's call */
    struct worker *worker;
    struct warp *warp;
    const struct step *step;
    uint32_t lane;
    uint64_t next;  /* address of the next argument */
    uint32_t count; /* of arguments that were taken */
    struct text text;
};

static bool text_room(struct text *text, size_t more)
{
    if (text->length + more < text->capacity) return true;
    size_t capacity = 2 * text->capacity + more + 64;
    char *grown = realloc(text->start, capacity);
    if (grown == NULL) return false;
    text->start = grown;
    text->capacity = capacity;
    return true;
}

static void text_add(struct text *text, const char *bytes, size_t length)
{
    if (!text_room(text, length)) return;
    memcpy(text->start + text->length, bytes, length);
    text->length += length;
}

/* What snprintf makes of a value. */
#define TEXT_PRINT(text, ...)                                                                                \
    do {                                                                                                     \
        int length = snprintf(NULL, 0, __VA_ARGS__);                                                         \
        if (length > 0 && text_room(text, (size_t)length + 1))                                               \
            (text)->length +=                                                                                \
                (size_t)snprintf((text)->start + (text)->length, (size_t)length + 1, __VA_ARGS__);           \
    } while (0)

static uint64_t output_argument(const struct output *output, uint32_t index, uint32_t bytes)
{
    const struct worker *worker = output->worker;
    uint64_t value = 0;
    memcpy(&value,
           output->warp->local + (uint64_t)output->lane * worker->code->local_bytes +
               output->step->call->arguments[index],
           bytes);
    return value;
}

/* Reads of memory; false: a fault. */
static bool output_read(struct output *output, uint64_t address, void *value, uint32_t bytes)
{
    const void *place = access_lane(output->worker, output->warp, output->lane, output->step, PTX_GENERIC,
                                    address, bytes, ACCESS_READ);
    if (place == NULL) return false;
    memcpy(value, place, bytes);
    return true;
}

static bool output_string(struct output *output, uint64_t address, struct text *string)
{
    char c = 1;
    while (c != 0 && string->length < STRING_MOST) {
        if (!output_read(output, address++, &c, 1)) return false;
        text_add(string, &c, 1);
    }
    text_add(string, "", 1);
    return string->start != NULL;
}

static bool output_next(struct output *output, uint64_t *value, uint32_t bytes)
{
    uint64_t address = (output->next + bytes - 1) / bytes * bytes;
    *value = 0;
    output->next = address + bytes;
    output->count++;
    return output_read(output, address, value, bytes);
}

/* --- conversions: %[flags][width][.precision][size]type */

struct conversion {
    char flags[8];
    int width, precision; /* -1: none */
    int size;             /* bytes of an integer: 1, 2, 4, 8 */
    char type;
};

static bool output_number(struct output *output, const char **format, int *number)
{
    uint64_t value = 0;
    if (**format == '*') {
        ++*format;
        if (!output_next(output, &value, 4)) return false;
        *number = (int)(uint32_t)value;
    } else {
        for (; **format >= '0' && **format <= '9'; ++*format)
            if (value < WIDTH_MOST) value = value * 10 + (uint64_t)(**format - '0');
        *number = (int)value;
    }
    if (*number > WIDTH_MOST) *number = WIDTH_MOST;
    if (*number < -WIDTH_MOST) *number = -WIDTH_MOST;
    return true;
}

static int conversion_size(const char **format)
{
    int size = 4;
    for (;; ++*format) {
        if (**format == 'h')
            size = size == 2 ? 1 : 2;
        else if (**format && strchr("lLjztq", **format) != NULL)
            size = 8;
        else
            return size;
    }
}

/* Behind the '%'. */
static bool output_conversion(struct output *output, const char **format, struct conversion *conversion)
{
    size_t flags = 0;
    *conversion = (struct conversion){.width = 0, .precision = -1};
    for (; **format && strchr("-+ #0", **format) != NULL; ++*format)
        if (strchr(conversion->flags, **format) == NULL) conversion->flags[flags++] = **format;
    if (!output_number(output, format, &conversion->width)) return false;
    if (conversion->width < 0) {
        conversion->width = -conversion->width;
        if (strchr(conversion->flags, '-') == NULL) conversion->flags[flags++] = '-';
    }
    if (**format == '.') {
        ++*format;
        if (!output_number(output, format, &conversion->precision)) return false;
    }
    conversion->size = conversion_size(format);
    conversion->type = **format;
    return true;
}

static int64_t conversion_signed(const struct conversion *conversion, uint64_t value)
{
    unsigned unused = 64 - 8 * (unsigned)conversion->size;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t conversion_unsigned(const struct conversion *conversion, uint64_t value)
{
    unsigned unused = 64 - 8 * (unsigned)conversion->size;
    return value << unused >> unused;
}

static bool output_value(struct output *output, const struct conversion *conversion)
{
    struct text *text = &output->text, string = {0};
    const char type = conversion->type;
    bool is_integer = strchr("diouxX", type) != NULL;
    uint32_t bytes = type == 'c' || (is_integer && conversion->size < 8) ? 4 : 8;
    char precision[16] = "", form[64];
    double number;
    uint64_t value;
    if (!output_next(output, &value, bytes)) return false;
    if (conversion->precision >= 0) snprintf(precision, sizeof precision, ".%d", conversion->precision);
    snprintf(form, sizeof form, "%%%s*%s%s%c", conversion->flags, precision, is_integer ? "ll" : "", type);
    if (type == 'd' || type == 'i') {
        TEXT_PRINT(text, form, conversion->width, (long long)conversion_signed(conversion, value));
    } else if (is_integer) {
        TEXT_PRINT(text, form, conversion->width, (unsigned long long)conversion_unsigned(conversion, value));
    } else if (type == 'c') {
        TEXT_PRINT(text, form, conversion->width, (int)value);
    } else if (type == 'p') {
        TEXT_PRINT(text, form, conversion->width, (void *)(uintptr_t)value);
    } else if (type == 's') {
        bool is_good = value == 0 || output_string(output, value, &string);
        if (is_good) TEXT_PRINT(text, form, conversion->width, value == 0 ? "(null)" : string.start);
        free(string.start);
        return is_good;
    } else {
        memcpy(&number, &value, sizeof number);
        TEXT_PRINT(text, form, conversion->width, number);
    }
    return true;
}

static bool output_format(struct output *output, const char *format)
{
    while (*format) {
        const char *percent = strchr(format, '%');
        size_t plain = percent != NULL ? (size_t)(percent - format) : strlen(format);
        text_add(&output->text, format, plain);
        format += plain;
        if (*format == 0) break;
        struct conversion conversion;
        const char *start = format++;
        if (!output_conversion(output, &format, &conversion)) return false;
        if (conversion.type == 0) break;
        format++;
        if (conversion.type == '%')
            text_add(&output->text, "%", 1);
        else if (strchr("diouxXcpseEfFgGaA", conversion.type) == NULL)
            text_add(&output->text, start, (size_t)(format - start)); /* none of CUDA's */
        else if (!output_value(output, &conversion))
            return false;
    }
    return true;
}

/* --- calls */

static void output_print(const struct output *output, bool is_error)
{
    const struct emu_settings *settings = output->worker->machine->settings;
    if (settings->print != NULL && output->text.length > 0)
        settings->print(settings->print_context, is_error, output->text.start, output->text.length);
}

/* The result: how many arguments there were, -1 without a format. */
static bool output_printf(struct output *output)
{
    struct text format = {0};
    uint64_t address = output_argument(output, 0, 8);
    int32_t result = -1;
    output->next = output_argument(output, 1, 8);
    bool is_good =
        address == 0 || (output_string(output, address, &format) && output_format(output, format.start));
    free(format.start);
    if (!is_good) return false;
    if (address != 0) result = (int32_t)output->count;
    output_print(output, false);
    memcpy(output->warp->local + (uint64_t)output->lane * output->worker->code->local_bytes +
               output->step->call->result,
           &result, sizeof result);
    return true;
}

static bool output_assert(struct output *output)
{
    const struct worker *worker = output->worker;
    struct text message = {0}, file = {0}, function = {0};
    uint32_t thread[3];
    block_thread(worker->machine, output->warp->index * LANE_COUNT + output->lane, thread);
    bool is_good = output_string(output, output_argument(output, 0, 8), &message) &&
                   output_string(output, output_argument(output, 1, 8), &file) &&
                   output_string(output, output_argument(output, 3, 8), &function);
    if (is_good)
        TEXT_PRINT(&output->text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                   file.start, (unsigned)output_argument(output, 2, 4), function.start, worker->block[0],
                   worker->block[1], worker->block[2], thread[0], thread[1], thread[2], message.start);
    output_print(output, true);
    free(message.start);
    free(file.start);
    free(function.start);
    return is_good;
}

bool output_call(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    bool is_good = true, is_assert = step->call->function == CALL_ASSERTFAIL;
    struct output output = {.worker = worker, .warp = warp, .step = step};
    for (uint32_t rest = mask; is_good && rest != 0; rest &= rest - 1) {
        output.lane = (uint32_t)__builtin_ctz(rest);
        output.count = 0;
        output.text.length = 0;
        is_good = is_assert ? output_assert(&output) : output_printf(&output);
    }
    free(output.text.start);
    if (is_good && is_assert)
        machine_fault(worker, warp, (uint32_t)__builtin_ctz(mask), step, EMU_FAULT_ASSERT, 0,
                      "an assertion failed");
    return is_good && !is_assert;
}

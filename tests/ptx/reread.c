/* SPDX-License-Identifier: Apache-2.0
 * What the parser makes of a text, printed and read again. */
#include "tests/ptx/reread.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static void require(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static char *print(const struct ptx_module *module)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);
    require(out, "memory is out");
    ptx_print_module(out, module);
    fclose(out);
    return printed;
}

static void use_control_flow(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        const char *reason = NULL;
        struct ptx_cfg *cfg = ptx_cfg_build(module->arena, module->functions[i], &reason);
        require(cfg || reason, "no control flow and no reason");
    }
}

static bool is_readable(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i]->unreadable) return false;
    return true;
}

bool reread_is_stable(const char *text, size_t length)
{
    const char *error;
    struct ptx_module *module = ptx_parse("garbage", text, length, &error);
    require(module, "no module");
    use_control_flow(module);
    bool is_whole = !error && is_readable(module);
    char *once = print(module);
    struct ptx_module *again = ptx_parse("printed", once, strlen(once), &error);
    require(again, "no module");
    char *twice = print(again);
    bool is_stable = !is_whole || !strcmp(once, twice);
    if (!is_stable) fprintf(stderr, "text:\n%.*s\nonce:\n%s\ntwice:\n%s\n", (int)length, text, once, twice);
    ptx_module_free(again);
    ptx_module_free(module);
    free(once);
    free(twice);
    return is_stable;
}

/* SPDX-License-Identifier: Apache-2.0
 * A module -- ISA 4.1, 11.1: version, target, variables, functions. A statement that cannot be read is
 * skipped; the first such error is reported. */
#include "ptx/parser.h"

#include <string.h>

enum { MOST_TARGET_OPTIONS = 256 }; /* characters */

struct linkage { /* ISA 11.6 */
    bool is_visible, is_extern, is_weak;
};

/* .loc FILE LINE COLUMN [, function_name L [+ N]] [, inlined_at F L C] -- ISA 11.5.4 */
static void skip_location(struct ptx_parser *parser)
{
    ptx_advance(parser);
    parser->source_file = (uint32_t)ptx_parse_expression(parser);
    parser->source_line = (uint32_t)ptx_parse_expression(parser);
    ptx_parse_expression(parser);
    while (ptx_accept(parser, ',')) {
        struct ptx_span word = ptx_expect_word(parser);
        if (ptx_span_is(word, "inlined_at")) {
            for (int i = 0; i < 3; i++) ptx_parse_expression(parser);
        } else {
            ptx_expect_word(parser);
            if (ptx_accept(parser, '+')) ptx_parse_expression(parser);
        }
    }
}

/* .file INDEX "NAME" [, timestamp, size] -- ISA 11.5.3 */
static void skip_file(struct ptx_parser *parser)
{
    ptx_advance(parser);
    ptx_parse_expression(parser);
    if (parser->token.kind != PTX_TOKEN_STRING) ptx_fail(parser, "expected a file name");
    ptx_advance(parser);
    while (ptx_accept(parser, ',')) ptx_parse_expression(parser);
}

bool ptx_skip_debug_directive(struct ptx_parser *parser)
{
    if (ptx_at_dotted(parser, ".loc")) {
        skip_location(parser);
    } else if (ptx_at_dotted(parser, ".file")) {
        skip_file(parser);
    } else if (ptx_at_dotted(parser, ".section")) { /* ISA 11.5.2 */
        ptx_advance(parser);
        ptx_advance(parser);
        ptx_skip_balanced(parser, '{', '}');
    } else {
        return false;
    }
    return true;
}

/* .version 9.0 -- ISA 11.1.1; the lexer sees a decimal number */
static void parse_version(struct ptx_parser *parser)
{
    ptx_advance(parser);
    struct ptx_lexer digits = {parser->token.span.text, parser->token.span.text + parser->token.span.length,
                               0};
    if (parser->token.kind != PTX_TOKEN_FLOAT64) ptx_fail(parser, "expected a version");
    for (; digits.at < digits.end && *digits.at >= '0' && *digits.at <= '9'; digits.at++)
        parser->module->version_major = parser->module->version_major * 10 + (uint32_t)(*digits.at - '0');
    for (digits.at++; digits.at < digits.end && *digits.at >= '0' && *digits.at <= '9'; digits.at++)
        parser->module->version_minor = parser->module->version_minor * 10 + (uint32_t)(*digits.at - '0');
    ptx_advance(parser);
}

/* .target sm_90, texmode_independent -- ISA 11.1.2 */
static void parse_target(struct ptx_parser *parser)
{
    struct ptx_module *module = parser->module;
    ptx_advance(parser);
    do {
        struct ptx_span word = ptx_expect_word(parser);
        if (parser->error) return;
        if (ptx_span_is(word, "debug")) {
            module->is_debug = true;
        } else if (!module->sm && word.length > 3 && !memcmp(word.text, "sm_", 3)) {
            module->target = ptx_copy_span(parser, word);
            for (const char *at = module->target + 3; *at >= '0' && *at <= '9' && module->sm < 100000; at++)
                module->sm = module->sm * 10 + (uint32_t)(*at - '0');
        } else if (strlen(module->target_options) > MOST_TARGET_OPTIONS) {
            ptx_fail(parser, "too many target options");
        } else {
            module->target_options =
                arena_printf(parser->arena, "%s, %.*s", module->target_options, (int)word.length, word.text);
            if (!module->target_options) longjmp(parser->memory_is_out, 1);
        }
    } while (ptx_accept(parser, ','));
    if (!module->sm) ptx_fail(parser, "no architecture of the form sm_NN");
}

static void parse_module_variable(struct ptx_parser *parser, enum ptx_space space, const char *start,
                                  struct linkage linkage)
{
    ptx_advance(parser);
    struct ptx_variable *variable = ptx_parse_variable(parser, space, start);
    ptx_expect(parser, ';');
    if (parser->error) return;
    variable->text = ptx_span_since(parser, start);
    variable->is_extern = linkage.is_extern;
    variable->is_visible = linkage.is_visible;
    *(struct ptx_variable **)ptx_buffer_add(parser, &parser->module_variables, sizeof variable) = variable;
    ptx_bind(parser, parser->module->names,
             (struct ptx_binding){.name = {variable->name, (uint32_t)strlen(variable->name)},
                                  .kind = PTX_BINDING_VARIABLE,
                                  .object = variable});
}

/* Statements that are kept as text: .alias, .pragma -- ISA 11.4, 11.6 */
static void parse_extra(struct ptx_parser *parser)
{
    const char *start = parser->token.span.text;
    while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ';')) ptx_advance(parser);
    ptx_expect(parser, ';');
    if (parser->error) return;
    *(struct ptx_span *)ptx_buffer_add(parser, &parser->extras, sizeof(struct ptx_span)) =
        ptx_span_since(parser, start);
}

static struct linkage parse_linkage(struct ptx_parser *parser)
{
    struct linkage linkage = {0};
    for (;; ptx_advance(parser)) {
        if (ptx_at_dotted(parser, ".visible"))
            linkage.is_visible = true;
        else if (ptx_at_dotted(parser, ".extern"))
            linkage.is_extern = true;
        else if (ptx_at_dotted(parser, ".weak"))
            linkage.is_weak = linkage.is_visible = true;
        else if (ptx_at_dotted(parser, ".common"))
            linkage.is_visible = true;
        else
            return linkage;
    }
}

static void parse_statement(struct ptx_parser *parser)
{
    const char *start = parser->token.span.text;
    struct linkage linkage = parse_linkage(parser);
    const struct ptx_word *word =
        parser->token.kind == PTX_TOKEN_DOTTED ? ptx_find_dotted(parser->words, parser->token.span) : NULL;
    if (ptx_at_dotted(parser, ".entry") || ptx_at_dotted(parser, ".func")) {
        ptx_parse_function(parser, start, linkage.is_visible, linkage.is_extern, linkage.is_weak);
    } else if (word && word->kinds & PTX_WORD_SPACE) {
        parse_module_variable(parser, word->space, start, linkage);
    } else if (ptx_at_dotted(parser, ".tex")) { /* deprecated: .tex .u32 name -- ISA 5.1.8 */
        parse_module_variable(parser, PTX_GLOBAL, start, linkage);
    } else if (ptx_at_dotted(parser, ".version")) {
        parse_version(parser);
    } else if (ptx_at_dotted(parser, ".target")) {
        parse_target(parser);
    } else if (ptx_at_dotted(parser, ".address_size")) {
        ptx_advance(parser);
        parser->module->address_size = (uint32_t)ptx_parse_expression(parser);
    } else if (ptx_at_dotted(parser, ".alias") || ptx_at_dotted(parser, ".pragma")) {
        parse_extra(parser);
    } else if (!ptx_skip_debug_directive(parser) && !ptx_accept(parser, ';')) {
        ptx_fail(parser, "unknown statement");
    }
}

static bool starts_statement(const struct ptx_parser *parser)
{
    static const char *const words[] = {".visible", ".extern", ".weak",   ".common", ".entry",
                                        ".func",    ".global", ".const",  ".shared", ".section",
                                        ".file",    ".target", ".version"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_at_dotted(parser, words[i])) return true;
    return false;
}

/* Notes the first error and goes on behind the statement that was met at `start`. */
static void recover(struct ptx_parser *parser, struct ptx_lexer start, const char **first_error)
{
    if (!*first_error) *first_error = parser->error;
    parser->error = NULL;
    parser->read_again += (uint64_t)(parser->lexer.at - start.at);
    if (parser->read_again > 8 * (uint64_t)parser->module->length)
        return; /* hopeless, and would be quadratic */
    parser->lexer = start;
    do {
        ptx_advance(parser);
        if (ptx_accept(parser, ';')) return;
    } while (parser->token.kind != PTX_TOKEN_END && !starts_statement(parser));
}

static void parse_statements(struct ptx_parser *parser, const char **first_error)
{
    ptx_advance(parser);
    while (parser->token.kind != PTX_TOKEN_END) {
        struct ptx_lexer start = parser->lexer; /* behind the statement's first token */
        parse_statement(parser);
        if (parser->error) recover(parser, start, first_error);
    }
}

static void fill_module(struct ptx_parser *parser)
{
    struct ptx_module *module = parser->module;
    module->variables = parser->module_variables.items;
    module->variable_count = parser->module_variables.count;
    module->functions = parser->functions.items;
    module->function_count = parser->functions.count;
    module->extras = parser->extras.items;
    module->extra_count = parser->extras.count;
}

/* NULL when memory is out. */
static struct ptx_module *create_module(struct arena *arena, const char *name, const char *text,
                                        size_t length)
{
    struct ptx_module *module = arena_alloc(arena, sizeof *module);
    if (!module) return NULL;
    const char *stop = memchr(text, 0, length);
    module->arena = arena;
    module->name = arena_strdup(arena, name ? name : "(ptx)");
    module->length = stop ? (size_t)(stop - text) : length;
    module->text = arena_strndup(arena, text, module->length);
    module->target = module->target_options = "";
    module->address_size = 64;
    module->names = ptx_scope_create(arena);
    return module->name && module->text && module->names ? module : NULL;
}

static struct ptx_module *parse_in_arena(struct arena *arena, const char *name, const char *text,
                                         size_t length, const char **error)
{
    struct ptx_parser *parser = arena_alloc(arena, sizeof *parser);
    if (!parser) return NULL;
    parser->arena = arena;
    parser->module = create_module(arena, name, text, length);
    parser->words = ptx_words_create(arena);
    parser->scope = ptx_scope_create(arena);
    parser->taken = ptx_scope_create(arena);
    if (!parser->module || !parser->words || !parser->scope || !parser->taken) return NULL;
    if (setjmp(parser->memory_is_out)) return NULL;
    const struct ptx_module *module = parser->module;
    parser->lexer = (struct ptx_lexer){module->text, module->text + module->length, 1};
    parser->token.span.text = module->text; /* the first token follows an empty one */
    parser->register_budget =
        65536 + module->length; /* a register that is used takes more than a byte of text */
    parser->initial_budget = (UINT64_C(512) << 20) + 16 * (uint64_t)module->length;
    const char *first_error = NULL;
    if (module->length < UINT32_MAX) {
        parse_statements(parser, &first_error);
        if (!module->version_major && !first_error) {
            ptx_fail(parser, "no .version: this is no PTX");
            first_error = parser->error;
        }
    } else {
        first_error = "the text is longer than 4 GiB";
    }
    fill_module(parser);
    if (error) *error = first_error;
    return parser->module;
}

struct ptx_module *ptx_parse(const char *name, const char *text, size_t length, const char **error)
{
    if (error) *error = NULL;
    struct arena *arena = arena_create();
    struct ptx_module *module = arena ? parse_in_arena(arena, name, text, length, error) : NULL;
    if (!module) arena_free(arena);
    return module;
}

void ptx_module_free(struct ptx_module *module)
{
    if (module) arena_free(module->arena);
}

static const void *find(const struct ptx_module *module, const char *name, enum ptx_binding_kind kind)
{
    struct ptx_span span = {name, (uint32_t)strlen(name)};
    const struct ptx_binding *binding = ptx_scope_find(module->names, span);
    return binding && binding->kind == kind ? binding->object : NULL;
}

const struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name)
{
    return find(module, name, PTX_BINDING_FUNCTION);
}

const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name)
{
    return find(module, name, PTX_BINDING_VARIABLE);
}

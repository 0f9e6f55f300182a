#include "language/jinja/parse.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/stack.h"
#include "language/jinja/env.h"
#include "language/jinja/template.h"

/* After this many mistakes the rest is noise. */
#define MISTAKES_MAX 20

/* --- tokens ------------------------------------------------------------------------- */

struct lex_token parse_next(struct parse *parse)
{
    struct lex_token token = parse->current;

    parse->current = parse->has_ahead ? parse->ahead : lex_next(&parse->lex);
    parse->has_ahead = false;
    return token;
}

const struct lex_token *parse_look(struct parse *parse)
{
    if (!parse->has_ahead)
        parse->ahead = lex_next(&parse->lex);
    parse->has_ahead = true;
    return &parse->ahead;
}

bool parse_at(const struct parse *parse, enum token_kind kind)
{
    return parse->current.kind == kind;
}

bool parse_at_word(const struct parse *parse, const char *word)
{
    return parse->current.kind == TOKEN_NAME && str_is(parse->current.text, word);
}

bool parse_skip(struct parse *parse, enum token_kind kind)
{
    if (!parse_at(parse, kind))
        return false;
    parse_next(parse);
    return true;
}

bool parse_skip_word(struct parse *parse, const char *word)
{
    if (!parse_at_word(parse, word))
        return false;
    parse_next(parse);
    return true;
}

struct str parse_describe(const struct parse *parse)
{
    if (parse->current.kind == TOKEN_NAME)
        return parse->current.text;
    return str_from(token_kind_name(parse->current.kind));
}

bool parse_expect(struct parse *parse, enum token_kind kind)
{
    if (parse_skip(parse, kind))
        return true;
    parse_fail(parse, parse->current.at, "expected token '%s', got '%.*s'", token_kind_name(kind),
               STR_ARG(parse_describe(parse)));
    return false;
}

bool parse_expect_word(struct parse *parse, const char *word)
{
    if (parse_skip_word(parse, word))
        return true;
    parse_fail(parse, parse->current.at, "expected token '%s', got '%.*s'", word,
               STR_ARG(parse_describe(parse)));
    return false;
}

/* --- mistakes ------------------------------------------------------------------------- */

static void report_parse_mistake(struct parse *parse, uint32_t at, const char *text)
{
    if (parse->stopped)
        return;
    diag_add(parse->diags, template_diag_place(parse->template, at, parse->diags), "%s", text);
    diag_source(parse->diags, parse->template->text);
    if (++parse->mistakes >= MISTAKES_MAX)
        parse->stopped = true;
}

void *parse_fail(struct parse *parse, uint32_t at, const char *fmt, ...)
{
    va_list args;

    if (parse->failing)
        return NULL;
    parse->failing = true;
    va_start(args, fmt);
    /* a lexer error explains it, whatever was expected there */
    if (parse->current.kind == TOKEN_ERROR)
        report_parse_mistake(parse, parse->current.at, parse->lex.error);
    else
        report_parse_mistake(parse, at, arena_vprintf(parse->arena, fmt, args));
    va_end(args);
    return NULL;
}

void parse_hint(struct parse *parse, const char *fmt, ...)
{
    va_list args;

    if (parse->stopped)
        return;
    va_start(args, fmt);
    diag_hint(parse->diags, "%s", arena_vprintf(parse->arena, fmt, args));
    va_end(args);
}

bool parse_enter(struct parse *parse)
{
    if (parse->depth >= parse->depth_max) {
        parse_fail(parse, parse->current.at, "nested deeper than the limit of %u",
                   parse->depth_max);
        return false;
    }
    if (stack_is_low()) {
        parse_fail(parse, parse->current.at, STACK_IS_LOW, STACK_RESERVE);
        return false;
    }
    parse->depth++;
    return true;
}

void parse_leave(struct parse *parse)
{
    parse->depth--;
}

/* --- nodes ------------------------------------------------------------------------------ */

void *parse_node(struct parse *parse, enum node_kind kind, size_t size, uint32_t at)
{
    struct node *node = arena_zalloc(parse->arena, size);

    node->kind = (uint8_t)kind;
    node->depth = 1;
    node->at = at;
    return node;
}

bool parse_holds(struct parse *parse, struct node *parent, const struct node *child)
{
    if (!child || child->depth < parent->depth)
        return true;
    if (child->depth >= NODE_DEPTH_MAX) {
        parse_fail(parse, parent->at, "the expression is deeper than the limit of %d",
                   NODE_DEPTH_MAX);
        return false;
    }
    parent->depth = (uint16_t)(child->depth + 1);
    return true;
}

bool parse_holds_all(struct parse *parse, struct node *parent, struct nodes children)
{
    for (uint32_t i = 0; i < children.n; i++)
        if (!parse_holds(parse, parent, children.p[i]))
            return false;
    return true;
}

struct nodes parse_list_end(struct parse *parse, const struct parse_list *list)
{
    (void)parse;
    return (struct nodes){ .p = list->list.p, .n = (uint32_t)list->list.n };
}

struct name *parse_name(struct parse *parse, struct str text)
{
    return names_get(&parse->jinja->names, text);
}

struct name *parse_take_name(struct parse *parse)
{
    struct lex_token token = parse->current;

    return parse_expect(parse, TOKEN_NAME) ? parse_name(parse, token.text) : NULL;
}

/* --- unknown and missing tags ------------------------------------------------------------- */

static bool is_end(const char *const *ends, struct str name)
{
    for (; ends && *ends; ends++)
        if (str_is(name, *ends))
            return true;
    return false;
}

static const char *wanted_ends(struct parse *parse)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (const char *const *end = parse->open ? parse->open->ends : NULL; end && *end; end++)
        buf_printf(&out, "%s'%s'", out.n > 0 ? " or " : "", *end);
    return out.n > 0 ? buf_copy(&out, parse->arena).p : NULL;
}

/* The open block, and its place. */
static void note_open(struct parse *parse)
{
    if (!parse->open || parse->stopped)
        return;
    diag_note(parse->diags, template_diag_place(parse->template, parse->open->at, parse->diags),
              "the innermost block that needs to be closed is '%.*s', which began here",
              STR_ARG(parse->open->tag));
}

static void fail_unknown_tag(struct parse *parse, struct lex_token tag)
{
    const char *wanted = wanted_ends(parse);
    bool mine = false;

    for (const struct parse_block *b = parse->open; b; b = b->outer)
        mine = mine || is_end(b->ends, tag.text);
    if (wanted && mine)
        parse_fail(parse, tag.at,
                   "'%.*s' closes a block that is not the innermost one; looking for %s",
                   STR_ARG(tag.text), wanted);
    else if (wanted)
        parse_fail(parse, tag.at, "encountered unknown tag '%.*s'; looking for %s",
                   STR_ARG(tag.text), wanted);
    else
        parse_fail(parse, tag.at, "encountered unknown tag '%.*s'", STR_ARG(tag.text));

    struct str best = parse_suggest_tag(tag.text);
    if (best.p && !mine)
        parse_hint(parse, "did you mean '%.*s'?", STR_ARG(best));
    note_open(parse);
    parse->stopped = parse->stopped || mine; /* from here on, matching blocks would be a guess */
}

static void fail_end(struct parse *parse)
{
    parse_fail(parse, parse->current.at, "unexpected end of template; looking for %s",
               wanted_ends(parse));
    note_open(parse);
    parse->stopped = true;
}

/* --- bodies ------------------------------------------------------------------------------- */

/* A mistake was reported: leave its tag. */
static void leave_tag(struct parse *parse)
{
    parse->failing = false;
    switch (parse->current.kind) {
    case TOKEN_BLOCK_END:
    case TOKEN_VARIABLE_END: parse_next(parse); return;
    case TOKEN_EOF:
    case TOKEN_DATA:
    case TOKEN_BLOCK_BEGIN:
    case TOKEN_VARIABLE_BEGIN: return;
    default: break;
    }
    /* a peeked token may already be the end of the tag */
    if (parse->has_ahead && parse->lex.state != LEX_BLOCK && parse->lex.state != LEX_VARIABLE) {
        parse_next(parse);
        leave_tag(parse);
        return;
    }
    parse->has_ahead = false;
    lex_skip_tag(&parse->lex, parse->current.at);
    parse->current = lex_next(&parse->lex);
}

static struct nodes parse_until(struct parse *parse, const char *const *ends);

/* After the head of a tag: all text up to one of its ends. */
static bool parse_inside(struct parse *parse, struct lex_token tag, const char *const *ends,
                         struct nodes *ret)
{
    struct parse_block block = { parse->open, tag.text, tag.at, ends };

    if (!parse_enter(parse)) {
        parse->stopped = true;
        return false;
    }
    parse->open = &block;
    *ret = parse_until(parse, ends);
    if (!parse->stopped && parse_at(parse, TOKEN_EOF))
        fail_end(parse);
    parse->open = block.outer;
    parse_leave(parse);
    return !parse->stopped;
}

/* The head of a tag with a body was wrong: still pair it with its end. */
static void skip_body(struct parse *parse, const struct parse_tag *known, struct lex_token tag)
{
    /* else and elif belong to the tag that failed */
    const char *const ends[] = { known->end, "else", "elif", NULL };
    struct nodes ignored;

    if (parse_at(parse, TOKEN_EOF)) {
        parse->stopped = true;
        return;
    }
    while (parse_inside(parse, tag, ends, &ignored)) {
        if (parse_skip_word(parse, known->end)) {
            if (!parse_expect(parse, TOKEN_BLOCK_END))
                leave_tag(parse);
            return;
        }
        parse->failing = true;
        leave_tag(parse);
    }
}

static void parse_tag_into(struct parse *parse, struct parse_list *list)
{
    struct lex_token tag = parse->current;
    const struct parse_tag *known = NULL;
    struct node *node;

    if (tag.kind != TOKEN_NAME)
        parse_fail(parse, tag.at, "tag name expected");
    else if (!(known = parse_find_tag(tag.text)))
        fail_unknown_tag(parse, tag);
    if (!known) {
        leave_tag(parse);
        return;
    }
    parse_next(parse);
    node = known->parse(parse, tag);
    if (!node) {
        leave_tag(parse);
        if (known->end && parse->closed != tag.at + 1 && !parse->stopped)
            skip_body(parse, known, tag);
        return;
    }
    VEC_PUSH_IN(parse->arena, &list->list, node);
    if (!parse_expect(parse, TOKEN_BLOCK_END))
        leave_tag(parse);
}

/* A mistake on a later line, or at the end of the text, says little about the place of the missing
 * braces. */
static void note_unclosed(struct parse *parse, uint32_t at)
{
    const char *from = parse->lex.text.p + at;

    if (parse_at(parse, TOKEN_EOF) || memchr(from, '\n', parse->current.at - at))
        diag_note(parse->diags, template_diag_place(parse->template, at, parse->diags),
                  "the expression that is not closed by '}}' began here");
}

static void parse_print_into(struct parse *parse, struct parse_list *list)
{
    struct lex_token begin = parse_next(parse);
    struct node *value = parse_tuple(parse, 0, NULL);
    struct node_unary *print;

    if (!value || !parse_expect(parse, TOKEN_VARIABLE_END)) {
        note_unclosed(parse, begin.at);
        if (parse_at(parse, TOKEN_EOF))
            parse->stopped = true;
        leave_tag(parse);
        return;
    }
    print = PARSE_NODE(parse, NODE_PRINT, node_unary, begin.at);
    print->operand = value;
    VEC_PUSH_IN(parse->arena, &list->list, &print->node);
}

static void parse_data_into(struct parse *parse, struct parse_list *list)
{
    struct lex_token token = parse_next(parse);
    struct node_data *data = PARSE_NODE(parse, NODE_DATA, node_data, token.at);

    data->text = token.text;
    VEC_PUSH_IN(parse->arena, &list->list, &data->node);
}

/* Up to an end tag, whose name is current then, or to the end of the text. */
static struct nodes parse_until(struct parse *parse, const char *const *ends)
{
    struct parse_list list = { .list = VEC_INIT };

    while (!parse->stopped) {
        switch (parse->current.kind) {
        case TOKEN_DATA: parse_data_into(parse, &list); break;
        case TOKEN_VARIABLE_BEGIN: parse_print_into(parse, &list); break;
        case TOKEN_BLOCK_BEGIN:
            parse_next(parse);
            if (parse_at(parse, TOKEN_NAME) && is_end(ends, parse->current.text))
                return parse_list_end(parse, &list);
            parse_tag_into(parse, &list);
            break;
        case TOKEN_ERROR:
            parse_fail(parse, parse->current.at, "%s", parse->lex.error);
            parse->stopped = true;
            break;
        default: return parse_list_end(parse, &list);
        }
    }
    return parse_list_end(parse, &list);
}

bool parse_body(struct parse *parse, struct lex_token tag, const char *const *ends,
                struct nodes *ret)
{
    parse_skip(parse, TOKEN_COLON); /* as in Python */
    return parse_expect(parse, TOKEN_BLOCK_END) && parse_inside(parse, tag, ends, ret);
}

bool parse_whole_body(struct parse *parse, struct lex_token tag, const char *end, struct nodes *ret)
{
    const char *const ends[] = { end, NULL };

    if (!parse_body(parse, tag, ends, ret))
        return false;
    parse_next(parse);
    parse->closed = tag.at + 1;
    return true;
}

int parse_template(struct parse *parse, struct template *template, struct diags *diags)
{
    const struct jinja_options *options = &template->jinja->options;

    memset(parse, 0, offsetof(struct parse, lex));
    parse->jinja = template->jinja;
    parse->template = template;
    parse->arena = &template->arena;
    parse->diags = diags;
    parse->depth_max = options->limits.nesting;
    lex_init(&parse->lex, template->text, options->trim_blocks, options->lstrip_blocks);
    parse->current = lex_next(&parse->lex);
    template->body = parse_until(parse, NULL);
    template->blocks = parse->blocks.p;
    template->block_count = parse->blocks.n;
    template->uses_self = parse->uses &NAME_SELF;
    template->has_extends = parse->extends;
    return parse->mistakes > 0 ? -1 : 0;
}

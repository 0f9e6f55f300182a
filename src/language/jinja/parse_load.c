/* The tags that name other templates, and those that parse data from text. */
#include "core/base/arena.h"
#include "language/jinja/parse.h"

static bool look_is(struct parse *parse, const char *word)
{
    const struct lex_token *look = parse_look(parse);

    return look->kind == TOKEN_NAME && str_is(look->text, word);
}

/* `with context` or `without context`. False: neither is here. */
static bool parse_context(struct parse *parse, bool *ret_with)
{
    bool with = parse_at_word(parse, "with");

    if (!with && !parse_at_word(parse, "without"))
        return false;
    if (!look_is(parse, "context"))
        return false;
    parse_next(parse);
    parse_next(parse);
    *ret_with = with;
    return true;
}

struct node *parse_include(struct parse *parse, struct lex_token tag)
{
    struct node_include *node = PARSE_NODE(parse, NODE_INCLUDE, node_include, tag.at);

    node->template = parse_expression(parse);
    if (!node->template)
        return NULL;
    if (parse_at_word(parse, "ignore") && look_is(parse, "missing")) {
        parse_next(parse);
        parse_next(parse);
        node->ignore_missing = true;
    }
    node->with_context = true;
    parse_context(parse, &node->with_context);
    return &node->node;
}

/* The format of "import_yaml" and "load_json": the word after the underscore. */
static enum decode get_decode_format(struct str tag)
{
    if (str_ends(tag, STR("_yaml")))
        return DECODE_YAML;
    return str_ends(tag, STR("_json")) ? DECODE_JSON : DECODE_TEXT;
}

struct node *parse_import(struct parse *parse, struct lex_token tag)
{
    struct node_import *node = PARSE_NODE(parse, NODE_IMPORT, node_import, tag.at);

    node->load = !str_is(tag.text, "import");
    node->decode = (uint8_t)get_decode_format(tag.text);
    node->template = parse_expression(parse);
    if (!node->template || !parse_expect_word(parse, "as"))
        return NULL;
    node->target = parse_target_name(parse, NODE_STORE);
    if (!node->target)
        return NULL;
    parse_context(parse, &node->with_context);
    return &node->node;
}

struct from_lists {
    VEC(struct name *) names;
    VEC(struct node_name *) targets;
};

/* One `name [as alias]`. */
static bool parse_from_name(struct parse *parse, struct from_lists *lists)
{
    uint32_t at = parse->current.at;
    struct node_name *name = parse_target_name(parse, NODE_STORE);

    if (!name)
        return false;
    if (name->name->text.p[0] == '_')
        return parse_fail(parse, at, "names starting with an underline can not be imported");
    VEC_PUSH_IN(parse->arena, &lists->names, name->name);
    if (parse_skip_word(parse, "as") && !(name = parse_target_name(parse, NODE_STORE)))
        return false;
    VEC_PUSH_IN(parse->arena, &lists->targets, name);
    return true;
}

struct node *parse_from(struct parse *parse, struct lex_token tag)
{
    struct node_from *node = PARSE_NODE(parse, NODE_FROM, node_from, tag.at);
    struct from_lists lists = { .names = VEC_INIT };

    node->template = parse_expression(parse);
    if (!node->template || !parse_expect_word(parse, "import"))
        return NULL;
    for (;;) {
        if (lists.names.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        if (parse_at(parse, TOKEN_NAME) && parse_context(parse, &node->with_context))
            break;
        if (!parse_from_name(parse, &lists))
            return NULL;
        if (parse_context(parse, &node->with_context) || !parse_at(parse, TOKEN_COMMA))
            break;
    }
    node->names = lists.names.p;
    node->targets = lists.targets.p;
    node->count = (uint32_t)lists.names.n;
    return &node->node;
}

struct node *parse_extends(struct parse *parse, struct lex_token tag)
{
    struct node_unary *node = PARSE_NODE(parse, NODE_EXTENDS, node_unary, tag.at);

    parse->extends = true;
    node->operand = parse_expression(parse);
    return node->operand ? &node->node : NULL;
}

struct node *parse_load(struct parse *parse, struct lex_token tag)
{
    struct node_set_block *node = PARSE_NODE(parse, NODE_SET_BLOCK, node_set_block, tag.at);

    node->load = true;
    node->decode = (uint8_t)get_decode_format(tag.text);
    if (!parse_expect_word(parse, "as"))
        return NULL;
    node->target = parse_target(parse, NODE_STORE, NULL);
    if (!node->target || !parse_whole_body(parse, tag, "endload", &node->body))
        return NULL;
    return &node->node;
}

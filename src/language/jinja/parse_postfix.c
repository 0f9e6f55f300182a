/* The suffixes of a value: attributes, items, slices, calls, filters and tests. */
#include "core/base/arena.h"
#include "language/jinja/parse.h"

static bool parse_call_bad(struct parse *parse, uint32_t at)
{
    parse_fail(parse, at, "invalid syntax for function call expression");
    return false;
}

struct call_lists {
    struct parse_list places, named;
    VEC(struct name *) names;
};

/* One argument: `*x`, `**x`, `name=x` or `x`, in that order. */
static bool parse_argument(struct parse *parse, struct args *args, struct call_lists *lists,
                           uint32_t at)
{
    struct node *value;

    if (parse_skip(parse, TOKEN_MUL)) {
        if (args->star || args->star_star)
            return parse_call_bad(parse, at);
        return (args->star = parse_expression(parse)) != NULL;
    }
    if (parse_skip(parse, TOKEN_POW)) {
        if (args->star_star)
            return parse_call_bad(parse, at);
        return (args->star_star = parse_expression(parse)) != NULL;
    }
    if (parse_at(parse, TOKEN_NAME) && parse_look(parse)->kind == TOKEN_ASSIGN) {
        uint32_t name_at = parse->current.at;
        struct name *name = parse_take_name(parse);

        parse_next(parse);
        if (args->star_star)
            return parse_call_bad(parse, at);
        if (lists->names.n >= PARSE_ARGS_MAX) {
            parse_fail(parse, at, "more arguments than the limit of %d", PARSE_ARGS_MAX);
            return false;
        }
        for (size_t i = 0; i < lists->names.n; i++)
            if (lists->names.p[i] == name) {
                parse_fail(parse, name_at, "keyword argument repeated: '%.*s'",
                           STR_ARG(name->text));
                return false;
            }
        if (!(value = parse_expression(parse)))
            return false;
        VEC_PUSH_IN(parse->arena, &lists->names, name);
        VEC_PUSH_IN(parse->arena, &lists->named.list, value);
        return true;
    }
    if (args->star || args->star_star || lists->names.n > 0)
        return parse_call_bad(parse, at);
    if (!(value = parse_expression(parse)))
        return false;
    VEC_PUSH_IN(parse->arena, &lists->places.list, value);
    return true;
}

/* "(...)" into `args`, which belongs to `node`. */
static bool parse_arguments(struct parse *parse, struct node *node, struct args *args)
{
    struct call_lists lists = { .names = VEC_INIT };
    uint32_t at = parse->current.at;
    bool first = true;

    if (!parse_expect(parse, TOKEN_LPAREN))
        return false;
    while (!parse_at(parse, TOKEN_RPAREN)) {
        if (!first && !parse_expect(parse, TOKEN_COMMA))
            return false;
        if (parse_at(parse, TOKEN_RPAREN))
            break;
        if (!parse_argument(parse, args, &lists, at))
            return false;
        first = false;
    }
    parse_next(parse);
    args->places = parse_list_end(parse, &lists.places);
    args->named = parse_list_end(parse, &lists.named);
    args->names = lists.names.p;
    return parse_holds_all(parse, node, args->places) &&
           parse_holds_all(parse, node, args->named) && parse_holds(parse, node, args->star) &&
           parse_holds(parse, node, args->star_star);
}

static struct node *parse_call(struct parse *parse, struct node *callee)
{
    struct node_call *call = PARSE_NODE(parse, NODE_CALL, node_call, callee->at);

    call->callee = callee;
    if (!parse_holds(parse, &call->node, callee) ||
        !parse_arguments(parse, &call->node, &call->args))
        return NULL;
    return &call->node;
}

static struct node *parse_attribute(struct parse *parse, struct node *value)
{
    uint32_t at = parse_next(parse).at;
    struct lex_token token = parse->current;
    struct node_attribute *node;

    if (token.kind == TOKEN_INTEGER)
        return parse_binary_node(parse, NODE_ITEM, 0, at, value, parse_primary(parse));
    if (token.kind != TOKEN_NAME)
        return parse_fail(parse, token.at, "expected name or number");
    parse_next(parse);
    node = PARSE_NODE(parse, NODE_ATTRIBUTE, node_attribute, token.at);
    node->value = value;
    node->name = parse_name(parse, token.text);
    if (!node->name->methods[VALUE_MAP] && token.text.p[0] != '_')
        node->place = ARENA_NEW(parse->arena, uint32_t);
    return parse_holds(parse, &node->node, value) ? &node->node : NULL;
}

static bool at_slice_part(const struct parse *parse)
{
    return !parse_at(parse, TOKEN_COLON) && !parse_at(parse, TOKEN_RBRACKET) &&
           !parse_at(parse, TOKEN_COMMA);
}

/* After "[" and an optional start: the rest of `start:stop:step`. */
static struct node *parse_slice_rest(struct parse *parse, struct node *value, struct node *start,
                                     uint32_t at)
{
    struct node_slice *node = PARSE_NODE(parse, NODE_SLICE, node_slice, at);

    parse_next(parse); /* the colon */
    node->value = value;
    node->start = start;
    if (at_slice_part(parse) && !(node->stop = parse_expression(parse)))
        return NULL;
    if (parse_skip(parse, TOKEN_COLON) && at_slice_part(parse) &&
        !(node->step = parse_expression(parse)))
        return NULL;
    if (!parse_holds(parse, &node->node, value) || !parse_holds(parse, &node->node, start) ||
        !parse_holds(parse, &node->node, node->stop) ||
        !parse_holds(parse, &node->node, node->step))
        return NULL;
    return &node->node;
}

/* "[...]": an item, a slice, or a tuple as key. */
static struct node *parse_subscript(struct parse *parse, struct node *value)
{
    uint32_t at = parse_next(parse).at;
    struct parse_list keys = { .list = VEC_INIT };
    struct node *key = NULL;

    while (!parse_at(parse, TOKEN_RBRACKET)) {
        if (keys.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        key = parse_at(parse, TOKEN_COLON) ? NULL : parse_expression(parse);
        if (!key && parse->failing)
            return NULL;
        if (parse_at(parse, TOKEN_COLON)) {
            if (keys.list.n > 0)
                return parse_fail(parse, at, "slices can not be part of a tuple");
            key = parse_slice_rest(parse, value, key, at);
            return key && parse_expect(parse, TOKEN_RBRACKET) ? key : NULL;
        }
        VEC_PUSH_IN(parse->arena, &keys.list, key);
    }
    parse_next(parse);
    if (keys.list.n != 1)
        key = parse_list_node(parse, NODE_TUPLE, at, &keys);
    return parse_binary_node(parse, NODE_ITEM, 0, at, value, key);
}

struct node *parse_postfix(struct parse *parse, struct node *node)
{
    while (node) {
        if (parse_at(parse, TOKEN_DOT))
            node = parse_attribute(parse, node);
        else if (parse_at(parse, TOKEN_LBRACKET))
            node = parse_subscript(parse, node);
        else if (parse_at(parse, TOKEN_LPAREN))
            node = parse_call(parse, node);
        else
            break;
    }
    return node;
}

/* Names of filters and tests may hold dots. A NULL view: none, which is reported. */
static struct str parse_dotted(struct parse *parse)
{
    struct lex_token token = parse->current;
    struct str name = token.text;

    if (!parse_expect(parse, TOKEN_NAME))
        return (struct str){ NULL, 0 };
    while (parse_skip(parse, TOKEN_DOT)) {
        token = parse->current;
        if (!parse_expect(parse, TOKEN_NAME))
            return (struct str){ NULL, 0 };
        name =
            str_from(arena_printf(parse->arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(token.text)));
    }
    return name;
}

static struct node_apply *apply_node(struct parse *parse, enum node_kind kind, struct node *value)
{
    struct node_apply *node = PARSE_NODE(parse, kind, node_apply, parse->current.at);

    node->value = value;
    node->name = parse_dotted(parse);
    if (!node->name.p || !parse_holds(parse, &node->node, value))
        return NULL;
    node->node.op = parse_at(parse, TOKEN_LPAREN); /* written with parentheses */
    if (node->node.op && !parse_arguments(parse, &node->node, &node->args))
        return NULL;
    return node;
}

struct node *parse_filters(struct parse *parse, struct node *value, bool is_inline)
{
    while (is_inline || parse_skip(parse, TOKEN_PIPE)) {
        struct node_apply *node = apply_node(parse, NODE_FILTER, value);

        if (!node)
            return NULL;
        value = &node->node;
        is_inline = false;
    }
    return value;
}

static bool at_test_argument(const struct parse *parse)
{
    switch (parse->current.kind) {
    case TOKEN_NAME:
        return !parse_at_word(parse, "else") && !parse_at_word(parse, "or") &&
               !parse_at_word(parse, "and");
    case TOKEN_STRING:
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
    case TOKEN_LBRACKET:
    case TOKEN_LBRACE: return true;
    default: return false;
    }
}

static struct node *parse_test(struct parse *parse, struct node *value)
{
    uint32_t at = parse_next(parse).at;
    bool negated = parse_skip_word(parse, "not");
    uint32_t name_at = parse->current.at;
    struct node_apply *node = apply_node(parse, NODE_TEST, value);

    if (!node)
        return NULL;
    if (!node->node.op && at_test_argument(parse)) {
        struct parse_list list = { .list = VEC_INIT };

        if (parse_at_word(parse, "is"))
            return parse_fail(parse, parse->current.at, "you cannot chain multiple tests with is");
        struct node *argument = parse_postfix(parse, parse_primary(parse));

        if (!argument || !parse_holds(parse, &node->node, argument))
            return NULL;
        VEC_PUSH_IN(parse->arena, &list.list, argument);
        node->args.places = parse_list_end(parse, &list);
    }
    node->node.at = name_at;
    return negated ? parse_unary_node(parse, NODE_NOT, 0, at, &node->node) : &node->node;
}

struct node *parse_filter_expr(struct parse *parse, struct node *node)
{
    while (node) {
        if (parse_at(parse, TOKEN_PIPE))
            node = parse_filters(parse, node, false);
        else if (parse_at_word(parse, "is"))
            node = parse_test(parse, node);
        else if (parse_at(parse, TOKEN_LPAREN))
            node = parse_call(parse, node);
        else
            break;
    }
    return node;
}

/*
 * The grammar, loosest first: if, or, and, not, comparisons, + -, ~, * / // %, **, unary - +, then
 * the suffixes of a value: . [] (), then | and `is`. A unary minus binds closer than **, and
 * filters bind closer than everything but postfix, as in Jinja2.
 */
#include <string.h>

#include "core/base/arena.h"
#include "language/jinja/literal.h"
#include "language/jinja/ops.h"
#include "language/jinja/parse.h"

/* --- making nodes -------------------------------------------------------------------- */

static struct node *new_constant(struct parse *parse, uint32_t at, struct value value)
{
    struct node_const *node = PARSE_NODE(parse, NODE_CONST, node_const, at);

    node->value = value;
    return &node->node;
}

struct node *parse_unary_node(struct parse *parse, enum node_kind kind, uint8_t op, uint32_t at,
                              struct node *operand)
{
    struct node_unary *node;

    if (!operand)
        return NULL;
    node = PARSE_NODE(parse, kind, node_unary, at);
    node->node.op = op;
    node->operand = operand;
    return parse_holds(parse, &node->node, operand) ? &node->node : NULL;
}

struct node *parse_binary_node(struct parse *parse, enum node_kind kind, uint8_t op, uint32_t at,
                               struct node *left, struct node *right)
{
    struct node_binary *node;

    if (!left || !right)
        return NULL;
    node = PARSE_NODE(parse, kind, node_binary, at);
    node->node.op = op;
    node->left = left;
    node->right = right;
    if (!parse_holds(parse, &node->node, left) || !parse_holds(parse, &node->node, right))
        return NULL;
    return &node->node;
}

struct node *parse_list_node(struct parse *parse, enum node_kind kind, uint32_t at,
                             const struct parse_list *items)
{
    struct node_list *node = PARSE_NODE(parse, kind, node_list, at);

    node->items = parse_list_end(parse, items);
    return parse_holds_all(parse, &node->node, node->items) ? &node->node : NULL;
}

static struct node *name_node(struct parse *parse, struct lex_token token, enum node_use use)
{
    struct node_name *node = PARSE_NODE(parse, NODE_NAME, node_name, token.at);

    node->node.op = (uint8_t)use;
    node->name = parse_name(parse, token.text);
    if (use == NODE_LOAD)
        parse->uses |= (uint8_t)(node->name->special & ~parse->hidden);
    else
        parse->hidden |= (uint8_t)(node->name->special & ~parse->uses);
    return &node->node;
}

/* --- literals --------------------------------------------------------------------------- */

static struct node *parse_text(struct parse *parse)
{
    uint32_t at = parse->current.at;
    struct str text = { NULL, 0 };

    while (parse_at(parse, TOKEN_STRING)) {
        struct str part;
        const char *error = literal_text(parse->arena, parse->current.text, &part);

        if (error)
            return parse_fail(parse, parse->current.at, "%s", error);
        if (!text.p)
            text = part;
        else
            text = str_from(arena_printf(parse->arena, "%.*s%.*s", STR_ARG(text), STR_ARG(part)));
        parse_next(parse);
    }
    return new_constant(parse, at, value_str(text));
}

static struct node *parse_number_literal(struct parse *parse)
{
    struct lex_token token = parse->current;
    int64_t i;

    if (token.kind == TOKEN_FLOAT) {
        parse_next(parse);
        return new_constant(parse, token.at, value_double(literal_float(token.text)));
    }
    if (!literal_integer(token.text, &i))
        return parse_fail(parse, token.at, "the integer '%.*s' does not fit 64 bits",
                          STR_ARG(token.text));
    parse_next(parse);
    return new_constant(parse, token.at, value_int(i));
}

static struct node *parse_name_or_constant(struct parse *parse)
{
    static const struct {
        const char *word;
        uint8_t kind;
        bool b;
    } words[] = {
        { "true", VALUE_BOOL, true },   { "True", VALUE_BOOL, true },
        { "none", VALUE_NULL, false },  { "false", VALUE_BOOL, false },
        { "False", VALUE_BOOL, false }, { "None", VALUE_NULL, false },
    };
    struct lex_token token = parse_next(parse);

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(token.text, words[i].word))
            return new_constant(parse, token.at,
                                (struct value){ .kind = words[i].kind, .b = words[i].b });
    return name_node(parse, token, NODE_LOAD);
}

/* Items up to `close`, with commas; one more comma may follow the last. */
static struct node *parse_list_items(struct parse *parse)
{
    struct lex_token open = parse_next(parse);
    struct parse_list items = { .list = VEC_INIT };

    while (!parse_at(parse, TOKEN_RBRACKET)) {
        if (items.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        if (parse_at(parse, TOKEN_RBRACKET))
            break;
        struct node *item = parse_expression(parse);

        if (!item)
            return NULL;
        VEC_PUSH_IN(parse->arena, &items.list, item);
    }
    parse_next(parse);
    return parse_list_node(parse, NODE_LIST, open.at, &items);
}

static struct node *parse_dict(struct parse *parse)
{
    struct node_dict *dict = PARSE_NODE(parse, NODE_DICT, node_dict, parse_next(parse).at);
    struct parse_list keys = { .list = VEC_INIT }, values = { .list = VEC_INIT };

    while (!parse_at(parse, TOKEN_RBRACE)) {
        if (keys.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        if (parse_at(parse, TOKEN_RBRACE))
            break;
        struct node *key = parse_expression(parse);

        if (!key || !parse_expect(parse, TOKEN_COLON))
            return NULL;
        VEC_PUSH_IN(parse->arena, &keys.list, key);
        struct node *value = parse_expression(parse);

        if (!value)
            return NULL;
        VEC_PUSH_IN(parse->arena, &values.list, value);
    }
    parse_next(parse);
    dict->keys = parse_list_end(parse, &keys);
    dict->values = parse_list_end(parse, &values);
    if (!parse_holds_all(parse, &dict->node, dict->keys) ||
        !parse_holds_all(parse, &dict->node, dict->values))
        return NULL;
    return &dict->node;
}

struct node *parse_primary(struct parse *parse)
{
    struct node *node;

    switch (parse->current.kind) {
    case TOKEN_NAME: return parse_name_or_constant(parse);
    case TOKEN_STRING: return parse_text(parse);
    case TOKEN_INTEGER:
    case TOKEN_FLOAT: return parse_number_literal(parse);
    case TOKEN_LBRACKET: return parse_list_items(parse);
    case TOKEN_LBRACE: return parse_dict(parse);
    case TOKEN_LPAREN:
        parse_next(parse);
        node = parse_tuple(parse, TUPLE_PARENS, NULL);
        return node && parse_expect(parse, TOKEN_RPAREN) ? node : NULL;
    default:
        return parse_fail(parse, parse->current.at, "unexpected '%.*s'",
                          STR_ARG(parse_describe(parse)));
    }
}

/* --- tuples and targets -------------------------------------------------------------------- */

static bool at_tuple_end(const struct parse *parse, const char *end)
{
    return parse_at(parse, TOKEN_VARIABLE_END) || parse_at(parse, TOKEN_BLOCK_END) ||
           parse_at(parse, TOKEN_RPAREN) || (end && parse_at_word(parse, end));
}

static struct node *parse_tuple_item(struct parse *parse, int flags)
{
    if (!(flags & TUPLE_SIMPLE))
        return flags & TUPLE_WITHOUT_IF ? parse_expression_without_if(parse)
                                        : parse_expression(parse);
    if (!parse_enter(parse))
        return NULL;
    struct node *node = parse_primary(parse);

    parse_leave(parse);
    return node;
}

struct node *parse_tuple(struct parse *parse, int flags, const char *end)
{
    struct parse_list items = { .list = VEC_INIT };
    uint32_t at = parse->current.at;
    bool is_tuple = false;

    for (;;) {
        if (items.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        if (at_tuple_end(parse, end))
            break;
        struct node *item = parse_tuple_item(parse, flags);

        if (!item)
            return NULL;
        VEC_PUSH_IN(parse->arena, &items.list, item);
        if (!parse_at(parse, TOKEN_COMMA))
            break;
        is_tuple = true;
    }
    if (!is_tuple && items.list.n > 0)
        return items.list.p[0];
    if (!is_tuple && !(flags & TUPLE_PARENS))
        return parse_fail(parse, parse->current.at, "expected an expression, got '%.*s'",
                          STR_ARG(parse_describe(parse)));
    return parse_list_node(parse, NODE_TUPLE, at, &items);
}

static const char *kind_word(const struct node *node)
{
    static const char *const words[NODE_KINDS] = {
        [NODE_CONST] = "const",
        [NODE_LIST] = "list",
        [NODE_DICT] = "dict",
    };

    return words[node->kind] ? words[node->kind] : "expression";
}

/* Turn names that were read into assigned ones. Tuples in targets are as deep as brackets nest. */
static bool make_target(struct parse *parse, struct node *node, enum node_use use)
{
    if (node->kind == NODE_TUPLE) {
        const struct node_list *tuple = (const struct node_list *)node;

        for (uint32_t i = 0; i < tuple->items.n; i++)
            if (!make_target(parse, tuple->items.p[i], use))
                return false;
        return true;
    }
    if (node->kind != NODE_NAME) {
        parse_fail(parse, node->at, "can't assign to '%s'", kind_word(node));
        return false;
    }

    const struct name *name = ((struct node_name *)node)->name;

    node->op = (uint8_t)use;
    parse->hidden |= (uint8_t)(name->special & ~parse->uses);
    if (use == NODE_STORE && name->special == NAME_LOOP && parse->fors > 0) {
        parse_fail(parse, node->at, "can't assign to special loop variable in for-loop target");
        return false;
    }
    return true;
}

struct node *parse_target(struct parse *parse, enum node_use use, const char *end)
{
    uint8_t uses = parse->uses;
    struct node *node = parse_tuple(parse, TUPLE_SIMPLE, end);

    parse->uses = uses;
    return node && make_target(parse, node, use) ? node : NULL;
}

struct node_name *parse_target_name(struct parse *parse, enum node_use use)
{
    static const char *const constants[] = { "true", "false", "none", "True", "False", "None" };
    struct lex_token token = parse->current;

    if (!parse_expect(parse, TOKEN_NAME))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(constants); i++)
        if (str_is(token.text, constants[i]))
            return parse_fail(parse, token.at, "can't assign to 'name'");
    return (struct node_name *)name_node(parse, token, use);
}

/* --- operators -------------------------------------------------------------------------------- */

/* `-1` is a number, not an operation to repeat each time. */
static struct node *negate_operand(struct parse *parse, uint32_t at, struct node *operand)
{
    struct node_const *number = (struct node_const *)operand;

    if (operand && operand->kind == NODE_CONST && number->value.kind == VALUE_INT) {
        number->value.i = -number->value.i; /* literals are not negative: no overflow */
        return operand;
    }
    if (operand && operand->kind == NODE_CONST && number->value.kind == VALUE_DOUBLE) {
        number->value.d = -number->value.d;
        return operand;
    }
    return parse_unary_node(parse, NODE_UNARY, OP_NEG, at, operand);
}

static struct node *parse_unary_expr(struct parse *parse, bool with_filter)
{
    uint32_t at = parse->current.at;
    struct node *node;

    if (!parse_enter(parse))
        return NULL;
    if (parse_skip(parse, TOKEN_SUB))
        node = negate_operand(parse, at, parse_unary_expr(parse, false));
    else if (parse_skip(parse, TOKEN_ADD))
        node = parse_unary_node(parse, NODE_UNARY, OP_POS, at, parse_unary_expr(parse, false));
    else
        node = parse_primary(parse);
    node = parse_postfix(parse, node);
    if (with_filter)
        node = parse_filter_expr(parse, node);
    parse_leave(parse);
    return node;
}

static struct node *parse_pow(struct parse *parse)
{
    struct node *left = parse_unary_expr(parse, true);

    while (left && parse_at(parse, TOKEN_POW)) {
        uint32_t at = parse_next(parse).at;

        left =
            parse_binary_node(parse, NODE_BINARY, OP_POW, at, left, parse_unary_expr(parse, true));
    }
    return left;
}

/* The operator of a token: `*` and its kin. -1: none. */
static int product_op(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_MUL: return OP_MUL;
    case TOKEN_DIV: return OP_DIV;
    case TOKEN_FLOORDIV: return OP_FLOORDIV;
    case TOKEN_MOD: return OP_MOD;
    default: return -1;
    }
}

static struct node *parse_product(struct parse *parse)
{
    struct node *left = parse_pow(parse);
    int op;

    while (left && (op = product_op(parse->current.kind)) >= 0) {
        uint32_t at = parse_next(parse).at;

        left = parse_binary_node(parse, NODE_BINARY, (uint8_t)op, at, left, parse_pow(parse));
    }
    return left;
}

static struct node *parse_concat(struct parse *parse)
{
    struct parse_list parts = { .list = VEC_INIT };
    struct node *part = parse_product(parse);
    uint32_t at = parse->current.at;

    if (!part || !parse_at(parse, TOKEN_TILDE))
        return part;
    VEC_PUSH_IN(parse->arena, &parts.list, part);
    while (parse_skip(parse, TOKEN_TILDE)) {
        if (!(part = parse_product(parse)))
            return NULL;
        VEC_PUSH_IN(parse->arena, &parts.list, part);
    }
    return parse_list_node(parse, NODE_CONCAT, at, &parts);
}

static struct node *parse_sum(struct parse *parse)
{
    struct node *left = parse_concat(parse);

    while (left && (parse_at(parse, TOKEN_ADD) || parse_at(parse, TOKEN_SUB))) {
        struct lex_token op = parse_next(parse);

        left = parse_binary_node(parse, NODE_BINARY, op.kind == TOKEN_ADD ? OP_ADD : OP_SUB, op.at,
                                 left, parse_concat(parse));
    }
    return left;
}

/* Takes a comparison operator. -1: there is none. */
static int parse_compare_op(struct parse *parse)
{
    static const int8_t ops[TOKEN_KINDS] = {
        [TOKEN_EQ] = OP_EQ + 1,   [TOKEN_NE] = OP_NE + 1, [TOKEN_LT] = OP_LT + 1,
        [TOKEN_LTEQ] = OP_LE + 1, [TOKEN_GT] = OP_GT + 1, [TOKEN_GTEQ] = OP_GE + 1,
    };
    int op = ops[parse->current.kind] - 1;

    if (op < 0 && parse_at_word(parse, "in"))
        op = OP_IN;
    if (op >= 0) {
        parse_next(parse);
        return op;
    }
    if (!parse_at_word(parse, "not"))
        return -1;
    const struct lex_token *look = parse_look(parse);

    if (look->kind != TOKEN_NAME || !str_is(look->text, "in"))
        return -1;
    parse_next(parse);
    parse_next(parse);
    return OP_NOT_IN;
}

static struct node *parse_compare(struct parse *parse)
{
    struct node *first = parse_sum(parse);
    struct parse_list operands = { .list = VEC_INIT };
    VEC(uint8_t) ops = VEC_INIT;
    uint32_t at = parse->current.at;
    int op;

    while (first && (op = parse_compare_op(parse)) >= 0) {
        struct node *operand = parse_sum(parse);

        if (!operand)
            return NULL;
        VEC_PUSH_IN(parse->arena, &operands.list, operand);
        VEC_PUSH_IN(parse->arena, &ops, (uint8_t)op);
    }
    if (!first || ops.n == 0)
        return first;

    struct node_compare *node = PARSE_NODE(parse, NODE_COMPARE, node_compare, at);
    node->first = first;
    node->operands = parse_list_end(parse, &operands);
    node->ops = ops.p;
    node->count = (uint32_t)ops.n;
    if (!parse_holds(parse, &node->node, first) ||
        !parse_holds_all(parse, &node->node, node->operands))
        return NULL;
    return &node->node;
}

static struct node *parse_not(struct parse *parse)
{
    uint32_t at = parse->current.at;

    if (!parse_at_word(parse, "not"))
        return parse_compare(parse);
    parse_next(parse);
    if (!parse_enter(parse))
        return NULL;
    struct node *node = parse_unary_node(parse, NODE_NOT, 0, at, parse_not(parse));

    parse_leave(parse);
    return node;
}

static struct node *parse_and_expr(struct parse *parse)
{
    struct node *left = parse_not(parse);

    while (left && parse_at_word(parse, "and")) {
        uint32_t at = parse_next(parse).at;

        left = parse_binary_node(parse, NODE_AND, 0, at, left, parse_not(parse));
    }
    return left;
}

static struct node *parse_or_expr(struct parse *parse)
{
    struct node *left = parse_and_expr(parse);

    while (left && parse_at_word(parse, "or")) {
        uint32_t at = parse_next(parse).at;

        left = parse_binary_node(parse, NODE_OR, 0, at, left, parse_and_expr(parse));
    }
    return left;
}

static struct node *cond_node(struct parse *parse, uint32_t at, struct node *then,
                              struct node *test, struct node *otherwise)
{
    struct node_cond *node = PARSE_NODE(parse, NODE_COND, node_cond, at);

    node->then = then;
    node->test = test;
    node->otherwise = otherwise;
    if (!parse_holds(parse, &node->node, then) || !parse_holds(parse, &node->node, test) ||
        !parse_holds(parse, &node->node, otherwise))
        return NULL;
    return &node->node;
}

struct node *parse_expression(struct parse *parse)
{
    struct node *node, *test, *otherwise;

    if (!parse_enter(parse))
        return NULL;
    node = parse_or_expr(parse);
    while (node && parse_at_word(parse, "if")) {
        uint32_t at = parse_next(parse).at;

        test = parse_or_expr(parse);
        otherwise = test && parse_skip_word(parse, "else") ? parse_expression(parse) : NULL;
        node = test && !parse->failing ? cond_node(parse, at, node, test, otherwise) : NULL;
    }
    parse_leave(parse);
    return node;
}

struct node *parse_expression_without_if(struct parse *parse)
{
    struct node *node;

    if (!parse_enter(parse))
        return NULL;
    node = parse_or_expr(parse);
    parse_leave(parse);
    return node;
}

/* Operator precedence after Pratt: each token has a power, and may begin an expression (prefix) or
 * continue one (infix). A projection applies to everything on its right that binds at least as
 * strongly as PROJECTION_STOP. */
#include "language/jmespath/jmes_parse.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "language/jmespath/jmes_function.h"
#include "language/jmespath/jmes_lex.h"
#include "language/jmespath/jmes_node.h"
#include "language/jmespath/jmespath.h"

#define PROJECTION_STOP 10

struct parser {
    struct arena *arena;
    struct str text;
    const struct jmes_token *token; /* the next one */
    size_t depth;
    struct err *err;
};

typedef int prefix_fn(struct parser *parser, const struct jmes_token *token,
                      struct jmes_node **ret);
typedef int infix_fn(struct parser *parser, const struct jmes_token *token, struct jmes_node *left,
                     struct jmes_node **ret);

struct token_rule {
    unsigned power;
    prefix_fn *prefix;
    infix_fn *infix;
};

static const struct token_rule rules[JMES_TOKEN_KINDS];

static int parse_expression(struct parser *parser, unsigned power, struct jmes_node **ret);

/* --- tokens and nodes --------------------------------------------------------------------- */

static int fail_token(struct parser *parser, const struct jmes_token *token)
{
    if (token->kind == JMES_END)
        return jmes_fail(parser->err, parser->text, token->at, "the expression ends too early");
    return jmes_fail(parser->err, parser->text, token->at, "unexpected '%.*s'",
                     STR_ARG(token->text));
}

static bool skip_token(struct parser *parser, enum jmes_token_kind kind)
{
    if (parser->token->kind != kind)
        return false;
    parser->token++;
    return true;
}

static int expect_token(struct parser *parser, enum jmes_token_kind kind)
{
    return skip_token(parser, kind) ? 0 : fail_token(parser, parser->token);
}

static struct jmes_node *new_jmes_node(struct parser *parser, enum jmes_node_kind kind, size_t at)
{
    struct jmes_node *node = ARENA_NEW(parser->arena, struct jmes_node);

    node->kind = kind;
    node->at = at;
    node->depth = 1;
    return node;
}

static struct jmes_node *new_current(struct parser *parser)
{
    return new_jmes_node(parser, JMES_NODE_CURRENT, parser->token->at);
}

static int fail_depth(struct parser *parser)
{
    return err_set(parser->err, ERR_LIMIT, "an expression is %d levels deep at most",
                   JMESPATH_DEPTH_MAX);
}

/* The evaluator recurses into the tree: long chains count as much as parentheses. */
static int add_depth(struct parser *parser, struct jmes_node *node, const struct jmes_node *child)
{
    if (child->depth >= node->depth)
        node->depth = child->depth + 1;
    return node->depth > JMESPATH_DEPTH_MAX ? fail_depth(parser) : 0;
}

static int join_nodes(struct parser *parser, enum jmes_node_kind kind, struct jmes_node *left,
                      struct jmes_node *right, struct jmes_node **ret)
{
    struct jmes_node *node = new_jmes_node(parser, kind, left->at);

    node->left = left;
    node->right = right;
    if (add_depth(parser, node, left) < 0 || (right && add_depth(parser, node, right) < 0))
        return -1;
    *ret = node;
    return 0;
}

/* --- lists of expressions ------------------------------------------------------------------ */

struct part_list {
    VEC(struct jmes_part) vec;
};

static int parse_part(struct parser *parser, struct value key, struct jmes_node *node,
                      struct part_list *parts)
{
    struct jmes_node *part;

    if (parse_expression(parser, 0, &part) < 0 || add_depth(parser, node, part) < 0)
        return -1;
    VEC_PUSH_IN(parser->arena, &parts->vec, (struct jmes_part){ key, part });
    return 0;
}

static void keep_parts(struct jmes_node *node, const struct part_list *parts)
{
    node->parts = parts->vec.p;
    node->count = parts->vec.n;
}

/* Expressions up to `end`; at least one. */
static int parse_parts(struct parser *parser, struct jmes_node *node, enum jmes_token_kind end)
{
    struct part_list parts = { VEC_INIT };

    do {
        if (parse_part(parser, value_null(), node, &parts) < 0)
            return -1;
    } while (skip_token(parser, JMES_COMMA));
    keep_parts(node, &parts);
    return expect_token(parser, end);
}

static int parse_multiselect(struct parser *parser, struct jmes_node **ret)
{
    *ret = new_jmes_node(parser, JMES_NODE_LIST, parser->token->at);
    return parse_parts(parser, *ret, JMES_RBRACKET);
}

static int parse_hash(struct parser *parser, struct jmes_node **ret)
{
    struct jmes_node *node = new_jmes_node(parser, JMES_NODE_HASH, parser->token->at);
    struct part_list parts = { VEC_INIT };

    do {
        const struct jmes_token *key = parser->token;

        if (!skip_token(parser, JMES_NAME) && !skip_token(parser, JMES_QUOTED))
            return fail_token(parser, key);
        if (expect_token(parser, JMES_COLON) < 0 ||
            parse_part(parser, key->value, node, &parts) < 0)
            return -1;
    } while (skip_token(parser, JMES_COMMA));
    keep_parts(node, &parts);
    *ret = node;
    return expect_token(parser, JMES_RBRACE);
}

/* --- what follows a dot or a projection ---------------------------------------------------- */

static int parse_after_dot(struct parser *parser, unsigned power, struct jmes_node **ret)
{
    const struct jmes_token *token = parser->token;

    if (token->kind == JMES_NAME || token->kind == JMES_QUOTED || token->kind == JMES_STAR)
        return parse_expression(parser, power, ret);
    if (skip_token(parser, JMES_LBRACKET))
        return parse_multiselect(parser, ret);
    if (skip_token(parser, JMES_LBRACE))
        return parse_hash(parser, ret);
    return fail_token(parser, token);
}

/* The action of a projection on each item. */
static int parse_projected(struct parser *parser, unsigned power, struct jmes_node **ret)
{
    enum jmes_token_kind kind = parser->token->kind;

    if (rules[kind].power < PROJECTION_STOP) {
        *ret = new_current(parser);
        return 0;
    }
    if (kind == JMES_LBRACKET || kind == JMES_FILTER)
        return parse_expression(parser, power, ret);
    if (skip_token(parser, JMES_DOT))
        return parse_after_dot(parser, power, ret);
    return fail_token(parser, parser->token);
}

static int parse_projection(struct parser *parser, enum jmes_node_kind kind, unsigned power,
                            struct jmes_node *left, struct jmes_node **ret)
{
    struct jmes_node *right;

    if (parse_projected(parser, power, &right) < 0)
        return -1;
    return join_nodes(parser, kind, left, right, ret);
}

/* --- brackets ------------------------------------------------------------------------------ */

static int parse_jmes_slice(struct parser *parser, struct jmes_node *left, struct jmes_node **ret)
{
    struct jmes_node *node;
    size_t part = 0;

    if (join_nodes(parser, JMES_NODE_SLICE, left, NULL, &node) < 0)
        return -1;
    for (; parser->token->kind != JMES_RBRACKET; parser->token++) {
        if (parser->token->kind == JMES_COLON && part < 2)
            part++;
        else if (parser->token->kind == JMES_NUMBER && parser->token[-1].kind != JMES_NUMBER)
            node->slice.parts[part] = parser->token->value;
        else
            return fail_token(parser, parser->token);
        if (part == 2 && value_is(&node->slice.parts[2], VALUE_INT) && node->slice.parts[2].i == 0)
            return jmes_fail(parser->err, parser->text, parser->token->at,
                             "the step of a slice cannot be 0");
    }
    parser->token++;
    return parse_projection(parser, JMES_NODE_PROJECT, rules[JMES_STAR].power, node, ret);
}

/* [0] and [1:2], after the bracket. */
static int parse_jmes_index(struct parser *parser, struct jmes_node *left, struct jmes_node **ret)
{
    const struct jmes_token *token = parser->token;

    if (token->kind == JMES_COLON || token[1].kind == JMES_COLON)
        return parse_jmes_slice(parser, left, ret);
    if (join_nodes(parser, JMES_NODE_INDEX, left, NULL, ret) < 0)
        return -1;
    (*ret)->value = token->value;
    parser->token++;
    return expect_token(parser, JMES_RBRACKET);
}

static bool is_index(const struct jmes_token *token)
{
    return token->kind == JMES_NUMBER || token->kind == JMES_COLON;
}

static int parse_items(struct parser *parser, struct jmes_node *left, struct jmes_node **ret)
{
    if (expect_token(parser, JMES_STAR) < 0 || expect_token(parser, JMES_RBRACKET) < 0)
        return -1;
    return parse_projection(parser, JMES_NODE_PROJECT, rules[JMES_STAR].power, left, ret);
}

static int prefix_bracket(struct parser *parser, const struct jmes_token *token,
                          struct jmes_node **ret)
{
    if (is_index(parser->token))
        return parse_jmes_index(parser, new_current(parser), ret);
    if (token[1].kind == JMES_STAR && token[2].kind == JMES_RBRACKET)
        return parse_items(parser, new_current(parser), ret);
    return parse_multiselect(parser, ret);
}

static int infix_bracket(struct parser *parser, const struct jmes_token *token,
                         struct jmes_node *left, struct jmes_node **ret)
{
    (void)token;
    return is_index(parser->token) ? parse_jmes_index(parser, left, ret)
                                   : parse_items(parser, left, ret);
}

static int infix_flatten(struct parser *parser, const struct jmes_token *token,
                         struct jmes_node *left, struct jmes_node **ret)
{
    if (join_nodes(parser, JMES_NODE_FLATTEN, left, NULL, &left) < 0)
        return -1;
    return parse_projection(parser, JMES_NODE_PROJECT, rules[token->kind].power, left, ret);
}

static int prefix_flatten(struct parser *parser, const struct jmes_token *token,
                          struct jmes_node **ret)
{
    return infix_flatten(parser, token, new_current(parser), ret);
}

static int infix_filter(struct parser *parser, const struct jmes_token *token,
                        struct jmes_node *left, struct jmes_node **ret)
{
    struct jmes_node *condition, *right, *node;

    if (parse_expression(parser, 0, &condition) < 0 || expect_token(parser, JMES_RBRACKET) < 0 ||
        parse_projected(parser, rules[token->kind].power, &right) < 0 ||
        join_nodes(parser, JMES_NODE_SELECT, left, right, &node) < 0)
        return -1;
    node->condition = condition;
    *ret = node;
    return add_depth(parser, node, condition);
}

static int prefix_filter(struct parser *parser, const struct jmes_token *token,
                         struct jmes_node **ret)
{
    return infix_filter(parser, token, new_current(parser), ret);
}

/* --- names, literals, operators ------------------------------------------------------------ */

static int prefix_field(struct parser *parser, const struct jmes_token *token,
                        struct jmes_node **ret)
{
    *ret = new_jmes_node(parser, JMES_NODE_FIELD, token->at);
    (*ret)->value = token->value;
    return 0;
}

static int prefix_literal(struct parser *parser, const struct jmes_token *token,
                          struct jmes_node **ret)
{
    *ret = new_jmes_node(parser, JMES_NODE_VALUE, token->at);
    (*ret)->value = token->value;
    return 0;
}

static int prefix_current(struct parser *parser, const struct jmes_token *token,
                          struct jmes_node **ret)
{
    *ret = new_jmes_node(parser, JMES_NODE_CURRENT, token->at);
    return 0;
}

static int prefix_star(struct parser *parser, const struct jmes_token *token,
                       struct jmes_node **ret)
{
    return parse_projection(parser, JMES_NODE_PROJECT_VALUES, rules[token->kind].power,
                            new_current(parser), ret);
}

static int prefix_brace(struct parser *parser, const struct jmes_token *token,
                        struct jmes_node **ret)
{
    (void)token;
    return parse_hash(parser, ret);
}

static int prefix_paren(struct parser *parser, const struct jmes_token *token,
                        struct jmes_node **ret)
{
    (void)token;
    return parse_expression(parser, 0, ret) < 0 ? -1 : expect_token(parser, JMES_RPAREN);
}

static int prefix_not(struct parser *parser, const struct jmes_token *token, struct jmes_node **ret)
{
    struct jmes_node *operand;

    if (parse_expression(parser, rules[token->kind].power, &operand) < 0)
        return -1;
    return join_nodes(parser, JMES_NODE_NOT, operand, NULL, ret);
}

static int prefix_reference(struct parser *parser, const struct jmes_token *token,
                            struct jmes_node **ret)
{
    struct jmes_node *operand;

    (void)token;
    if (parse_expression(parser, 0, &operand) < 0)
        return -1;
    return join_nodes(parser, JMES_NODE_REFERENCE, operand, NULL, ret);
}

static int infix_dot(struct parser *parser, const struct jmes_token *token, struct jmes_node *left,
                     struct jmes_node **ret)
{
    unsigned power = rules[token->kind].power;
    struct jmes_node *right;

    if (skip_token(parser, JMES_STAR))
        return parse_projection(parser, JMES_NODE_PROJECT_VALUES, power, left, ret);
    if (parse_after_dot(parser, power, &right) < 0)
        return -1;
    return join_nodes(parser, JMES_NODE_CHAIN, left, right, ret);
}

static const enum jmes_node_kind operator_nodes[JMES_TOKEN_KINDS] = {
    [JMES_PIPE] = JMES_NODE_CHAIN, [JMES_OR] = JMES_NODE_OR,      [JMES_AND] = JMES_NODE_AND,
    [JMES_EQ] = JMES_NODE_COMPARE, [JMES_NE] = JMES_NODE_COMPARE, [JMES_LT] = JMES_NODE_COMPARE,
    [JMES_LE] = JMES_NODE_COMPARE, [JMES_GT] = JMES_NODE_COMPARE, [JMES_GE] = JMES_NODE_COMPARE,
};

static int infix_operator(struct parser *parser, const struct jmes_token *token,
                          struct jmes_node *left, struct jmes_node **ret)
{
    struct jmes_node *right;

    if (parse_expression(parser, rules[token->kind].power, &right) < 0 ||
        join_nodes(parser, operator_nodes[token->kind], left, right, ret) < 0)
        return -1;
    (*ret)->sign = (int)token->kind;
    return 0;
}

/* --- calls ---------------------------------------------------------------------------------- */

static int fail_function(struct parser *parser, const struct jmes_node *name)
{
    struct str best = jmes_function_suggest(name->value.s);

    if (best.p)
        return jmes_fail(parser->err, parser->text, name->at,
                         "no function '%.*s' (did you mean '%.*s'?)", STR_ARG(name->value.s),
                         STR_ARG(best));
    return jmes_fail(parser->err, parser->text, name->at, "no function '%.*s'",
                     STR_ARG(name->value.s));
}

static int check_argument_count(struct parser *parser, const struct jmes_node *node)
{
    const struct jmes_function *function = node->function;

    if (node->count > JMES_ARGUMENTS_MAX)
        return err_set(parser->err, ERR_LIMIT, "a call has %d arguments at most",
                       JMES_ARGUMENTS_MAX);
    if (node->count == function->count || (function->more && node->count > function->count))
        return 0;
    return jmes_fail(parser->err, parser->text, node->at, "%s() expects %s%zu argument%s, got %zu",
                     function->name, function->more ? "at least " : "", function->count,
                     function->count == 1 ? "" : "s", node->count);
}

static int infix_paren(struct parser *parser, const struct jmes_token *token,
                       struct jmes_node *left, struct jmes_node **ret)
{
    struct jmes_node *node = new_jmes_node(parser, JMES_NODE_CALL, left->at);

    if (left->kind != JMES_NODE_FIELD || token[-1].kind != JMES_NAME)
        return fail_token(parser, token);
    node->function = jmes_function_find(left->value.s);
    if (!node->function)
        return fail_function(parser, left);
    if (!skip_token(parser, JMES_RPAREN) && parse_parts(parser, node, JMES_RPAREN) < 0)
        return -1;
    *ret = node;
    return check_argument_count(parser, node);
}

/* --- expressions ------------------------------------------------------------------------------ */

static const struct token_rule rules[JMES_TOKEN_KINDS] = {
    [JMES_NAME] = { 0, prefix_field, NULL },
    [JMES_QUOTED] = { 0, prefix_field, NULL },
    [JMES_LITERAL] = { 0, prefix_literal, NULL },
    [JMES_AT] = { 0, prefix_current, NULL },
    [JMES_REFERENCE] = { 0, prefix_reference, NULL },
    [JMES_PIPE] = { 1, NULL, infix_operator },
    [JMES_OR] = { 2, NULL, infix_operator },
    [JMES_AND] = { 3, NULL, infix_operator },
    [JMES_EQ] = { 5, NULL, infix_operator },
    [JMES_NE] = { 5, NULL, infix_operator },
    [JMES_LT] = { 5, NULL, infix_operator },
    [JMES_LE] = { 5, NULL, infix_operator },
    [JMES_GT] = { 5, NULL, infix_operator },
    [JMES_GE] = { 5, NULL, infix_operator },
    [JMES_FLATTEN] = { 9, prefix_flatten, infix_flatten },
    [JMES_STAR] = { 20, prefix_star, NULL },
    [JMES_FILTER] = { 21, prefix_filter, infix_filter },
    [JMES_DOT] = { 40, NULL, infix_dot },
    [JMES_NOT] = { 45, prefix_not, NULL },
    [JMES_LBRACE] = { 50, prefix_brace, NULL },
    [JMES_LBRACKET] = { 55, prefix_bracket, infix_bracket },
    [JMES_LPAREN] = { 60, prefix_paren, infix_paren },
};

static int parse_operators(struct parser *parser, unsigned power, struct jmes_node **ret)
{
    const struct jmes_token *token = parser->token;

    if (!rules[token->kind].prefix)
        return fail_token(parser, token);
    parser->token++;
    if (rules[token->kind].prefix(parser, token, ret) < 0)
        return -1;
    while (rules[parser->token->kind].power > power) {
        token = parser->token;
        if (!rules[token->kind].infix)
            return fail_token(parser, token);
        parser->token++;
        if (rules[token->kind].infix(parser, token, *ret, ret) < 0)
            return -1;
    }
    return 0;
}

static int parse_expression(struct parser *parser, unsigned power, struct jmes_node **ret)
{
    if (parser->depth == JMESPATH_DEPTH_MAX)
        return fail_depth(parser);
    parser->depth++;
    if (parse_operators(parser, power, ret) < 0)
        return -1;
    parser->depth--;
    return 0;
}

int jmes_parse(struct arena *arena, struct str text, const struct jmes_node **ret, struct err *err)
{
    struct parser parser = { .arena = arena, .text = text, .err = err };
    struct jmes_token *tokens;
    struct jmes_node *node;

    if (jmes_lex(arena, text, &tokens, err) < 0)
        return -1;
    parser.token = tokens;
    if (parse_expression(&parser, 0, &node) < 0 || expect_token(&parser, JMES_END) < 0)
        return -1;
    *ret = node;
    return 0;
}

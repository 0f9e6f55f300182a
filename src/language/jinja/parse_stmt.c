/* Tags that concern this template alone; parse_load.c has the others. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/suggest.h"
#include "language/jinja/parse.h"

/* Reads and assignments of an inner body; merged into the outer body at the end. */
struct uses {
    uint8_t uses, hidden;
};

static struct uses begin_uses(struct parse *parse)
{
    struct uses outer = { parse->uses, parse->hidden };

    parse->uses = 0;
    parse->hidden = 0;
    return outer;
}

/* The names that the body used; the outer body used them too. */
static uint8_t end_uses(struct parse *parse, struct uses outer)
{
    uint8_t uses = parse->uses;

    parse->uses = (uint8_t)(outer.uses | (uses & ~outer.hidden));
    parse->hidden = outer.hidden;
    return uses;
}

/* --- if and for ------------------------------------------------------------------------ */

static struct node *parse_if(struct parse *parse, struct lex_token tag)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    struct node_if *node = PARSE_NODE(parse, NODE_IF, node_if, tag.at);
    VEC(struct node_branch) branches = VEC_INIT;

    do {
        struct node_branch branch;

        branch.test = parse_tuple(parse, TUPLE_WITHOUT_IF, NULL);
        if (!branch.test || !parse_body(parse, tag, ends, &branch.body))
            return NULL;
        VEC_PUSH_IN(parse->arena, &branches, branch);
    } while (parse_skip_word(parse, "elif"));

    node->branches = branches.p;
    node->count = (uint32_t)branches.n;
    if (parse_skip_word(parse, "else")) {
        if (!parse_whole_body(parse, tag, "endif", &node->otherwise))
            return NULL;
        return &node->node;
    }
    parse_next(parse);
    parse->closed = tag.at + 1;
    return &node->node;
}

/* `{% profile as 'label' %}`: Salt's tag, which logs its time. Treated as `if label or true`: as in
 * Salt, a label that cannot be evaluated is a mistake. */
static struct node *parse_profile(struct parse *parse, struct lex_token tag)
{
    struct node_if *node = PARSE_NODE(parse, NODE_IF, node_if, tag.at);
    struct node_const *always = PARSE_NODE(parse, NODE_CONST, node_const, tag.at);
    struct node_branch *branch = ARENA_NEW(parse->arena, struct node_branch);

    if (!parse_expect_word(parse, "as"))
        return NULL;
    always->value = value_bool(true);
    branch->test =
        parse_binary_node(parse, NODE_OR, 0, tag.at, parse_expression(parse), &always->node);
    if (!branch->test || !parse_whole_body(parse, tag, "endprofile", &branch->body))
        return NULL;
    node->branches = branch;
    node->count = 1;
    return &node->node;
}

static struct node *clone_target(struct parse *parse, const struct node *target)
{
    if (target->kind == NODE_NAME) {
        struct node_name *copy = PARSE_NODE(parse, NODE_NAME, node_name, target->at);

        *copy = *(const struct node_name *)target;
        return &copy->node;
    }

    const struct node_list *tuple = (const struct node_list *)target;
    struct node_list *copy = PARSE_NODE(parse, NODE_TUPLE, node_list, target->at);

    *copy = *tuple;
    copy->items.p = ARENA_ARRAY(parse->arena, struct node *, tuple->items.n);
    for (uint32_t i = 0; i < tuple->items.n; i++)
        copy->items.p[i] = clone_target(parse, tuple->items.p[i]);
    return &copy->node;
}

static bool parse_for_head(struct parse *parse, struct node_for *node)
{
    node->target = parse_target(parse, NODE_STORE, "in");
    if (!node->target || !parse_expect_word(parse, "in"))
        return false;
    node->iter = parse_tuple(parse, TUPLE_WITHOUT_IF, "recursive");
    if (!node->iter)
        return false;
    if (parse_skip_word(parse, "if")) {
        node->test = parse_expression(parse);
        if (!node->test)
            return false;
        node->test_target = clone_target(parse, node->target);
    }
    node->recursive = parse_skip_word(parse, "recursive");
    return true;
}

static bool parse_for_body(struct parse *parse, struct node_for *node, struct lex_token tag)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    struct uses outer = begin_uses(parse);
    bool ok;

    parse->loops++;
    ok = parse_body(parse, tag, ends, &node->body);
    parse->loops--;
    node->uses_loop = end_uses(parse, outer) & NAME_LOOP;
    return ok;
}

static struct node *parse_for(struct parse *parse, struct lex_token tag)
{
    struct node_for *node = PARSE_NODE(parse, NODE_FOR, node_for, tag.at);
    bool scoped = parse->scoped, ok;

    parse->scoped = false;
    parse->fors++;
    ok = parse_for_head(parse, node) && parse_for_body(parse, node, tag);
    if (ok && parse_skip_word(parse, "else"))
        ok = parse_whole_body(parse, tag, "endfor", &node->otherwise);
    else if (ok)
        parse_next(parse);
    parse->fors--;
    node->uses_loop = node->uses_loop || node->recursive || parse->scoped;
    parse->scoped = parse->scoped || scoped;
    if (ok)
        parse->closed = tag.at + 1;
    return ok ? &node->node : NULL;
}

static struct node *parse_loop_control(struct parse *parse, struct lex_token tag)
{
    bool is_break = str_is(tag.text, "break");

    if (parse->loops == 0)
        return parse_fail(parse, tag.at, "'%.*s' outside loop", STR_ARG(tag.text));
    return parse_node(parse, is_break ? NODE_BREAK : NODE_CONTINUE, sizeof(struct node), tag.at);
}

/* --- set, with, do, print ------------------------------------------------------------------ */

static struct node *parse_member(struct parse *parse)
{
    struct lex_token token = parse_next(parse);
    struct node_member *node = PARSE_NODE(parse, NODE_MEMBER, node_member, token.at);

    node->object.node.kind = NODE_NAME;
    node->object.node.at = token.at;
    node->object.name = parse_name(parse, token.text);
    parse_next(parse); /* the dot */
    node->name = parse_take_name(parse);
    return node->name ? &node->node : NULL;
}

/* Does a `set` that could not be parsed have a value, and so no body? */
static bool tag_has_assign(const struct parse *parse, struct lex_token tag)
{
    struct str text = parse->lex.text;
    size_t end = str_find(text, STR("%}"), tag.at);

    return str_find_char(str_slice(text, tag.at, end - tag.at), '=', 0) != STR_NONE;
}

static struct node *parse_set(struct parse *parse, struct lex_token tag)
{
    struct node *target;

    if (parse_at(parse, TOKEN_NAME) && parse_look(parse)->kind == TOKEN_DOT)
        target = parse_member(parse);
    else
        target = parse_target(parse, NODE_STORE, NULL);
    if (!target) {
        if (tag_has_assign(parse, tag))
            parse->closed = tag.at + 1;
        return NULL;
    }
    if (parse_skip(parse, TOKEN_ASSIGN)) {
        struct node_set *set = PARSE_NODE(parse, NODE_SET, node_set, tag.at);

        set->target = target;
        set->value = parse_tuple(parse, 0, NULL);
        parse->closed = tag.at + 1; /* there is no body in any case */
        return set->value ? &set->node : NULL;
    }

    struct node_set_block *block = PARSE_NODE(parse, NODE_SET_BLOCK, node_set_block, tag.at);
    block->target = target;
    block->filter = parse_filters(parse, NULL, false);
    if (parse->failing || !parse_whole_body(parse, tag, "endset", &block->body))
        return NULL;
    return &block->node;
}

static struct node *parse_with(struct parse *parse, struct lex_token tag)
{
    struct node_with *node = PARSE_NODE(parse, NODE_WITH, node_with, tag.at);
    struct parse_list targets = { .list = VEC_INIT }, values = { .list = VEC_INIT };

    while (!parse_at(parse, TOKEN_BLOCK_END)) {
        struct node *target, *value;

        if (targets.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        target = parse_target(parse, NODE_PARAM, NULL);
        if (!target || !parse_expect(parse, TOKEN_ASSIGN))
            return NULL;
        value = parse_expression(parse);
        if (!value)
            return NULL;
        VEC_PUSH_IN(parse->arena, &targets.list, target);
        VEC_PUSH_IN(parse->arena, &values.list, value);
    }
    node->targets = parse_list_end(parse, &targets);
    node->values = parse_list_end(parse, &values);
    return parse_whole_body(parse, tag, "endwith", &node->body) ? &node->node : NULL;
}

static struct node *parse_do(struct parse *parse, struct lex_token tag)
{
    struct node_unary *node = PARSE_NODE(parse, NODE_DO, node_unary, tag.at);

    node->operand = parse_tuple(parse, 0, NULL);
    return node->operand ? &node->node : NULL;
}

/* `{% print a, b %}` prints one after the other: an `if` with nothing but its `else`. */
static struct node *parse_print(struct parse *parse, struct lex_token tag)
{
    struct node_if *group = PARSE_NODE(parse, NODE_IF, node_if, tag.at);
    struct parse_list list = { .list = VEC_INIT };

    while (!parse_at(parse, TOKEN_BLOCK_END)) {
        struct node_unary *print = PARSE_NODE(parse, NODE_PRINT, node_unary, parse->current.at);

        if (list.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return NULL;
        print->operand = parse_expression(parse);
        if (!print->operand)
            return NULL;
        VEC_PUSH_IN(parse->arena, &list.list, &print->node);
    }
    group->otherwise = parse_list_end(parse, &list);
    return &group->node;
}

static struct node *parse_autoescape(struct parse *parse, struct lex_token tag)
{
    struct node_autoescape *node = PARSE_NODE(parse, NODE_AUTOESCAPE, node_autoescape, tag.at);

    node->value = parse_expression(parse);
    if (!node->value || !parse_whole_body(parse, tag, "endautoescape", &node->body))
        return NULL;
    return &node->node;
}

static struct node *parse_filter_block(struct parse *parse, struct lex_token tag)
{
    struct node_filter_block *node =
        PARSE_NODE(parse, NODE_FILTER_BLOCK, node_filter_block, tag.at);

    node->filter = parse_filters(parse, NULL, true);
    if (!node->filter || !parse_whole_body(parse, tag, "endfilter", &node->body))
        return NULL;
    return &node->node;
}

/* --- macro and call ---------------------------------------------------------------------- */

/* Python allows a parameter name once. */
static bool is_repeated_param(const struct parse_list *params, const struct node_name *param)
{
    for (size_t i = 0; i < params->list.n; i++)
        if (((const struct node_name *)params->list.p[i])->name == param->name)
            return true;
    return false;
}

static bool parse_params(struct parse *parse, struct node_macro *node)
{
    struct parse_list params = { .list = VEC_INIT }, defaults = { .list = VEC_INIT };

    if (!parse_expect(parse, TOKEN_LPAREN))
        return false;
    while (!parse_at(parse, TOKEN_RPAREN)) {
        if (params.list.n > 0 && !parse_expect(parse, TOKEN_COMMA))
            return false;
        struct node_name *param = parse_target_name(parse, NODE_PARAM);

        if (!param)
            return false;
        if (params.list.n >= PARSE_ARGS_MAX)
            return parse_fail(parse, param->node.at, "more parameters than the limit of %d",
                              PARSE_ARGS_MAX);
        if (is_repeated_param(&params, param))
            return parse_fail(parse, param->node.at, "duplicate argument '%.*s'",
                              STR_ARG(param->name->text));
        if (parse_skip(parse, TOKEN_ASSIGN)) {
            struct node *value = parse_expression(parse);

            if (!value)
                return false;
            VEC_PUSH_IN(parse->arena, &defaults.list, value);
        } else if (defaults.list.n > 0) {
            return parse_fail(parse, param->node.at,
                              "non-default argument follows default argument");
        }
        VEC_PUSH_IN(parse->arena, &params.list, &param->node);
        node->explicit_caller = node->explicit_caller || param->name->special == NAME_CALLER;
    }
    parse_next(parse);
    node->params = parse_list_end(parse, &params);
    node->defaults = parse_list_end(parse, &defaults);
    return true;
}

static bool has_param(const struct node_macro *node, uint8_t special)
{
    for (uint32_t i = 0; i < node->params.n; i++)
        if (((const struct node_name *)node->params.p[i])->name->special == special)
            return true;
    return false;
}

/* A parameter called `caller` must have a default. */
static bool check_caller_param(struct parse *parse, const struct node_macro *node)
{
    for (uint32_t i = 0; i + node->defaults.n < node->params.n; i++) {
        const struct node_name *param = (const struct node_name *)node->params.p[i];

        if (param->name->special == NAME_CALLER)
            return parse_fail(parse, param->node.at,
                              "when defining macros or call blocks the special 'caller' argument "
                              "must be omitted or be given a default");
    }
    return true;
}

static bool parse_macro_body(struct parse *parse, struct node_macro *node, struct lex_token tag,
                             const char *end)
{
    struct uses outer = begin_uses(parse);
    uint32_t loops = parse->loops;
    uint8_t uses;
    bool ok;

    parse->loops = 0;
    ok = parse_whole_body(parse, tag, end, &node->body);
    parse->loops = loops;
    uses = end_uses(parse, outer);
    node->uses_caller = uses & NAME_CALLER;
    node->uses_kwargs = (uses & NAME_KWARGS) && !has_param(node, NAME_KWARGS);
    node->uses_varargs = (uses & NAME_VARARGS) && !has_param(node, NAME_VARARGS);
    return ok && (!node->uses_caller || check_caller_param(parse, node));
}

static struct node *parse_macro(struct parse *parse, struct lex_token tag)
{
    struct node_macro *node = PARSE_NODE(parse, NODE_MACRO, node_macro, tag.at);

    node->target = parse_target_name(parse, NODE_STORE);
    if (!node->target)
        return NULL;
    node->name = node->target->name;
    if (!parse_params(parse, node) || !parse_macro_body(parse, node, tag, "endmacro"))
        return NULL;
    return &node->node;
}

static struct node *parse_call_block(struct parse *parse, struct lex_token tag)
{
    struct node_macro *node = PARSE_NODE(parse, NODE_CALL_BLOCK, node_macro, tag.at);

    if (parse_at(parse, TOKEN_LPAREN) && !parse_params(parse, node))
        return NULL;
    node->call = parse_expression(parse);
    if (!node->call)
        return NULL;
    if (node->call->kind != NODE_CALL)
        return parse_fail(parse, node->call->at, "expected call");
    return parse_macro_body(parse, node, tag, "endcall") ? &node->node : NULL;
}

/* --- block ------------------------------------------------------------------------------- */

/* Required blocks must be empty: children fill them. */
static bool is_blank_body(struct nodes body)
{
    for (uint32_t i = 0; i < body.n; i++) {
        const struct node_data *data = (const struct node_data *)body.p[i];

        if (body.p[i]->kind != NODE_DATA || str_trim(data->text).n > 0)
            return false;
    }
    return true;
}

static bool add_template_block(struct parse *parse, struct node_block *block)
{
    if (parse->blocks.n >= PARSE_BLOCKS_MAX)
        return parse_fail(parse, block->node.at, "more blocks than the limit of %d",
                          PARSE_BLOCKS_MAX);
    VEC_EACH (&parse->blocks, known)
        if ((*known)->name == block->name)
            return parse_fail(parse, block->node.at, "block '%.*s' defined twice",
                              STR_ARG(block->name->text));
    VEC_PUSH_IN(parse->arena, &parse->blocks, block);
    return true;
}

static bool parse_block_head(struct parse *parse, struct node_block *node)
{
    node->name = parse_take_name(parse);
    if (!node->name)
        return false;
    node->scoped = parse_skip_word(parse, "scoped");
    node->required = parse_skip_word(parse, "required");
    if (parse_at(parse, TOKEN_SUB))
        return parse_fail(parse, parse->current.at,
                          "block names have to be valid Python identifiers and may not contain "
                          "hyphens, use an underscore instead");
    return true;
}

static struct node *parse_block(struct parse *parse, struct lex_token tag)
{
    struct node_block *node = PARSE_NODE(parse, NODE_BLOCK, node_block, tag.at);
    uint32_t loops = parse->loops;
    struct uses outer;
    bool ok;

    if (!parse_block_head(parse, node))
        return NULL;
    outer = begin_uses(parse);
    parse->loops = 0;
    ok = parse_whole_body(parse, tag, "endblock", &node->body);
    parse->loops = loops;
    node->uses_self = parse->uses & NAME_SELF;
    node->uses_super = parse->uses & NAME_SUPER;
    parse->uses = outer.uses; /* a block is not part of the body around it */
    parse->hidden = outer.hidden;
    parse->scoped = parse->scoped || node->scoped;
    if (!ok || !add_template_block(parse, node))
        return NULL;
    if (node->required && !is_blank_body(node->body))
        return parse_fail(parse, tag.at, "required blocks can only contain comments or whitespace");
    if (parse_at(parse, TOKEN_NAME) && str_eq(parse->current.text, node->name->text))
        parse_next(parse);
    return &node->node;
}

/* --- the tags ---------------------------------------------------------------------------- */

/* clang-format off */
static const struct parse_tag tags[] = {
    { "autoescape",  parse_autoescape,   "endautoescape" },
    { "block",       parse_block,        "endblock"      },
    { "break",       parse_loop_control, NULL            },
    { "call",        parse_call_block,   "endcall"       },
    { "continue",    parse_loop_control, NULL            },
    { "do",          parse_do,           NULL            },
    { "extends",     parse_extends,      NULL            },
    { "filter",      parse_filter_block, "endfilter"     },
    { "for",         parse_for,          "endfor"        },
    { "from",        parse_from,         NULL            },
    { "if",          parse_if,           "endif"         },
    { "import",      parse_import,       NULL            },
    { "import_json", parse_import,       NULL            },
    { "import_text", parse_import,       NULL            },
    { "import_yaml", parse_import,       NULL            },
    { "include",     parse_include,      NULL            },
    { "load_json",   parse_load,         "endload"       },
    { "load_text",   parse_load,         "endload"       },
    { "load_yaml",   parse_load,         "endload"       },
    { "macro",       parse_macro,        "endmacro"      },
    { "print",       parse_print,        NULL            },
    { "profile",     parse_profile,      "endprofile"    },
    { "set",         parse_set,          "endset"        },
    { "with",        parse_with,         "endwith"       },
};
/* clang-format on */

const struct parse_tag *parse_find_tag(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_is(name, tags[i].name))
            return &tags[i];
    return NULL;
}

struct str parse_suggest_tag(struct str name)
{
    struct suggest best;

    suggest_init(&best, name);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        suggest_offer(&best, str_from(tags[i].name));
        if (tags[i].end)
            suggest_offer(&best, str_from(tags[i].end));
    }
    suggest_offer(&best, STR("else"));
    suggest_offer(&best, STR("elif"));
    suggest_offer(&best, STR("raw"));
    return suggest_best(&best);
}

#include "language/jinja/compile.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "language/jinja/builtins.h"
#include "language/jinja/env.h"
#include "language/jinja/function.h"
#include "language/jinja/name.h"
#include "language/jinja/ops.h"
#include "language/jinja/symbols.h"
#include "language/jinja/template.h"

struct compile {
    struct template *template;
    struct arena *arena;
    struct diags *diags;
    size_t mistakes;
};

/* The place of the walk. */
struct compile_place {
    struct symbols *symbols;
    bool toplevel; /* the body of the template, and `if`s in it: assignments are exported */
    bool soft;     /* in an `if`: unknown filters and tests fail later */
    bool checked;  /* output must ask whether the template extends another */
    bool in_block; /* for templates: names set by outer templates and scopes are visible */
};

static void compile_node(struct compile *c, struct compile_place *frame, struct node *node);

static void compile_nodes(struct compile *c, struct compile_place *frame, struct nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        compile_node(c, frame, nodes.p[i]);
}

static struct compile_place inner_frame(struct compile *c, const struct compile_place *frame,
                                        struct code *code)
{
    return (struct compile_place){
        .symbols = symbols_new(c->arena, frame->symbols, code ? code : frame->symbols->code),
        .checked = frame->checked,
        .in_block = frame->in_block,
    };
}

static struct code *new_code(struct compile *c, const struct compile_place *frame)
{
    struct code *code = ARENA_NEW(c->arena, struct code);

    code->outer = frame->symbols->code;
    for (struct code *outer = code->outer; outer; outer = outer->outer)
        outer->captured = true;
    return code;
}

/* --- expressions ------------------------------------------------------------------------ */

static void complete_name(struct compile *c, const struct compile_place *frame,
                          struct node_name *node)
{
    const struct symbol *symbol = symbols_find(frame->symbols, node->name);

    node->slot = symbols_slot(frame->symbols->code, symbol->code, symbol->slot);
    if (symbol->load == LOAD_RESOLVE && !symbol->stored && !frame->in_block)
        VEC_PUSH_IN(c->arena, &c->template->free_names, node);
}

static void complete_args(struct compile *c, struct compile_place *frame, const struct args *args)
{
    compile_nodes(c, frame, args->places);
    compile_nodes(c, frame, args->named);
    compile_node(c, frame, args->star);
    compile_node(c, frame, args->star_star);
}

static function_tables find_tables(const struct compile *c, bool is_filter)
{
    const struct builtins *builtins = c->template->jinja->options.builtins;

    return !builtins ? NULL : is_filter ? builtins->filters : builtins->tests;
}

static void fail_unknown_call(struct compile *c, const struct node_apply *node, bool is_filter)
{
    const char *kind = is_filter ? "filter" : "test";
    struct str best = builtins_suggest(find_tables(c, is_filter), node->name);

    c->mistakes++;
    diag_add(c->diags, template_diag_place(c->template, node->node.at, c->diags),
             "no %s named '%.*s'", kind, STR_ARG(node->name));
    diag_source(c->diags, c->template->text);
    if (best.p)
        diag_hint(c->diags, "did you mean '%.*s'?", STR_ARG(best));
}

/* Can the arguments be evaluated where the function finds them? */
static bool has_plain_arguments(const struct node_apply *node)
{
    const struct signature *signature = node->signature;
    const uint32_t given = 1 + node->args.places.n;

    return signature && node->value && node->args.named.n == 0 && !node->args.star &&
           !node->args.star_star && signature->bound == signature->count &&
           signature->count <= NODE_PLAIN_MAX && given >= signature->required &&
           given <= signature->count;
}

/* A name that may be missing at a use is not reported there; one that is tested for being defined
 * is reported nowhere. */
static void note_asked(struct compile *c, const struct node_apply *node, bool is_filter)
{
    struct template *template = c->template;
    const size_t n = template->free_names.n;

    if (n == 0 || &template->free_names.p[n - 1]->node != node->value)
        return;
    if (is_filter && (str_is(node->name, "default") || str_is(node->name, "d")))
        template->free_names.n--;
    if (!is_filter && (str_is(node->name, "defined") || str_is(node->name, "undefined")))
        VEC_PUSH_IN(c->arena, &template->asked_names, template->free_names.p[n - 1]->name);
}

static void complete_apply(struct compile *c, struct compile_place *frame, struct node_apply *node)
{
    bool is_filter = node->node.kind == NODE_FILTER;

    node->function = builtins_find(find_tables(c, is_filter), node->name);
    if (node->function)
        node->signature = signatures_get(&c->template->jinja->signatures, node->function);
    else if (!frame->soft)
        fail_unknown_call(c, node, is_filter);
    node->plain = has_plain_arguments(node);
    compile_node(c, frame, node->value);
    note_asked(c, node, is_filter);
    complete_args(c, frame, &node->args);
}

static void complete_cond(struct compile *c, struct compile_place *frame, struct node_cond *node)
{
    struct compile_place soft = *frame;

    if (!node->otherwise)
        node->missing =
            arena_printf(c->arena,
                         "the inline if-expression on line %u in '%s' evaluated to "
                         "false and no else section was defined",
                         template_place(c->template, node->node.at).line, c->template->name);
    soft.soft = true;
    compile_node(c, &soft, node->test);
    compile_node(c, &soft, node->then);
    compile_node(c, &soft, node->otherwise);
}

/* A list of plain constants that nobody can get hold of is made once. `x in [...]`, `for ... in` */
static void fold_list(struct compile *c, struct node **place)
{
    struct node *node = *place;
    const struct node_list *list = (const struct node_list *)node;
    struct node_const *folded;
    struct value_list *values;

    if (node->kind != NODE_LIST && node->kind != NODE_TUPLE)
        return;
    for (uint32_t i = 0; i < list->items.n; i++)
        if (list->items.p[i]->kind != NODE_CONST)
            return;
    values = value_list_new(c->arena, list->items.n);
    for (uint32_t i = 0; i < list->items.n; i++)
        value_list_push(c->arena, values, ((const struct node_const *)list->items.p[i])->value);
    folded = ARENA_NEW(c->arena, struct node_const);
    folded->node = *node;
    folded->node.kind = NODE_CONST;
    folded->value = value_list(values);
    if (node->kind == NODE_TUPLE)
        folded->value.flags |= VALUE_TUPLE;
    *place = &folded->node;
}

static void complete_compare(struct compile *c, struct compile_place *frame,
                             struct node_compare *node)
{
    compile_node(c, frame, node->first);
    compile_nodes(c, frame, node->operands);
    for (uint32_t i = 0; i < node->count; i++)
        if (node->ops[i] == OP_IN || node->ops[i] == OP_NOT_IN)
            fold_list(c, &node->operands.p[i]);
}

static void complete_slice(struct compile *c, struct compile_place *frame,
                           const struct node_slice *node)
{
    compile_node(c, frame, node->value);
    compile_node(c, frame, node->start);
    compile_node(c, frame, node->stop);
    compile_node(c, frame, node->step);
}

/* --- scopes ---------------------------------------------------------------------------------- */

static void complete_if(struct compile *c, struct compile_place *frame, const struct node_if *node)
{
    struct compile_place soft = *frame;

    soft.soft = true;
    for (uint32_t i = 0; i < node->count; i++) {
        compile_node(c, &soft, node->branches[i].test);
        compile_nodes(c, &soft, node->branches[i].body);
    }
    compile_nodes(c, &soft, node->otherwise);
}

static void complete_target(struct compile *c, struct compile_place *frame, struct node *target)
{
    if (target->kind == NODE_NAME) {
        complete_name(c, frame, (struct node_name *)target);
    } else if (target->kind == NODE_MEMBER) {
        complete_name(c, frame, &((struct node_member *)target)->object);
    } else {
        const struct node_list *tuple = (const struct node_list *)target;

        for (uint32_t i = 0; i < tuple->items.n; i++)
            complete_target(c, frame, tuple->items.p[i]);
    }
}

static void complete_loop_test(struct compile *c, const struct compile_place *frame,
                               struct node_for *node)
{
    struct compile_place test = inner_frame(c, frame, node->code);

    compile_names_of_target(test.symbols, node->test_target, NODE_PARAM);
    compile_names_of(test.symbols, node->test);
    complete_target(c, &test, node->test_target);
    compile_node(c, &test, node->test);
    symbols_loads(test.symbols, &node->test_scope);
}

static void complete_for(struct compile *c, struct compile_place *frame, struct node_for *node)
{
    struct compile_place body, otherwise;

    compile_node(c, frame, node->iter);
    fold_list(c, &node->iter);
    if (node->recursive)
        node->code = new_code(c, frame);
    if (node->test)
        complete_loop_test(c, frame, node);

    body = inner_frame(c, frame, node->code);
    node->loop_slot = -1;
    if (node->uses_loop) {
        struct name *loop = names_get(&c->template->jinja->names, STR("loop"));

        node->loop_slot = (int32_t)symbols_param(body.symbols, loop)->slot;
    }
    compile_names_of_target(body.symbols, node->target, NODE_PARAM);
    compile_names_of_all(body.symbols, node->body);
    complete_target(c, &body, node->target);
    compile_nodes(c, &body, node->body);
    symbols_loads(body.symbols, &node->body_scope);

    otherwise = inner_frame(c, frame, node->code);
    compile_names_of_all(otherwise.symbols, node->otherwise);
    compile_nodes(c, &otherwise, node->otherwise);
    symbols_loads(otherwise.symbols, &node->else_scope);
}

static void complete_set_block(struct compile *c, struct compile_place *frame,
                               struct node_set_block *node)
{
    struct compile_place block = inner_frame(c, frame, NULL);

    block.checked = false;
    node->toplevel = frame->toplevel;
    compile_names_of_all(block.symbols, node->body);
    compile_names_of(block.symbols, node->filter);
    compile_nodes(c, &block, node->body);
    compile_node(c, &block, node->filter);
    symbols_loads(block.symbols, &node->scope);
    complete_target(c, frame, node->target);
}

static int32_t special_param(struct compile *c, struct symbols *symbols, bool used, struct str name)
{
    if (!used)
        return -1;
    return (int32_t)symbols_param(symbols, names_get(&c->template->jinja->names, name))->slot;
}

static void complete_macro(struct compile *c, struct compile_place *frame, struct node_macro *node)
{
    struct compile_place body;

    node->code = new_code(c, frame);
    node->toplevel = frame->toplevel;
    body = inner_frame(c, frame, node->code);
    body.checked = false;
    for (uint32_t i = 0; i < node->params.n; i++)
        compile_names_of_target(body.symbols, node->params.p[i], NODE_PARAM);
    node->caller_slot =
        special_param(c, body.symbols, node->uses_caller && !node->explicit_caller, STR("caller"));
    node->kwargs_slot = special_param(c, body.symbols, node->uses_kwargs, STR("kwargs"));
    node->varargs_slot = special_param(c, body.symbols, node->uses_varargs, STR("varargs"));
    compile_names_of_all(body.symbols, node->defaults);
    compile_names_of_all(body.symbols, node->body);
    for (uint32_t i = 0; i < node->params.n; i++)
        complete_target(c, &body, node->params.p[i]);
    compile_nodes(c, &body, node->defaults);
    compile_nodes(c, &body, node->body);
    symbols_loads(body.symbols, &node->scope);
    if (node->target)
        complete_name(c, frame, node->target);
    compile_node(c, frame, node->call);
}

static void complete_filter_block(struct compile *c, struct compile_place *frame,
                                  struct node_filter_block *node)
{
    struct compile_place block = inner_frame(c, frame, NULL);

    compile_names_of_all(block.symbols, node->body);
    compile_names_of(block.symbols, node->filter);
    compile_nodes(c, &block, node->body);
    compile_node(c, &block, node->filter);
    symbols_loads(block.symbols, &node->scope);
}

static void complete_with(struct compile *c, struct compile_place *frame, struct node_with *node)
{
    struct compile_place block = inner_frame(c, frame, NULL);

    for (uint32_t i = 0; i < node->targets.n; i++)
        compile_names_of_target(block.symbols, node->targets.p[i], NODE_PARAM);
    compile_names_of_all(block.symbols, node->body);
    for (uint32_t i = 0; i < node->targets.n; i++)
        complete_target(c, &block, node->targets.p[i]);
    compile_nodes(c, frame, node->values);
    compile_nodes(c, &block, node->body);
    symbols_loads(block.symbols, &node->scope);
}

static void complete_autoescape(struct compile *c, struct compile_place *frame,
                                struct node_autoescape *node)
{
    struct compile_place block = inner_frame(c, frame, NULL);

    compile_names_of(block.symbols, node->value);
    compile_names_of_all(block.symbols, node->body);
    compile_node(c, &block, node->value);
    compile_nodes(c, &block, node->body);
    symbols_loads(block.symbols, &node->scope);
}

/* Blocks know the context, not the scope around them. */
static void complete_block_body(struct compile *c, struct node_block *node)
{
    struct compile_place frame = { .in_block = true };

    node->code = ARENA_NEW(c->arena, struct code);
    frame.symbols = symbols_new(c->arena, NULL, node->code);
    node->self_slot = special_param(c, frame.symbols, node->uses_self, STR("self"));
    node->super_slot = special_param(c, frame.symbols, node->uses_super, STR("super"));
    compile_names_of_all(frame.symbols, node->body);
    compile_nodes(c, &frame, node->body);
    symbols_loads(frame.symbols, &node->scope);
}

/* --- other templates --------------------------------------------------------------------- */

static void complete_include(struct compile *c, struct compile_place *frame,
                             struct node_include *node)
{
    compile_node(c, frame, node->template);
    if (node->with_context)
        symbols_locals(frame->symbols, &node->locals);
}

static void complete_import(struct compile *c, struct compile_place *frame,
                            struct node_import *node)
{
    compile_node(c, frame, node->template);
    complete_name(c, frame, node->target);
    node->toplevel = frame->toplevel;
    if (node->with_context)
        symbols_locals(frame->symbols, &node->locals);
}

static void complete_from(struct compile *c, struct compile_place *frame, struct node_from *node)
{
    compile_node(c, frame, node->template);
    for (uint32_t i = 0; i < node->count; i++)
        complete_name(c, frame, node->targets[i]);
    node->toplevel = frame->toplevel;
    if (node->with_context)
        symbols_locals(frame->symbols, &node->locals);
}

static void complete_extends(struct compile *c, struct compile_place *frame,
                             const struct node_unary *node)
{
    compile_node(c, frame, node->operand);
    if (frame->toplevel)
        return;
    c->mistakes++;
    diag_add(c->diags, template_diag_place(c->template, node->node.at, c->diags),
             "cannot use extend from a non top-level scope");
    diag_source(c->diags, c->template->text);
}

/* --- the walk ---------------------------------------------------------------------------- */

static bool complete_expression(struct compile *c, struct compile_place *frame, struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_CONST: return true;
    case NODE_NAME: complete_name(c, frame, (struct node_name *)node); return true;
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_CONCAT: compile_nodes(c, frame, ((const struct node_list *)node)->items); return true;
    case NODE_DICT:
        compile_nodes(c, frame, ((const struct node_dict *)node)->keys);
        compile_nodes(c, frame, ((const struct node_dict *)node)->values);
        return true;
    case NODE_NOT:
    case NODE_UNARY:
    case NODE_DO: compile_node(c, frame, ((const struct node_unary *)node)->operand); return true;
    case NODE_BINARY:
    case NODE_AND:
    case NODE_OR:
    case NODE_ITEM:
        compile_node(c, frame, ((const struct node_binary *)node)->left);
        compile_node(c, frame, ((const struct node_binary *)node)->right);
        return true;
    case NODE_COMPARE: complete_compare(c, frame, (struct node_compare *)node); return true;
    case NODE_ATTRIBUTE:
        compile_node(c, frame, ((const struct node_attribute *)node)->value);
        return true;
    case NODE_SLICE: complete_slice(c, frame, (const struct node_slice *)node); return true;
    case NODE_CALL:
        compile_node(c, frame, ((const struct node_call *)node)->callee);
        complete_args(c, frame, &((const struct node_call *)node)->args);
        return true;
    case NODE_FILTER:
    case NODE_TEST: complete_apply(c, frame, (struct node_apply *)node); return true;
    case NODE_COND: complete_cond(c, frame, (struct node_cond *)node); return true;
    default: return false;
    }
}

static void complete_set(struct compile *c, struct compile_place *frame, struct node_set *node)
{
    compile_node(c, frame, node->value);
    complete_target(c, frame, node->target);
    node->toplevel = frame->toplevel;
}

static void complete_block(const struct compile_place *frame, struct node_block *node)
{
    node->toplevel = frame->toplevel;
    if (node->scoped)
        symbols_locals(frame->symbols, &node->locals);
}

static void complete_statement(struct compile *c, struct compile_place *frame, struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_DATA: ((struct node_data *)node)->checked = frame->checked; break;
    case NODE_PRINT:
        ((struct node_unary *)node)->checked = frame->checked;
        compile_node(c, frame, ((const struct node_unary *)node)->operand);
        break;
    case NODE_IF: complete_if(c, frame, (const struct node_if *)node); break;
    case NODE_FOR: complete_for(c, frame, (struct node_for *)node); break;
    case NODE_SET: complete_set(c, frame, (struct node_set *)node); break;
    case NODE_SET_BLOCK: complete_set_block(c, frame, (struct node_set_block *)node); break;
    case NODE_MACRO:
    case NODE_CALL_BLOCK: complete_macro(c, frame, (struct node_macro *)node); break;
    case NODE_FILTER_BLOCK:
        complete_filter_block(c, frame, (struct node_filter_block *)node);
        break;
    case NODE_WITH: complete_with(c, frame, (struct node_with *)node); break;
    case NODE_INCLUDE: complete_include(c, frame, (struct node_include *)node); break;
    case NODE_IMPORT: complete_import(c, frame, (struct node_import *)node); break;
    case NODE_FROM: complete_from(c, frame, (struct node_from *)node); break;
    case NODE_EXTENDS: complete_extends(c, frame, (const struct node_unary *)node); break;
    case NODE_BLOCK: complete_block(frame, (struct node_block *)node); break;
    case NODE_AUTOESCAPE: complete_autoescape(c, frame, (struct node_autoescape *)node); break;
    default: break;
    }
}

static void compile_node(struct compile *c, struct compile_place *frame, struct node *node)
{
    if (node && !complete_expression(c, frame, node))
        complete_statement(c, frame, node);
}

int compile_template(struct template *template, struct diags *diags)
{
    struct compile c = { .template = template, .arena = &template->arena, .diags = diags };
    struct compile_place frame = { .toplevel = true, .checked = template->has_extends };

    frame.symbols = symbols_new(c.arena, NULL, &template->code);
    template->self_slot = special_param(&c, frame.symbols, template->uses_self, STR("self"));
    compile_names_of_all(frame.symbols, template->body);
    compile_nodes(&c, &frame, template->body);
    symbols_loads(frame.symbols, &template->scope);
    for (size_t i = 0; i < template->block_count; i++)
        complete_block_body(&c, template->blocks[i]);
    return c.mistakes > 0 ? -1 : 0;
}

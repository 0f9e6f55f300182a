#include "language/jinja/compile.h"
#include "language/jinja/symbols.h"

#define BRANCHES 3 /* Jinja2 sees an `if` as: body, all of its elifs, else */

static void names_of_args(struct symbols *symbols, const struct args *args)
{
    compile_names_of_all(symbols, args->places);
    compile_names_of_all(symbols, args->named);
    compile_names_of(symbols, args->star);
    compile_names_of(symbols, args->star_star);
}

void compile_names_of_all(struct symbols *symbols, struct nodes nodes)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        compile_names_of(symbols, nodes.p[i]);
}

void compile_names_of_target(struct symbols *symbols, const struct node *target, enum node_use use)
{
    if (target->kind == NODE_TUPLE) {
        const struct node_list *tuple = (const struct node_list *)target;

        for (uint32_t i = 0; i < tuple->items.n; i++)
            compile_names_of_target(symbols, tuple->items.p[i], use);
    } else if (target->kind == NODE_MEMBER) {
        symbols_load(symbols, ((const struct node_member *)target)->object.name);
    } else if (use == NODE_PARAM) {
        symbols_param(symbols, ((const struct node_name *)target)->name);
    } else {
        symbols_store(symbols, ((const struct node_name *)target)->name);
    }
}

static void names_of_if(struct symbols *symbols, const struct node_if *node)
{
    struct symbols *branches[BRANCHES];

    if (node->count > 0)
        compile_names_of(symbols, node->branches[0].test);
    for (size_t i = 0; i < BRANCHES; i++)
        branches[i] = symbols_branch(symbols);
    if (node->count > 0)
        compile_names_of_all(branches[0], node->branches[0].body);
    /* each elif is a separate `if` inside the second branch */
    for (uint32_t i = 1; i < node->count; i++) {
        const struct node_if elif = {
            .node = node->node,
            .count = 1,
            .branches = &node->branches[i],
        };

        names_of_if(branches[1], &elif);
    }
    compile_names_of_all(branches[2], node->otherwise);
    symbols_join(symbols, branches, BRANCHES);
}

static void names_of_compare(struct symbols *symbols, const struct node_compare *node)
{
    compile_names_of(symbols, node->first);
    compile_names_of_all(symbols, node->operands);
}

static void names_of_slice(struct symbols *symbols, const struct node_slice *node)
{
    compile_names_of(symbols, node->value);
    compile_names_of(symbols, node->start);
    compile_names_of(symbols, node->stop);
    compile_names_of(symbols, node->step);
}

static void names_of_cond(struct symbols *symbols, const struct node_cond *node)
{
    compile_names_of(symbols, node->test);
    compile_names_of(symbols, node->then);
    compile_names_of(symbols, node->otherwise);
}

static void names_of_from(struct symbols *symbols, const struct node_from *node)
{
    compile_names_of(symbols, node->template);
    for (uint32_t i = 0; i < node->count; i++)
        symbols_store(symbols, node->targets[i]->name);
}

static bool names_of_expression(struct symbols *symbols, const struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_CONST: return true;
    case NODE_NAME: symbols_load(symbols, ((const struct node_name *)node)->name); return true;
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_CONCAT:
        compile_names_of_all(symbols, ((const struct node_list *)node)->items);
        return true;
    case NODE_DICT:
        compile_names_of_all(symbols, ((const struct node_dict *)node)->keys);
        compile_names_of_all(symbols, ((const struct node_dict *)node)->values);
        return true;
    case NODE_NOT:
    case NODE_UNARY:
    case NODE_PRINT:
    case NODE_DO:
    case NODE_EXTENDS:
        compile_names_of(symbols, ((const struct node_unary *)node)->operand);
        return true;
    case NODE_BINARY:
    case NODE_AND:
    case NODE_OR:
    case NODE_ITEM:
        compile_names_of(symbols, ((const struct node_binary *)node)->left);
        compile_names_of(symbols, ((const struct node_binary *)node)->right);
        return true;
    case NODE_COMPARE: names_of_compare(symbols, (const struct node_compare *)node); return true;
    case NODE_ATTRIBUTE:
        compile_names_of(symbols, ((const struct node_attribute *)node)->value);
        return true;
    case NODE_SLICE: names_of_slice(symbols, (const struct node_slice *)node); return true;
    case NODE_CALL:
        compile_names_of(symbols, ((const struct node_call *)node)->callee);
        names_of_args(symbols, &((const struct node_call *)node)->args);
        return true;
    case NODE_FILTER:
    case NODE_TEST:
        compile_names_of(symbols, ((const struct node_apply *)node)->value);
        names_of_args(symbols, &((const struct node_apply *)node)->args);
        return true;
    case NODE_COND: names_of_cond(symbols, (const struct node_cond *)node); return true;
    default: return false;
    }
}

static void names_of_statement(struct symbols *symbols, const struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_IF: names_of_if(symbols, (const struct node_if *)node); break;
    case NODE_FOR: compile_names_of(symbols, ((const struct node_for *)node)->iter); break;
    case NODE_SET:
        compile_names_of(symbols, ((const struct node_set *)node)->value);
        compile_names_of_target(symbols, ((const struct node_set *)node)->target, NODE_STORE);
        break;
    case NODE_SET_BLOCK:
        compile_names_of_target(symbols, ((const struct node_set_block *)node)->target, NODE_STORE);
        break;
    case NODE_MACRO: symbols_store(symbols, ((const struct node_macro *)node)->name); break;
    case NODE_CALL_BLOCK: compile_names_of(symbols, ((const struct node_macro *)node)->call); break;
    case NODE_FILTER_BLOCK:
        compile_names_of(symbols, ((const struct node_filter_block *)node)->filter);
        break;
    case NODE_WITH: compile_names_of_all(symbols, ((const struct node_with *)node)->values); break;
    case NODE_INCLUDE:
        compile_names_of(symbols, ((const struct node_include *)node)->template);
        break;
    case NODE_IMPORT:
        compile_names_of(symbols, ((const struct node_import *)node)->template);
        symbols_store(symbols, ((const struct node_import *)node)->target->name);
        break;
    case NODE_FROM: names_of_from(symbols, (const struct node_from *)node); break;
    default: /* data, blocks and autoescape: nothing of this scope */ break;
    }
}

void compile_names_of(struct symbols *symbols, const struct node *node)
{
    if (node && !names_of_expression(symbols, node))
        names_of_statement(symbols, node);
}

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/context.h"
#include "language/jinja/env.h"
#include "language/jinja/eval.h"
#include "language/jinja/ops.h"
#include "language/jinja/template.h"
#include "language/jinja/trace.h"

/* --- functions and scopes ----------------------------------------------------------------- */

struct eval *eval_of(struct render *render)
{
    return container_of(render, struct eval, render);
}

void eval_activate(struct eval *eval, const struct code *code, struct activation *outer)
{
    struct activation *activation = arena_alloc(
        eval->render.arena, sizeof(struct activation) + code->slots * sizeof(struct value));

    activation->outer = outer;
    for (uint32_t i = 0; i < code->slots; i++)
        activation->slots[i] = value_absent();
    eval->now.activation = activation;
    eval->now.code = code;
}

void eval_enter(struct eval *eval, const struct scope *scope)
{
    struct value *slots = eval->now.activation->slots;

    for (uint32_t i = 0; i < scope->count; i++) {
        const struct load_step *load = &scope->loads[i];

        switch ((enum load_kind)load->kind) {
        case LOAD_RESOLVE:
            slots[load->to] = context_find(eval, eval->now.context, load->name);
            break;
        case LOAD_ALIAS: slots[load->to] = *eval_slot(eval, load->from); break;
        default: slots[load->to] = value_absent(); break;
        }
    }
}

void eval_exit(struct eval *eval, const struct scope *scope)
{
    if (!eval->now.code->captured)
        return;
    for (uint32_t i = 0; i < scope->count; i++)
        eval->now.activation->slots[scope->loads[i].to] = value_absent();
}

struct running eval_save(const struct eval *eval)
{
    return eval->now;
}

void eval_return(struct eval *eval, struct running saved, uint32_t at)
{
    eval->now = saved;
    eval->render.template = saved.template;
    eval->render.autoescape = saved.autoescape;
    eval->render.at = at;
}

/* --- text ------------------------------------------------------------------------------------ */

static int check_output_size(struct eval *eval)
{
    if (!eval->out->full)
        return 0;
    return render_fail(&eval->render, RENDER_LIMIT,
                       "the output is larger than the limit of %zu bytes",
                       eval->render.options->limits.output_bytes);
}

struct value eval_capture(struct eval *eval, size_t start, bool safe)
{
    struct str text = str_from_offset(buf_view(eval->out), start);
    struct value value = value_str(arena_str(eval->render.arena, text));

    if (eval->trace)
        trace_cut(eval->trace, start);
    buf_cut(eval->out, start);
    if (safe)
        value.flags |= VALUE_SAFE;
    return value;
}

int eval_write_text(struct eval *eval, const struct value *value)
{
    if (value->kind != VALUE_STR) {
        if (undefined_check(&eval->render, value) < 0)
            return -1;
        return render_fail(&eval->render, RENDER_TYPE, "expected str instance, %s found",
                           op_type_name(value));
    }
    buf_add_str(eval->out, value->s);
    return check_output_size(eval);
}

static int eval_print(struct eval *eval, const struct node_unary *node)
{
    const struct value *value;
    struct value room;

    if (node->checked && *eval->now.parent)
        return 0;
    value = eval_reference(eval, node->operand, &room);
    if (!value)
        return -1;
    if (value->kind == VALUE_STR && !eval->now.autoescape) {
        buf_add_str(eval->out, value->s);
    } else {
        eval->render.at = node->operand->at;
        if (op_output(&eval->render, value, eval->out) < 0)
            return -1;
    }
    return check_output_size(eval);
}

static int eval_data(struct eval *eval, const struct node_data *node)
{
    if (node->checked && *eval->now.parent)
        return 0;
    if (eval->trace)
        trace_add(eval->trace, eval->out->n, eval->now.template,
                  (uint32_t)(node->text.p - eval->now.template->text.p), node->text.n);
    buf_add_str(eval->out, node->text);
    return check_output_size(eval);
}

/* --- assignments ------------------------------------------------------------------------------ */

static int unpack_tuple(struct eval *eval, const struct node_list *tuple, const struct value *value)
{
    const struct value_list *list;

    eval->render.at = tuple->node.at;
    if (op_list(&eval->render, value, &list) < 0)
        return -1;
    if (list->count < tuple->items.n)
        return render_fail(&eval->render, RENDER_TYPE,
                           "not enough values to unpack (expected %u, got %zu)", tuple->items.n,
                           list->count);
    if (list->count > tuple->items.n)
        return render_fail(&eval->render, RENDER_TYPE, "too many values to unpack (expected %u)",
                           tuple->items.n);
    for (uint32_t i = 0; i < tuple->items.n; i++)
        if (eval_assign(eval, tuple->items.p[i], &list->items[i]) < 0)
            return -1;
    return 0;
}

static int assign_member(struct eval *eval, const struct node_member *member,
                         const struct value *value)
{
    const struct value *object = eval_slot(eval, member->object.slot);

    eval->render.at = member->node.at;
    if (object->kind != VALUE_OBJECT || !object->object || !object->object->type->set)
        return render_fail(&eval->render, RENDER_TYPE,
                           "cannot assign attribute on non-namespace object");
    return object->object->type->set(&eval->render, object->object, member->name->text, *value);
}

int eval_assign(struct eval *eval, const struct node *target, const struct value *value)
{
    if (target->kind == NODE_NAME) {
        *eval_slot(eval, ((const struct node_name *)target)->slot) = *value;
        return 0;
    }
    if (target->kind == NODE_MEMBER)
        return assign_member(eval, (const struct node_member *)target, value);
    return unpack_tuple(eval, (const struct node_list *)target, value);
}

static void export_target(struct eval *eval, const struct node *target)
{
    if (target->kind == NODE_NAME) {
        const struct node_name *node = (const struct node_name *)target;

        context_set(eval, eval->now.context, node->name, *eval_slot(eval, node->slot), true);
    } else if (target->kind == NODE_TUPLE) {
        const struct node_list *tuple = (const struct node_list *)target;

        for (uint32_t i = 0; i < tuple->items.n; i++)
            export_target(eval, tuple->items.p[i]);
    }
}

int eval_assign_toplevel(struct eval *eval, const struct node *target, const struct value *value)
{
    if (eval_assign(eval, target, value) < 0)
        return -1;
    export_target(eval, target);
    return 0;
}

static int eval_set(struct eval *eval, const struct node_set *node)
{
    struct value value;

    if (eval_expression(eval, node->value, &value) < 0)
        return -1;
    return node->toplevel ? eval_assign_toplevel(eval, node->target, &value)
                          : eval_assign(eval, node->target, &value);
}

/* A filter whose innermost value is the text of a block. */
static int filter_text(struct eval *eval, const struct node *filter, struct str text,
                       struct value *ret)
{
    struct str outer = eval->captured;
    int rc;

    eval->captured = text;
    rc = eval_expression(eval, filter, ret);
    eval->captured = outer;
    return rc;
}

/* The output of a body, as a text. Not 0: it failed or left early, and its output is gone. */
static int capture_body(struct eval *eval, struct nodes body, bool safe, struct value *ret)
{
    size_t start = eval->out->n;
    int rc = eval_body(eval, body);

    if (rc != 0)
        buf_cut(eval->out, start);
    else
        *ret = eval_capture(eval, start, safe);
    return rc;
}

static int eval_set_block(struct eval *eval, const struct node_set_block *node)
{
    struct value value;
    int rc;

    eval_enter(eval, &node->scope);
    rc = capture_body(eval, node->body, eval->now.autoescape, &value);
    if (rc != 0)
        return rc;
    if (node->filter && filter_text(eval, node->filter, value.s, &value) < 0)
        return -1;
    eval->render.at = node->node.at;
    if (node->load && eval_decode(eval, (enum decode)node->decode, NULL, &value, &value) < 0)
        return -1;
    if (value.kind == VALUE_STR && eval->now.autoescape)
        value.flags |= VALUE_SAFE;
    eval_exit(eval, &node->scope);
    return node->toplevel ? eval_assign_toplevel(eval, node->target, &value)
                          : eval_assign(eval, node->target, &value);
}

/* --- blocks of statements ---------------------------------------------------------------- */

static int eval_if(struct eval *eval, const struct node_if *node)
{
    bool truth;

    for (uint32_t i = 0; i < node->count; i++) {
        if (eval_truth(eval, node->branches[i].test, &truth) < 0)
            return -1;
        if (truth)
            return eval_body(eval, node->branches[i].body);
    }
    return eval_body(eval, node->otherwise);
}

static int eval_filter_block(struct eval *eval, const struct node_filter_block *node)
{
    struct value value;
    int rc;

    eval_enter(eval, &node->scope);
    rc = capture_body(eval, node->body, false, &value);
    if (rc != 0)
        return rc;
    if (filter_text(eval, node->filter, value.s, &value) < 0)
        return -1;
    eval->render.at = node->node.at;
    eval_exit(eval, &node->scope);
    return eval_write_text(eval, &value);
}

/* Values belong to the outer scope, so all of them come before the first name changes. */
static int eval_with(struct eval *eval, const struct node_with *node)
{
    struct value *values = ARENA_ARRAY(eval->render.arena, struct value, node->values.n);
    int rc;

    eval_enter(eval, &node->scope);
    for (uint32_t i = 0; i < node->values.n; i++)
        if (eval_expression(eval, node->values.p[i], &values[i]) < 0)
            return -1;
    for (uint32_t i = 0; i < node->targets.n; i++)
        if (eval_assign(eval, node->targets.p[i], &values[i]) < 0)
            return -1;
    rc = eval_body(eval, node->body);
    eval_exit(eval, &node->scope);
    return rc;
}

static int eval_autoescape(struct eval *eval, const struct node_autoescape *node)
{
    bool outer = eval->now.autoescape, truth;
    int rc;

    eval_enter(eval, &node->scope);
    if (eval_truth(eval, node->value, &truth) < 0)
        return -1;
    eval->now.autoescape = eval->render.autoescape = truth;
    rc = eval_body(eval, node->body);
    eval->now.autoescape = eval->render.autoescape = outer;
    return rc;
}

static int eval_do(struct eval *eval, const struct node_unary *node)
{
    struct value ignored;

    return eval_expression(eval, node->operand, &ignored);
}

static int eval_statement(struct eval *eval, const struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_DATA: return eval_data(eval, (const struct node_data *)node);
    case NODE_PRINT: return eval_print(eval, (const struct node_unary *)node);
    case NODE_IF: return eval_if(eval, (const struct node_if *)node);
    case NODE_FOR: return eval_for(eval, (const struct node_for *)node);
    case NODE_SET: return eval_set(eval, (const struct node_set *)node);
    case NODE_SET_BLOCK: return eval_set_block(eval, (const struct node_set_block *)node);
    case NODE_MACRO: return eval_macro(eval, (const struct node_macro *)node);
    case NODE_CALL_BLOCK: return eval_call_block(eval, (const struct node_macro *)node);
    case NODE_FILTER_BLOCK: return eval_filter_block(eval, (const struct node_filter_block *)node);
    case NODE_WITH: return eval_with(eval, (const struct node_with *)node);
    case NODE_INCLUDE: return eval_include(eval, (const struct node_include *)node);
    case NODE_IMPORT: return eval_import(eval, (const struct node_import *)node);
    case NODE_FROM: return eval_from(eval, (const struct node_from *)node);
    case NODE_EXTENDS: return eval_extends(eval, (const struct node_unary *)node);
    case NODE_BLOCK: return eval_block(eval, (const struct node_block *)node);
    case NODE_DO: return eval_do(eval, (const struct node_unary *)node);
    case NODE_AUTOESCAPE: return eval_autoescape(eval, (const struct node_autoescape *)node);
    case NODE_BREAK: return EVAL_BREAK;
    case NODE_CONTINUE: return EVAL_CONTINUE;
    default: return eval_expression(eval, node, &(struct value){ 0 });
    }
}

int eval_body(struct eval *eval, struct nodes body)
{
    int rc = 0;

    if (eval_descend(eval) < 0)
        return -1;
    for (uint32_t i = 0; i < body.n && rc == 0; i++)
        rc = eval_statement(eval, body.p[i]);
    eval_ascend(eval);
    return rc;
}

/* --- templates --------------------------------------------------------------------------- */

static int run_one(struct eval *eval, const struct template *template,
                   const struct template **parent)
{
    struct value *slots;

    eval->now.template = eval->render.template = template;
    eval->now.parent = parent;
    eval->now.autoescape = eval->render.autoescape = eval->render.options->autoescape;
    eval_activate(eval, &template->code, NULL);
    slots = eval->now.activation->slots;
    if (template->self_slot >= 0)
        slots[template->self_slot] = eval_self(eval);
    eval_enter(eval, &template->scope);
    return eval_body(eval, template->body);
}

int eval_template(struct eval *eval, const struct template *template)
{
    struct running saved = eval_save(eval);
    uint32_t at = eval->render.at, entered = 0;
    int rc = 0;

    while (template && rc == 0) {
        /* not on the stack: a loop that outlives its template still refers to it */
        const struct template **parent = arena_zalloc(eval->render.arena, sizeof(*parent));

        rc = render_enter(&eval->render);
        if (rc == 0) {
            entered++;
            rc = run_one(eval, template, parent);
        }
        template = *parent;
    }
    while (entered-- > 0)
        render_leave(&eval->render);
    eval_return(eval, saved, at);
    return rc;
}

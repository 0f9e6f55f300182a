/*
 * {% extends %}, {% block %}, `super()` and `self`. A context keeps a stack of blocks for each
 * name: the child's first, then those of its parents. The body of the outermost parent places a
 * block; the first of its stack runs there.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "language/jinja/context.h"
#include "language/jinja/eval.h"
#include "language/jinja/name.h"
#include "language/jinja/template.h"

struct block_object {
    struct object object;
    struct context *context;
    const struct block_stack *stack;
    size_t depth;
};

static struct value block_value(struct eval *eval, struct context *context,
                                const struct block_stack *stack, size_t depth);

/* --- running ---------------------------------------------------------------------------- */

/* `super` of the running block: the next of its stack. */
static struct value make_super(struct eval *eval, const struct block_stack *stack, size_t depth)
{
    if (depth + 1 < stack->refs.n)
        return block_value(eval, eval->now.context, stack, depth + 1);
    return undefined_because(&eval->render, false,
                             arena_printf(eval->render.arena, "no parent block called '%.*s'",
                                          STR_ARG(stack->name->text)));
}

static int run_block(struct eval *eval, struct context *context, const struct block_stack *stack,
                     size_t depth)
{
    const struct block_ref *ref = &stack->refs.p[depth];
    struct running saved = eval_save(eval);
    uint32_t at = eval->render.at;
    struct value *slots;
    int rc;

    if (render_enter(&eval->render) < 0)
        return -1;
    eval->now.context = context;
    eval->now.template = eval->render.template = ref->template;
    eval->now.parent = NULL; /* no block uses it */
    eval->now.autoescape = eval->render.autoescape = eval->render.options->autoescape;
    eval_activate(eval, ref->block->code, NULL);
    slots = eval->now.activation->slots;
    if (ref->block->self_slot >= 0)
        slots[ref->block->self_slot] = eval_self(eval);
    if (ref->block->super_slot >= 0)
        slots[ref->block->super_slot] = make_super(eval, stack, depth);
    eval_enter(eval, &ref->block->scope);
    rc = eval_body(eval, ref->block->body);
    eval_return(eval, saved, at);
    render_leave(&eval->render);
    if (rc < 0)
        render_note(&eval->render, "in block '%.*s'", STR_ARG(stack->name->text));
    return rc;
}

int eval_block(struct eval *eval, const struct node_block *node)
{
    struct context *context = eval->now.context;
    const struct block_stack *stack;

    if (node->toplevel && *eval->now.parent)
        return 0;
    eval->render.at = node->node.at;
    stack = context_find_blocks(context, node->name);
    if (node->required && stack->refs.n <= 1)
        return render_fail(&eval->render, RENDER_NOT_FOUND, "required block '%.*s' not found",
                           STR_ARG(node->name->text));
    if (node->scoped) {
        context = context_derive(eval, context, &node->locals);
        context->blocks.p = eval->now.context->blocks.p;
        context->blocks.n = eval->now.context->blocks.n;
        context->blocks.cap = eval->now.context->blocks.n;
    }
    return run_block(eval, context, stack, 0);
}

int eval_extends(struct eval *eval, const struct node_unary *node)
{
    const struct template *parent;
    struct value name;

    eval->render.at = node->node.at;
    if (*eval->now.parent)
        return render_fail(&eval->render, RENDER_TYPE, "extended multiple times");
    if (eval_expression(eval, node->operand, &name) < 0)
        return -1;
    eval->render.at = node->node.at;
    if (eval_load(eval, &name, &parent) < 0)
        return -1;
    context_add_blocks(eval, eval->now.context, parent);
    *eval->now.parent = parent;
    return 0;
}

/* --- super() and self.name() -------------------------------------------------------------- */

static int block_call(struct render *render, struct object *object,
                      const struct function_call *call, struct value *ret)
{
    const struct block_object *block = (const struct block_object *)object;
    struct eval *eval = eval_of(render);
    size_t start = eval->out->n;

    if (call->count > 0 || call->named_count > 0)
        return render_fail(render, RENDER_TYPE, "a block takes no arguments");
    if (run_block(eval, block->context, block->stack, block->depth) < 0)
        return -1;
    *ret = eval_capture(eval, start, eval->now.autoescape);
    return 0;
}

static int block_get(struct render *render, struct object *object, struct str name,
                     struct value *ret, bool *ret_found)
{
    const struct block_object *block = (const struct block_object *)object;

    *ret_found = str_is(name, "super") || str_is(name, "name");
    if (str_is(name, "name"))
        *ret = value_str(block->stack->name->text);
    else if (*ret_found)
        *ret = make_super(eval_of(render), block->stack, block->depth);
    return 0;
}

static int block_print(struct render *render, struct object *object, struct buf *out)
{
    (void)render;
    buf_printf(out, "<BlockReference '%.*s'>",
               STR_ARG(((const struct block_object *)object)->stack->name->text));
    return 0;
}

static const struct object_type block_type = {
    .name = "BlockReference",
    .get = block_get,
    .call = block_call,
    .print = block_print,
};

static struct value block_value(struct eval *eval, struct context *context,
                                const struct block_stack *stack, size_t depth)
{
    struct block_object *block = ARENA_NEW(eval->render.arena, struct block_object);

    block->object.type = &block_type;
    block->context = context;
    block->stack = stack;
    block->depth = depth;
    return object_value(&block->object);
}

struct self_object {
    struct object object;
    struct context *context;
    const struct template *template;
};

static int self_get(struct render *render, struct object *object, struct str name,
                    struct value *ret, bool *ret_found)
{
    struct context *context = ((const struct self_object *)object)->context;

    *ret_found = false;
    for (size_t i = 0; i < context->blocks.n; i++)
        if (str_eq(context->blocks.p[i]->name->text, name)) {
            *ret = block_value(eval_of(render), context, context->blocks.p[i], 0);
            *ret_found = true;
        }
    return 0;
}

static int self_item(struct render *render, struct object *object, const struct value *key,
                     struct value *ret, bool *ret_found)
{
    *ret_found = false;
    return key->kind == VALUE_STR ? self_get(render, object, key->s, ret, ret_found) : 0;
}

static int self_print(struct render *render, struct object *object, struct buf *out)
{
    (void)render;
    buf_printf(out, "<TemplateReference '%s'>",
               ((const struct self_object *)object)->template->name);
    return 0;
}

static const struct object_type self_type = {
    .name = "TemplateReference",
    .get = self_get,
    .item = self_item,
    .print = self_print,
};

struct value eval_self(struct eval *eval)
{
    struct self_object *self = ARENA_NEW(eval->render.arena, struct self_object);

    self->object.type = &self_type;
    self->context = eval->now.context;
    self->template = eval->now.template;
    return object_value(&self->object);
}

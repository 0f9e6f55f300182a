/*
 * {% macro %} and {% call %}. A macro is a function over the variables around its definition; it
 * sees their values at the time of the call. Its output becomes its value, safe when the caller
 * escapes.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/context.h"
#include "language/jinja/eval.h"
#include "language/jinja/name.h"

struct macro {
    struct object object;
    const struct node_macro *node;
    struct running home; /* the scope of its definition */
};

static const char *macro_name(const struct macro *macro)
{
    return macro->node->name ? macro->node->name->text.p : "None";
}

static struct str param_name(const struct node_macro *node, uint32_t i)
{
    return ((const struct node_name *)node->params.p[i])->name->text;
}

/* --- binding --------------------------------------------------------------------------- */

/* The named arguments that no parameter took. */
struct leftover {
    const struct value_pair *pairs;
    size_t count;
    bool *taken;
};

static const struct value *take_named(struct leftover *left, struct str name)
{
    for (size_t i = 0; i < left->count; i++)
        if (!left->taken[i] && str_eq(left->pairs[i].key.s, name)) {
            left->taken[i] = true;
            return &left->pairs[i].value;
        }
    return NULL;
}

static struct value *param_slot(struct eval *eval, const struct node_macro *node, uint32_t i)
{
    return &eval->now.activation->slots[((const struct node_name *)node->params.p[i])->slot.slot];
}

static void bind_params(struct eval *eval, const struct macro *macro,
                        const struct function_call *call, struct leftover *left)
{
    const struct node_macro *node = macro->node;

    for (uint32_t i = 0; i < node->params.n; i++) {
        const struct value *given =
            i < call->count ? &call->args[i] : take_named(left, param_name(node, i));

        *param_slot(eval, node, i) = given ? *given : value_absent();
    }
}

static void bind_caller(struct eval *eval, const struct macro *macro, struct leftover *left)
{
    const struct value *caller;

    if (macro->node->caller_slot < 0)
        return;
    caller = take_named(left, STR("caller"));
    if (caller && caller->kind == VALUE_NULL)
        caller = NULL;
    eval->now.activation->slots[macro->node->caller_slot] =
        caller ? *caller : undefined_because(&eval->render, false, "no caller defined");
}

static int bind_kwargs(struct eval *eval, const struct macro *macro, const struct leftover *left)
{
    struct value_map *kwargs = NULL;

    if (macro->node->kwargs_slot >= 0) {
        kwargs = container_new_map(&eval->render, left->count);
        eval->now.activation->slots[macro->node->kwargs_slot] = value_map(kwargs);
    }
    for (size_t i = 0; i < left->count; i++) {
        const struct value_pair *pair = &left->pairs[i];

        if (left->taken[i])
            continue;
        if (kwargs)
            value_map_set(eval->render.arena, kwargs, pair->key, pair->value);
        else if (str_is(pair->key.s, "caller"))
            return render_fail(&eval->render, RENDER_TYPE,
                               "macro '%s' was invoked with two values for the special caller "
                               "argument",
                               macro_name(macro));
        else
            return render_fail(&eval->render, RENDER_TYPE,
                               "macro '%s' takes no keyword argument '%.*s'", macro_name(macro),
                               STR_ARG(pair->key.s));
    }
    return 0;
}

static int bind_varargs(struct eval *eval, const struct macro *macro,
                        const struct function_call *call)
{
    const struct node_macro *node = macro->node;
    struct value_list *varargs;

    if (node->varargs_slot < 0 && call->count > node->params.n)
        return render_fail(&eval->render, RENDER_TYPE,
                           "macro '%s' takes not more than %u argument(s)", macro_name(macro),
                           node->params.n);
    if (node->varargs_slot < 0)
        return 0;
    varargs = container_new_list(&eval->render, 0);
    for (size_t i = node->params.n; i < call->count; i++)
        value_list_push(eval->render.arena, varargs, call->args[i]);
    eval->now.activation->slots[node->varargs_slot] = value_list(varargs);
    eval->now.activation->slots[node->varargs_slot].flags |= VALUE_TUPLE;
    return 0;
}

/* A default may use the parameters before it. */
static int fill_defaults(struct eval *eval, const struct node_macro *node)
{
    uint32_t first = node->params.n - node->defaults.n;

    for (uint32_t i = 0; i < node->params.n; i++) {
        struct value *slot = param_slot(eval, node, i), value;

        if (!value_is_absent(slot))
            continue;
        if (i < first) {
            const char *text = arena_printf(eval->render.arena, "parameter '%.*s' was not provided",
                                            STR_ARG(param_name(node, i)));

            *slot = undefined_because(&eval->render, false, text);
            continue;
        }
        if (eval_expression(eval, node->defaults.p[i - first], &value) < 0)
            return -1;
        *slot = value;
    }
    return 0;
}

/* --- calling ------------------------------------------------------------------------------ */

static int run_body(struct eval *eval, const struct macro *macro, const struct function_call *call)
{
    bool few_taken[EVAL_ARGS_FEW] = { false };
    struct leftover left = { call->named, call->named_count, few_taken };

    if (call->named_count > EVAL_ARGS_FEW)
        left.taken = ARENA_ARRAY(eval->render.arena, bool, call->named_count);
    bind_params(eval, macro, call, &left);
    bind_caller(eval, macro, &left);
    if (bind_kwargs(eval, macro, &left) < 0 || bind_varargs(eval, macro, call) < 0)
        return -1;
    eval->render.template = macro->home.template;
    eval_enter(eval, &macro->node->scope);
    if (fill_defaults(eval, macro->node) < 0)
        return -1;
    return eval_body(eval, macro->node->body);
}

static int macro_call(struct render *render, struct object *object,
                      const struct function_call *call, struct value *ret)
{
    const struct macro *macro = (const struct macro *)object;
    struct eval *eval = eval_of(render);
    struct running saved = eval_save(eval);
    size_t start = eval->out->n;
    uint32_t at = render->at;
    int rc;

    if (render_enter(render) < 0)
        return -1;
    eval_return(eval, macro->home, at);
    /* mistakes in the arguments belong to the call */
    render->template = saved.template;
    eval_activate(eval, macro->node->code, macro->home.activation);
    rc = run_body(eval, macro, call);
    eval_return(eval, saved, at);
    render_leave(render);
    if (rc < 0) {
        render_note(render, macro->node->name ? "in macro '%s'" : "in the block of this call%.0s",
                    macro_name(macro));
        return -1;
    }
    *ret = eval_capture(eval, start, eval->now.autoescape);
    return 0;
}

/* --- what templates ask ---------------------------------------------------------------------- */

static struct value argument_names(struct render *render, const struct node_macro *node)
{
    struct value_list *names = container_new_list(render, node->params.n);
    struct value value = value_list(names);

    for (uint32_t i = 0; i < node->params.n; i++)
        value_list_push(render->arena, names, value_str(param_name(node, i)));
    value.flags |= VALUE_TUPLE;
    return value;
}

static int macro_get(struct render *render, struct object *object, struct str name,
                     struct value *ret, bool *ret_found)
{
    const struct node_macro *node = ((const struct macro *)object)->node;

    *ret_found = true;
    if (str_is(name, "name"))
        *ret = node->name ? value_str(node->name->text) : value_null();
    else if (str_is(name, "arguments"))
        *ret = argument_names(render, node);
    else if (str_is(name, "catch_kwargs"))
        *ret = value_bool(node->uses_kwargs);
    else if (str_is(name, "catch_varargs"))
        *ret = value_bool(node->uses_varargs);
    else if (str_is(name, "caller"))
        *ret = value_bool(node->uses_caller);
    else
        *ret_found = false;
    return 0;
}

static int macro_print(struct render *render, struct object *object, struct buf *out)
{
    const struct node_macro *node = ((const struct macro *)object)->node;

    (void)render;
    if (node->name)
        buf_printf(out, "<Macro '%.*s'>", STR_ARG(node->name->text));
    else
        buf_add_text(out, "<Macro anonymous>");
    return 0;
}

static const struct object_type macro_type = {
    .name = "Macro",
    .get = macro_get,
    .call = macro_call,
    .print = macro_print,
};

/* --- statements -------------------------------------------------------------------------- */

static struct value macro_new(struct eval *eval, const struct node_macro *node)
{
    struct macro *macro = ARENA_NEW(eval->render.arena, struct macro);

    macro->object.type = &macro_type;
    macro->node = node;
    macro->home = eval_save(eval);
    return object_value(&macro->object);
}

int eval_macro(struct eval *eval, const struct node_macro *node)
{
    struct value value = macro_new(eval, node);

    *eval_slot(eval, node->target->slot) = value;
    if (node->toplevel)
        context_set(eval, eval->now.context, node->name, value, true);
    return 0;
}

int eval_call_block(struct eval *eval, const struct node_macro *node)
{
    const struct value_pair caller = {
        .key = value_str(STR("caller")),
        .value = macro_new(eval, node),
    };
    struct value value;

    if (eval_call(eval, (const struct node_call *)node->call, &caller, &value) < 0)
        return -1;
    eval->render.at = node->node.at;
    return eval_write_text(eval, &value);
}

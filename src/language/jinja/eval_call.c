#include "core/base/arena.h"
#include "language/jinja/container.h"
#include "language/jinja/eval.h"
#include "language/jinja/method.h"
#include "language/jinja/name.h"
#include "language/jinja/ops.h"
#include "language/jinja/signature.h"

/* --- arguments -------------------------------------------------------------------------- */

/* `*rest`: its items follow the positional arguments. */
static int spread_list(struct eval *eval, const struct node *star, struct value **args,
                       size_t *count)
{
    const struct value_list *list;
    struct value value, *all;

    if (eval_expression(eval, star, &value) < 0)
        return -1;
    eval->render.at = star->at;
    if (op_list(&eval->render, &value, &list) < 0)
        return -1;
    all = ARENA_ARRAY(eval->render.arena, struct value, *count + list->count);
    for (size_t i = 0; i < *count; i++)
        all[i] = (*args)[i];
    for (size_t i = 0; i < list->count; i++)
        all[*count + i] = list->items[i];
    *args = all;
    *count += list->count;
    return 0;
}

static int check_named_argument(struct eval *eval, const struct value_pair *named, size_t count,
                                const struct value *key)
{
    if (key->kind != VALUE_STR)
        return render_fail(&eval->render, RENDER_TYPE, "keywords must be strings");
    for (size_t i = 0; i < count; i++)
        if (str_eq(named[i].key.s, key->s))
            return render_fail(&eval->render, RENDER_TYPE,
                               "got multiple values for keyword argument '%.*s'", STR_ARG(key->s));
    return 0;
}

/* `**named`: its pairs follow the named arguments. */
static int spread_map(struct eval *eval, const struct node *star, struct value_pair **named,
                      size_t *count)
{
    const struct value_map *map;
    struct value_pair *all;
    struct value value;

    if (eval_expression(eval, star, &value) < 0)
        return -1;
    eval->render.at = star->at;
    if (value.kind != VALUE_MAP)
        return render_fail(&eval->render, RENDER_TYPE,
                           "argument after ** must be a mapping, not %s", op_type_name(&value));
    map = container_map(&eval->render, &value);
    all = ARENA_ARRAY(eval->render.arena, struct value_pair, *count + map->count);
    for (size_t i = 0; i < *count; i++)
        all[i] = (*named)[i];
    for (size_t i = 0; i < map->count; i++) {
        if (check_named_argument(eval, all, *count, &map->pairs[i].key) < 0)
            return -1;
        all[*count + i] = map->pairs[i];
    }
    *named = all;
    *count += map->count;
    return 0;
}

static int named_arguments(struct eval *eval, const struct args *args,
                           const struct value_pair *extra, struct eval_args *ret)
{
    size_t count = args->named.n + (extra ? 1 : 0);
    struct value_pair *named = ret->few_named;

    if (count > EVAL_ARGS_FEW)
        named = ARENA_ARRAY(eval->render.arena, struct value_pair, count);
    for (uint32_t i = 0; i < args->named.n; i++) {
        named[i].key = value_str(args->names[i]->text);
        if (eval_expression(eval, args->named.p[i], &named[i].value) < 0)
            return -1;
    }
    if (extra && check_named_argument(eval, named, args->named.n, &extra->key) < 0)
        return -1;
    if (extra)
        named[args->named.n] = *extra;
    if (args->star_star && spread_map(eval, args->star_star, &named, &count) < 0)
        return -1;
    ret->call.named = named;
    ret->call.named_count = count;
    return 0;
}

int eval_arguments(struct eval *eval, const struct args *args, const struct value_pair *extra,
                   struct eval_args *ret)
{
    size_t count = args->places.n;
    struct value *values = ret->few;

    if (count > EVAL_ARGS_FEW)
        values = ARENA_ARRAY(eval->render.arena, struct value, count);
    for (uint32_t i = 0; i < args->places.n; i++)
        if (eval_expression(eval, args->places.p[i], &values[i]) < 0)
            return -1;
    if (args->star && spread_list(eval, args->star, &values, &count) < 0)
        return -1;
    ret->call = (struct function_call){ .args = values, .count = count };
    if (args->named.n == 0 && !args->star_star && !extra)
        return 0;
    return named_arguments(eval, args, extra, ret);
}

/* --- calls -------------------------------------------------------------------------------- */

/* `value.method(...)`, without making a value of the method. `*ret_method` is NULL when it is not a
 * method, and `callee` is then the callee. */
static int find_callee(struct eval *eval, const struct node *node, struct value *callee,
                       const struct function **ret_method)
{
    const struct node_attribute *attribute = (const struct node_attribute *)node;

    *ret_method = NULL;
    if (node->kind != NODE_ATTRIBUTE)
        return eval_expression(eval, node, callee);
    if (eval_expression(eval, attribute->value, callee) < 0)
        return -1;
    *ret_method = name_method(attribute->name, callee);
    if (*ret_method)
        return 0;

    struct value object = *callee;

    eval_point(eval, node, attribute->value, &object);
    return op_attribute(&eval->render, &object, attribute->name->text, callee);
}

int eval_call(struct eval *eval, const struct node_call *node, const struct value_pair *extra,
              struct value *ret)
{
    const struct function *method;
    struct value callee;
    struct eval_args args;

    if (find_callee(eval, node->callee, &callee, &method) < 0 ||
        eval_arguments(eval, &node->args, extra, &args) < 0)
        return -1;
    eval->render.at = node->node.at;
    if (render_step(&eval->render, 1) < 0)
        return -1;
    if (method)
        return method_call(&eval->render, method, &callee, &args.call, ret);
    return op_call(&eval->render, &callee, &args.call, ret);
}

/* --- filters and tests ---------------------------------------------------------------------- */

static int fail_unknown_function(struct eval *eval, const struct node_apply *node)
{
    eval->render.at = node->node.at;
    return render_fail(&eval->render, RENDER_NOT_FOUND, "no %s named '%.*s' found",
                       node->node.kind == NODE_FILTER ? "filter" : "test", STR_ARG(node->name));
}

static int apply_filter(struct eval *eval, const struct node_apply *node, const struct value *value,
                        struct value *ret)
{
    const struct signature *signature = node->signature;
    struct value bound_args[SIGNATURE_MAX];
    struct eval_args args;

    if (eval_arguments(eval, &node->args, NULL, &args) < 0)
        return -1;
    eval->render.at = node->node.at;
    if (signature_bind(signature, &eval->render, node->function->name, value, &args.call,
                       bound_args) < 0)
        return -1;

    const struct bound_args bound = {
        .args = bound_args,
        .count = signature->bound,
        .name = node->function->name,
    };
    return node->function->call(&eval->render, &bound, ret);
}

/* Evaluate the arguments in place: the function reads them there. */
static int apply_plain(struct eval *eval, const struct node_apply *node, struct value *ret)
{
    const struct signature *signature = node->signature;
    const struct args *given = &node->args;
    struct value args[NODE_PLAIN_MAX];
    const struct bound_args bound = {
        .args = args,
        .count = signature->bound,
        .name = node->function->name,
    };

    if (eval_expression(eval, node->value, &args[0]) < 0 || render_step(&eval->render, 1) < 0)
        return -1;
    for (uint32_t i = 0; i < given->places.n; i++)
        if (eval_expression(eval, given->places.p[i], &args[1 + i]) < 0)
            return -1;
    for (uint32_t i = 1 + given->places.n; i < signature->count; i++)
        args[i] = signature->params[i].value;
    eval->render.at = node->node.at;
    return node->function->call(&eval->render, &bound, ret);
}

int eval_apply(struct eval *eval, const struct node_apply *node, struct value *ret)
{
    struct value value;

    if (node->plain)
        return apply_plain(eval, node, ret);
    if (node->value) {
        if (eval_expression(eval, node->value, &value) < 0)
            return -1;
    } else {
        value = value_str(eval->captured);
        if (eval->now.autoescape)
            value.flags |= VALUE_SAFE;
    }
    if (!node->function)
        return fail_unknown_function(eval, node);
    if (render_step(&eval->render, 1) < 0)
        return -1;
    return apply_filter(eval, node, &value, ret);
}

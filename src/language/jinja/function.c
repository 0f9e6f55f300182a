#include "language/jinja/function.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "language/jinja/builtins.h"
#include "language/jinja/env.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/signature.h"

struct function_object {
    struct object object;
    const struct function *function;
    void *user;
};

int function_call(struct render *render, const struct function *function, void *user,
                  const struct function_call *call, struct value *ret)
{
    const struct signature *signature = render->jinja
                                            ? signatures_get(&render->jinja->signatures, function)
                                            : signature_new(render->arena, function->signature);
    struct value args[SIGNATURE_MAX];

    if (signature_bind(signature, render, function->name, NULL, call, args) < 0)
        return -1;
    if (user && render_ask_host(render, function->name) < 0)
        return -1;

    const struct bound_args bound = {
        .args = args,
        .count = signature->bound,
        .name = function->name,
        .user = user,
    };
    return function->call(render, &bound, ret);
}

static int call_object(struct render *render, struct object *object,
                       const struct function_call *call, struct value *ret)
{
    const struct function_object *f = (const struct function_object *)object;

    return function_call(render, f->function, f->user, call, ret);
}

static int print_function_object(struct render *render, struct object *object, struct buf *out)
{
    const struct function_object *f = (const struct function_object *)object;

    (void)render;
    buf_printf(out, "<function %s>", f->function->name);
    return 0;
}

static bool are_functions_equal(struct object *a, struct object *b)
{
    const struct function_object *f = (const struct function_object *)a;
    const struct function_object *g = (const struct function_object *)b;

    return f->function == g->function && f->user == g->user;
}

static const struct object_type function_type = {
    .name = "function",
    .call = call_object,
    .print = print_function_object,
    .equal = are_functions_equal,
};

struct value function_value(struct render *render, const struct function *function, void *user)
{
    return function_value_in(render->arena, function, user);
}

struct value function_value_in(struct arena *arena, const struct function *function, void *user)
{
    struct function_object *f = ARENA_NEW(arena, struct function_object);

    f->object.type = &function_type;
    f->function = function;
    f->user = user;
    return (struct value){ .kind = VALUE_OBJECT, .object = &f->object };
}

/* --- by name, at run time ------------------------------------------------------------------- */

static int fail_no_function(struct render *render, const char *kind, function_tables tables,
                            struct str name)
{
    struct str best = builtins_suggest(tables, name);

    (void)render_fail(render, RENDER_NOT_FOUND, "no %s named '%.*s'", kind, STR_ARG(name));
    if (best.p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(best));
    return -1;
}

/* The piped value in front of the other arguments. */
static int apply_function(struct render *render, const struct function *function,
                          const struct value *value, const struct function_call *call,
                          struct value *ret)
{
    struct value *args = arena_alloc(render->arena, (call->count + 1) * sizeof(*args));
    const struct function_call whole = { args, call->count + 1, call->named, call->named_count };

    args[0] = *value;
    for (size_t i = 0; i < call->count; i++)
        args[i + 1] = call->args[i];
    return function_call(render, function, NULL, &whole, ret);
}

int filter_apply(struct render *render, struct str name, const struct value *value,
                 const struct function_call *call, struct value *ret)
{
    const struct builtins *builtins = render->options->builtins;
    function_tables filters = builtins ? builtins->filters : NULL;
    const struct function *function = builtins_find(filters, name);

    if (!function)
        return fail_no_function(render, "filter", filters, name);
    return apply_function(render, function, value, call, ret);
}

int test_apply(struct render *render, struct str name, const struct value *value,
               const struct function_call *call, bool *ret)
{
    const struct builtins *builtins = render->options->builtins;
    function_tables tests = builtins ? builtins->tests : NULL;
    const struct function *function = builtins_find(tests, name);
    struct value answer;

    if (!function)
        return fail_no_function(render, "test", tests, name);
    if (apply_function(render, function, value, call, &answer) < 0)
        return -1;
    *ret = answer.b;
    return 0;
}

#include "language/jinja/method.h"

#include "core/base/buf.h"
#include "language/jinja/argument.h"
#include "language/jinja/env.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/signature.h"

int method_call(struct render *render, const struct function *method, const struct value *self,
                const struct function_call *call, struct value *ret)
{
    const struct signature *signature = render->jinja
                                            ? signatures_get(&render->jinja->signatures, method)
                                            : signature_new(render->arena, method->signature);
    struct value args[SIGNATURE_MAX];

    if (signature_bind(signature, render, method->name, self, call, args) < 0)
        return -1;

    const struct bound_args bound = { .args = args,
                                      .count = signature->bound,
                                      .name = method->name };
    return method->call(render, &bound, ret);
}

struct bound_method {
    struct object object;
    const struct function *method;
    struct value self;
};

static int bound_call(struct render *render, struct object *object,
                      const struct function_call *call, struct value *ret)
{
    const struct bound_method *bound = (const struct bound_method *)object;

    return method_call(render, bound->method, &bound->self, call, ret);
}

static int bound_print(struct render *render, struct object *object, struct buf *out)
{
    const struct bound_method *bound = (const struct bound_method *)object;

    (void)render;
    buf_printf(out, "<built-in method %s of %s object>", bound->method->name,
               op_type_name(&bound->self));
    return 0;
}

static const struct object_type method_type = {
    .name = "builtin_function_or_method",
    .call = bound_call,
    .print = bound_print,
};

struct value method_bind(struct render *render, const struct function *method,
                         const struct value *self)
{
    struct bound_method *bound = ARENA_NEW(render->arena, struct bound_method);

    *bound = (struct bound_method){ { &method_type }, method, *self };
    return object_value(&bound->object);
}

int method_arg_str(struct render *render, const struct bound_args *bound, size_t i, const char *who,
                   struct str *ret)
{
    const struct value *v = &bound->args[i];

    if (undefined_check(render, v) < 0)
        return -1;
    if (v->kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE, "%smust be str, not %s", who, op_type_name(v));
    *ret = v->s;
    return 0;
}

int method_arg_optional_int(struct render *render, const struct bound_args *bound, size_t i,
                            int64_t *ret)
{
    return argument_is_none(&bound->args[i]) ? 0 : argument_int(render, &bound->args[i], ret);
}

#include "language/jinja/argument.h"

#include "core/base/err.h"
#include "core/base/number.h"
#include "language/jinja/builtins.h"
#include "language/jinja/env.h"
#include "language/jinja/function.h"
#include "language/jinja/method.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

int argument_text(struct render *render, const struct value *v, struct str *ret)
{
    return op_text(render, v, ret);
}

int argument_delimiter(struct render *render, const struct value *v, char *ret)
{
    struct str text;

    if (argument_text(render, v, &text) < 0)
        return -1;
    if (text.n != 1)
        return render_fail(render, RENDER_TYPE, "a delimiter is one character");
    *ret = text.p[0];
    return 0;
}

int argument_int(struct render *render, const struct value *v, int64_t *ret)
{
    if (v->kind == VALUE_INT)
        *ret = v->i;
    else if (v->kind == VALUE_BOOL)
        *ret = v->b;
    else if (value_is_undefined(v))
        return undefined_fail(render, v);
    else
        return render_fail(render, RENDER_TYPE, "'%s' object cannot be interpreted as an integer",
                           op_type_name(v));
    return 0;
}

int argument_double(struct render *render, const struct value *v, double *ret)
{
    int64_t whole;

    if (v->kind == VALUE_DOUBLE) {
        *ret = v->d;
        return 0;
    }
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL && !value_is_undefined(v))
        return render_fail(render, RENDER_TYPE, "must be a number, not '%s'", op_type_name(v));
    if (argument_int(render, v, &whole) < 0)
        return -1;
    *ret = (double)whole;
    return 0;
}

bool argument_is_none(const struct value *v)
{
    return v->kind == VALUE_NULL || value_is_absent(v);
}

/* Digits are an index, all others a name. */
static struct value step_key(struct str step)
{
    int64_t index;
    struct err err;

    if (step.n > 0 && step.p[0] >= '0' && step.p[0] <= '9' &&
        number_parse_int(step, &index, &err) == 0)
        return value_int(index);
    return value_str(step);
}

static int follow_step(struct render *render, struct value *at, const struct value *key,
                       const struct value *fallback)
{
    struct value next;

    if (op_item(render, at, key, &next) < 0)
        return -1;
    *at = fallback && value_is_undefined(&next) ? *fallback : next;
    return 0;
}

int argument_follow(struct render *render, const struct value *v, const struct value *path,
                    const struct value *fallback, struct value *ret)
{
    struct value at = *v;
    struct str rest;

    if (fallback && argument_is_none(fallback))
        fallback = NULL;
    if (path->kind == VALUE_STR) {
        for (rest = path->s; rest.p;) {
            struct str step = str_cut(&rest, '.');
            struct value key = step_key(step);

            if (key.kind == VALUE_STR)
                key = op_new_str(render, step);
            if (follow_step(render, &at, &key, fallback) < 0)
                return -1;
        }
    } else if (!argument_is_none(path) && follow_step(render, &at, path, fallback) < 0) {
        return -1;
    }
    *ret = at;
    return 0;
}

int argument_fold(struct render *render, const struct value *v, struct value *ret)
{
    if (v->kind != VALUE_STR) {
        *ret = *v;
        return 0;
    }
    return text_lower(render, v, ret) ? 0 : argument_method(render, v, "lower", NULL, 0, ret);
}

/* `method` is a literal: its address stands for its text. */
static const struct function *find_method(struct render *render, const struct value *v,
                                          const char *method)
{
    struct env_method *known;

    if (!render->jinja || v->flags & VALUE_TUPLE)
        return builtins_method(render->options->builtins, v, str_from(method));
    known = &render->jinja->methods[((uintptr_t)method ^ v->kind) % ENV_METHODS];
    if (known->literal != method || known->kind != v->kind)
        *known =
            (struct env_method){ method, v->kind,
                                 builtins_method(render->options->builtins, v, str_from(method)) };
    return known->method;
}

int argument_method(struct render *render, const struct value *v, const char *method,
                    const struct value *args, size_t count, struct value *ret)
{
    const struct function_call call = { .args = args, .count = count };
    const struct function *known = find_method(render, v, method);
    struct value callee;

    if (known)
        return method_call(render, known, v, &call, ret);
    if (op_attribute_only(render, v, str_from(method), &callee) < 0)
        return -1;
    return op_call(render, &callee, &call, ret);
}

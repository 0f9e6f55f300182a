#include "jinja/method.h"

#include <string.h>

#include "base/buf.h"
#include "jinja/object.h"
#include "jinja/ops.h"
#include "jinja/render.h"

#define TABLES_MAX 3

/* Which tables a kind of value has. */
static const struct function *const tables[VALUE_KINDS][TABLES_MAX] = {
    [VALUE_BOOL] = { method_int },
    [VALUE_INT] = { method_int },
    [VALUE_DOUBLE] = { method_float },
    [VALUE_STR] = { method_str_search, method_str_shape, method_str_class },
    [VALUE_LIST] = { method_list },
    [VALUE_MAP] = { method_dict },
};

static const struct function *find_in(const struct function *table, struct str name)
{
    for (; table->name; table++)
        if (table->name[0] == name.p[0] && str_is(name, table->name))
            return table;
    return NULL;
}

const struct function *method_find(const struct value *v, struct str name)
{
    if (name.n == 0)
        return NULL;
    if (v->kind == VALUE_LIST && v->flags & VALUE_TUPLE)
        return find_in(method_tuple, name);
    for (size_t i = 0; i < TABLES_MAX && tables[v->kind][i]; i++) {
        const struct function *found = find_in(tables[v->kind][i], name);

        if (found)
            return found;
    }
    return NULL;
}

int method_call(struct render *render, const struct function *method, const struct value *self,
                const struct call *call, struct value *ret)
{
    struct value *args = arena_alloc(render->arena, mem_product(call->count + 1, sizeof(*args)));
    struct call with_self = *call;

    args[0] = *self;
    if (call->count > 0)
        memcpy(args + 1, call->args, call->count * sizeof(*args));
    with_self.args = args;
    with_self.count++;
    return function_call(render, method, NULL, &with_self, ret);
}

struct bound_method {
    struct object object;
    const struct function *method;
    struct value self;
};

static int bound_call(struct render *render, struct object *object, const struct call *call,
                      struct value *ret)
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

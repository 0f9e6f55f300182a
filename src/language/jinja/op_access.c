/*
 * Attributes, items and calls, in the order in which Jinja2's sandbox tries them. Python's
 * underscore attributes do not exist here: they give an undefined value that explains it.
 */
#include "language/jinja/ops.h"

#include "core/base/utf8.h"
#include "language/jinja/builtins.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/method.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* Is it one of the names that every Python object has? */
static bool is_unsafe(struct str name)
{
    static const char *const names[] = {
        "__class__",        "__delattr__", "__dict__",    "__dir__",           "__doc__",
        "__eq__",           "__format__",  "__ge__",      "__getattribute__",  "__getstate__",
        "__gt__",           "__hash__",    "__init__",    "__init_subclass__", "__le__",
        "__lt__",           "__module__",  "__ne__",      "__new__",           "__reduce__",
        "__reduce_ex__",    "__repr__",    "__setattr__", "__sizeof__",        "__str__",
        "__subclasshook__",
    };

    if (name.n < 2 || name.p[0] != '_' || name.p[1] != '_')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static struct value unsafe_value(struct render *render, const struct value *v, struct str name)
{
    return undefined_because(render, render->options->lenient,
                             arena_printf(render->arena,
                                          "access to attribute '%.*s' of '%s' object is unsafe.",
                                          STR_ARG(name), op_type_name(v)));
}

/* getattr(v, name); `ret` is untouched when there is none. */
static int find_attribute(struct render *render, const struct value *v, struct str name,
                          struct value *ret, bool *ret_found)
{
    const struct function *method = NULL;

    *ret_found = false;
    if (value_is_undefined(v))
        return undefined_fail(render, v);
    if (name.n > 0 && name.p[0] == '_') {
        *ret_found = is_unsafe(name);
        if (*ret_found)
            *ret = unsafe_value(render, v, name);
        return 0;
    }
    if (v->kind == VALUE_OBJECT)
        return v->object->type->get ? v->object->type->get(render, v->object, name, ret, ret_found)
                                    : 0;
    method = builtins_method(render->options->builtins, v, name);
    if (method) {
        *ret = method_bind(render, method, v);
        *ret_found = true;
    }
    return 0;
}

/* The number as an index into `count` items, or -1. */
static int64_t find_index(const struct value *key, size_t count)
{
    int64_t i;

    if (key->kind != VALUE_INT && key->kind != VALUE_BOOL)
        return -1;
    i = key->kind == VALUE_INT ? key->i : key->b;
    if (i < 0)
        i += (int64_t)count;
    return i >= 0 && (uint64_t)i < count ? i : -1;
}

static bool find_character(struct render *render, const struct value *v, const struct value *key,
                           struct value *ret)
{
    bool ascii = utf8_is_ascii(v->s);
    int64_t i = find_index(key, ascii ? v->s.n : utf8_count(v->s));
    size_t at;

    if (i < 0)
        return false;
    at = ascii ? (size_t)i : utf8_offset(v->s, (size_t)i);
    *ret = text_part(render, v, at, utf8_length_at(str_from_offset(v->s, at)));
    return true;
}

static int find_subscript_pair(struct render *render, const struct value *v,
                               const struct value *key, struct value *ret, bool *ret_found)
{
    const struct value *found;

    if (undefined_check(render, key) < 0)
        return -1;
    found = value_map_find(container_map(render, v), key);
    *ret_found = found != NULL;
    if (found)
        *ret = *found;
    return 0;
}

/* v[key]; `ret` is untouched when there is none, also when `v` has no items at all. */
static int find_subscript(struct render *render, const struct value *v, const struct value *key,
                          struct value *ret, bool *ret_found)
{
    int64_t i;

    *ret_found = false;
    if (value_is_undefined(v))
        return undefined_fail(render, v);
    if (v->kind == VALUE_MAP)
        return find_subscript_pair(render, v, key, ret, ret_found);
    if (v->kind == VALUE_OBJECT)
        return v->object->type->item ? v->object->type->item(render, v->object, key, ret, ret_found)
                                     : 0;
    if (v->kind == VALUE_LIST) {
        const struct value_list *list = container_list(render, v);

        i = find_index(key, list->count);
        *ret_found = i >= 0;
        if (i >= 0)
            *ret = list->items[i];
    }
    if (v->kind == VALUE_STR)
        *ret_found = find_character(render, v, key, ret);
    if (v->kind == VALUE_BYTES) {
        i = find_index(key, v->s.n);
        *ret_found = i >= 0;
        if (i >= 0)
            *ret = value_int((unsigned char)v->s.p[i]);
    }
    return 0;
}

int op_attribute(struct render *render, const struct value *v, struct str name, struct value *ret)
{
    const struct value key = value_str(name);
    bool found;

    if (find_attribute(render, v, name, ret, &found) < 0)
        return -1;
    if (!found && find_subscript(render, v, &key, ret, &found) < 0)
        return -1;
    if (!found)
        *ret = undefined_new(render, name, v);
    return 0;
}

int op_attribute_only(struct render *render, const struct value *v, struct str name,
                      struct value *ret)
{
    bool found;

    if (find_attribute(render, v, name, ret, &found) < 0)
        return -1;
    if (!found)
        *ret = undefined_new(render, name, v);
    return 0;
}

int op_item(struct render *render, const struct value *v, const struct value *key,
            struct value *ret)
{
    bool found;

    if (find_subscript(render, v, key, ret, &found) < 0)
        return -1;
    if (!found && key->kind == VALUE_STR && find_attribute(render, v, key->s, ret, &found) < 0)
        return -1;
    if (!found)
        *ret = undefined_new_item(render, key, v);
    return 0;
}

int op_call(struct render *render, const struct value *callee, const struct function_call *call,
            struct value *ret)
{
    if (value_is_undefined(callee))
        return undefined_fail(render, callee);
    if (callee->kind != VALUE_OBJECT || !callee->object->type->call)
        return render_fail(render, RENDER_TYPE, "'%s' object is not callable",
                           op_type_name(callee));
    if (render_step(render, 1) < 0)
        return -1;
    return callee->object->type->call(render, callee->object, call, ret);
}

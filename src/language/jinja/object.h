/*
 * object - values of templates only: undefined, macros, namespaces, loops, ranges, dict views,
 * generators, cyclers, functions.
 *
 * A `struct value` of kind VALUE_OBJECT points to a struct that begins with a
 * `struct object`. The type is a table of operations; NULL means that the
 * object does not support it, and the caller reports that with the type's name.
 */
#ifndef LANGUAGE_JINJA_OBJECT_H
#define LANGUAGE_JINJA_OBJECT_H

#include "core/data/value.h"
#include "language/jinja/function.h"

struct buf;
struct render;

struct object_type {
    const char *name; /* Python's name: "Macro", "range", "dict_items" */
    /* Get an attribute; without one, `ret` is untouched and `*ret_found` is false. */
    int (*get)(struct render *render, struct object *object, struct str name, struct value *ret,
               bool *ret_found);
    int (*set)(struct render *render, struct object *object, struct str name, struct value value);
    /* Subscript, same contract as get. */
    int (*item)(struct render *render, struct object *object, const struct value *key,
                struct value *ret, bool *ret_found);
    int (*call)(struct render *render, struct object *object, const struct function_call *call,
                struct value *ret);
    /* The items as a list, for iteration, `in`, `list` and filters. */
    int (*list)(struct render *render, struct object *object, struct value_list **ret);
    int (*length)(struct render *render, struct object *object, size_t *ret);
    int (*print)(struct render *render, struct object *object, struct buf *out);
    bool (*is_true)(struct object *object);
    /* Does it stand for a missing value, for the test `defined`? NULL: it exists. */
    int (*is_missing)(struct render *render, struct object *object, bool *ret);
    bool (*equal)(struct object *a, struct object *b); /* same type; NULL: identity */
    bool is_undefined;                                 /* the value of an unknown name */
};

struct object {
    const struct object_type *type;
};

static inline struct value object_value(struct object *object)
{
    return (struct value){ .kind = VALUE_OBJECT, .object = object };
}
/* The object of this type, or NULL. */
static inline void *object_as(const struct value *v, const struct object_type *type)
{
    return v->kind == VALUE_OBJECT && v->object->type == type ? v->object : NULL;
}

/* --- undefined ------------------------------------------------------------- */

/* `name` was not found in `owner`, which is NULL for a variable. Error texts are those of Jinja2:
 * "'x' is undefined", "'dict object' has no attribute 'x'". */
struct value undefined_new(struct render *render, struct str name, const struct value *owner);
/* `owner[key]` was not found: "list object has no element 5". */
struct value undefined_new_item(struct render *render, const struct value *key,
                                const struct value *owner);
/* An undefined value with the error text `text`, which is kept: "there is no previous item".
 * `lenient`: even when the environment is strict, as for an `if` expression without `else`. */
struct value undefined_because(struct render *render, bool lenient, const char *text);
static inline bool value_is_undefined(const struct value *v)
{
    return v->kind == VALUE_OBJECT && v->object && /* NULL: an absent argument */
           v->object->type->is_undefined;
}
/* Is it undefined, or an object that stands for a missing value? */
int undefined_test(struct render *render, const struct value *v, bool *ret);
/* Report the error of using it; returns -1. */
int undefined_fail(struct render *render, const struct value *v);
/* Fails when the object `v` is undefined and strict. */
int undefined_check_object(struct render *render, const struct value *v);
/* The same for any value. */
static inline int undefined_check(struct render *render, const struct value *v)
{
    return v->kind == VALUE_OBJECT ? undefined_check_object(render, v) : 0;
}

#endif

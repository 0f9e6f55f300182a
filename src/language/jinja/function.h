/*
 * function - filters, tests, globals and methods, one table line each.
 *
 * A signature names the arguments as a template author may: by place or by name. Calls are bound to
 * it in one place, so the C function receives exactly the named arguments, in order:
 *
 *     "value, width=4, first=false, *rest, **named"
 *
 * Defaults are literals: numbers, 'text', true, false, none. `name?` marks an
 * argument that may be left out without a default: see value_is_absent().
 * `*rest` receives a list (tuple), `**named` a map. A filter's first argument is
 * the piped value, a test's the tested one, a method's the object.
 *
 *     static const struct function filters[] = {
 *         { "indent", "s, width=4, first=false, blank=false", filter_indent, "indent lines" },
 *         { 0 },
 *     };
 */
#ifndef LANGUAGE_JINJA_FUNCTION_H
#define LANGUAGE_JINJA_FUNCTION_H

#include "core/data/value.h"

struct arena;
struct render;

/* The arguments at a call site. */
struct function_call {
    const struct value *args;
    size_t count;
    const struct value_pair *named; /* keys are strings */
    size_t named_count;
};

/* The arguments that a function receives. */
struct bound_args {
    const struct value *args; /* one for each name of the signature */
    size_t count;
    const char *name; /* name of the function, for messages */
    void *user;       /* argument of jinja_add_functions; NULL for built-in ones */
};

typedef int function_fn(struct render *render, const struct bound_args *bound, struct value *ret);

struct function {
    const char *name;
    const char *signature;
    function_fn *call;
    const char *summary; /* for `zester doc jinja` */
};

/* Bind and call. Fails as in Python: missing, unexpected, or duplicate argument. */
int function_call(struct render *render, const struct function *function, void *user,
                  const struct function_call *call, struct value *ret);

/* A missing argument: an object that is NULL. */
static inline bool value_is_absent(const struct value *v)
{
    return v->kind == VALUE_OBJECT && !v->object;
}
static inline struct value value_absent(void)
{
    return (struct value){ .kind = VALUE_OBJECT };
}

/* `value|name(call...)` and `value is name(call...)` from inside a filter such as map or select.
 * An unknown name is an error with a suggestion. */
int filter_apply(struct render *render, struct str name, const struct value *value,
                 const struct function_call *call, struct value *ret);
int test_apply(struct render *render, struct str name, const struct value *value,
               const struct function_call *call, bool *ret);

/* A function as a value that a template can call. */
struct value function_value(struct render *render, const struct function *function, void *user);
/* The same, in memory that outlives a rendering. */
struct value function_value_in(struct arena *arena, const struct function *function, void *user);

#endif

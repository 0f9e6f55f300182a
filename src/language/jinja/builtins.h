/*
 * builtins - the filters, tests, globals and methods of an environment.
 *
 * This folder knows the language but no names: the creator of an environment passes tables
 * (jinja_options.builtins), as language/jinja/filters/builtins.h does. A list of tables ends with
 * NULL, a table with a line without a name. Threads: any.
 */
#ifndef LANGUAGE_JINJA_BUILTINS_H
#define LANGUAGE_JINJA_BUILTINS_H

#include "core/data/value.h"

struct function;

typedef const struct function *const *function_tables;

/* NULL is a list without tables. */
struct builtins {
    function_tables filters, tests, globals;
    function_tables methods[VALUE_KINDS]; /* by the kind of their object */
    function_tables tuple;                /* methods of tuples, which are otherwise lists */
};

/* The function of that name, or NULL. */
const struct function *builtins_find(function_tables tables, struct str name);
/* The nearest name; a NULL view when none is near. */
struct str builtins_suggest(function_tables tables, struct str name);
/* The method of that name for a value, or NULL. `builtins` may be NULL. */
const struct function *builtins_method(const struct builtins *builtins, const struct value *v,
                                       struct str name);

#endif

/*
 * method - what texts, lists, maps and numbers can do: "a".upper(), l.append(x).
 *
 * One table for each type, in the shape of function.h; the first argument of
 * every method is the object itself. A method that was looked up but not yet
 * called is a value of its own, bound to its object.
 */
#ifndef JINJA_METHOD_H
#define JINJA_METHOD_H

#include "jinja/function.h"

/* The method of this name, or NULL. */
const struct function *method_find(const struct value *v, struct str name);
/* The method as a value that a template can call. */
struct value method_bind(struct render *render, const struct function *method,
                         const struct value *self);
/* Call it at once. */
int method_call(struct render *render, const struct function *method, const struct value *self,
                const struct call *call, struct value *ret);

/* The tables, sorted by name; each ends with a line without name. */
extern const struct function method_str_search[];
extern const struct function method_str_shape[];
extern const struct function method_str_class[];
extern const struct function method_list[];
extern const struct function method_tuple[];
extern const struct function method_dict[];
extern const struct function method_int[];
extern const struct function method_float[];

#endif

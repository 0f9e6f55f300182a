/*
 * method - methods of texts, lists, maps and numbers: "a".upper(), l.append(x).
 *
 * The first argument of every method is the object itself. A method that was
 * looked up but not yet called is a value, bound to its object.
 *
 *     method = builtins_method(builtins, &v, STR("upper"));
 *     method_call(render, method, &v, &call, &ret);
 */
#ifndef LANGUAGE_JINJA_METHOD_H
#define LANGUAGE_JINJA_METHOD_H

#include "language/jinja/function.h"

/* The method as a value that a template can call. */
struct value method_bind(struct render *render, const struct function *method,
                         const struct value *self);
/* Call it directly. */
int method_call(struct render *render, const struct function *method, const struct value *self,
                const struct function_call *call, struct value *ret);

/* For the methods themselves: argument `i` of the call as text (`who` begins the error
 * message), and as a number that may be left out, which leaves `ret` as it is. */
int method_arg_str(struct render *render, const struct bound_args *bound, size_t i, const char *who,
                   struct str *ret);
int method_arg_optional_int(struct render *render, const struct bound_args *bound, size_t i,
                            int64_t *ret);

#endif

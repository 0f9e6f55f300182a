/*
 * argument - argument conversions shared by filters.
 *
 * Each fails with Python's message.
 */
#ifndef LANGUAGE_JINJA_ARGUMENT_H
#define LANGUAGE_JINJA_ARGUMENT_H

#include "core/data/value.h"

struct bound_args;
struct render;

/* The text of any value, as str() gives it. */
int argument_text(struct render *render, const struct value *v, struct str *ret);
/* One character: the separator of a path. */
int argument_delimiter(struct render *render, const struct value *v, char *ret);
/* A whole number: an int or a bool. */
int argument_int(struct render *render, const struct value *v, int64_t *ret);
/* Any number. */
int argument_double(struct render *render, const struct value *v, double *ret);
bool argument_is_none(const struct value *v); /* none or absent */

/* Follow a path such as "a.b.0", or a number, in `v` step by step. A missing step becomes
 * `fallback` unless that is NULL. A path of none is the value itself. */
int argument_follow(struct render *render, const struct value *v, const struct value *path,
                    const struct value *fallback, struct value *ret);

/* For comparisons that ignore case: text in lower case, other values unchanged. */
int argument_fold(struct render *render, const struct value *v, struct value *ret);

/* Call a method of `v` by name, which is a literal: its address is the key of a cache. */
int argument_method(struct render *render, const struct value *v, const char *method,
                    const struct value *args, size_t count, struct value *ret);

#endif

/*
 * jmespath - JMESPath expressions over values: the language of Salt's json_query.
 *
 *     struct jmespath search = { .arena = &arena };
 *     jmespath_search(&search, STR("users[?age > `30`].name"), &data, &found, &err)
 *
 * Everything of the specification: projections, filters, slices, multi-selects,
 * pipes and the standard functions. As in the library that Salt uses, texts are
 * ordered by < and >, and a literal in backticks that is not JSON is a text.
 *
 * A mistake in the expression, or a wrong argument of a function, is an error that begins with its
 * column. Length, nesting and work have limits.
 *
 * Memory: the result lives in the arena and shares parts of the data. Threads: any.
 */
#ifndef LANGUAGE_JMESPATH_JMESPATH_H
#define LANGUAGE_JMESPATH_JMESPATH_H

#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct err;
struct value;

#define JMESPATH_LENGTH_MAX 16384             /* bytes of an expression */
#define JMESPATH_DEPTH_MAX  200               /* for nested expressions */
#define JMESPATH_STEPS_MAX  UINT64_C(2000000) /* items visited, or 64 bytes of text made */
#define JMESPATH_TEXT_MAX   ((size_t)4 << 20) /* maximum bytes of a text made by a function */

struct jmespath {
    struct arena *arena;
    uint64_t steps; /* the number of steps so far */
};

/* The result of `expression` on `data`; null when there is none. Fails with ERR_INVALID, or with
 * ERR_LIMIT when a limit above is reached. */
int jmespath_search(struct jmespath *search, struct str expression, const struct value *data,
                    struct value *ret, struct err *err);

#endif

/*
 * markup - texts that are safe for HTML, and joining them with others.
 *
 * A text with VALUE_SAFE is what markupsafe calls Markup. Text joined with it is escaped first, and
 * the result is safe.
 */
#ifndef LANGUAGE_JINJA_MARKUP_H
#define LANGUAGE_JINJA_MARKUP_H

#include "core/data/value.h"

struct buf;
struct render;

bool value_is_markup(const struct value *v);
/* str(v) into `out`, escaped unless `v` is markup. */
int markup_print(struct render *render, const struct value *v, struct buf *out);
/* The same as a value that is markup. */
int markup_escape(struct render *render, const struct value *v, struct value *ret);

#endif

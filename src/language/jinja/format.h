/*
 * format - Python's two ways to put values into a text.
 *
 *     "%s is %5.2f" % (name, number)             format_percent
 *     "{} is {:>8.2f}".format(name, number)      format_braces
 *
 * The texts of errors are Python's. When the format is markup, its values are escaped and the
 * result is markup. Widths and precisions are limited to FORMAT_WIDTH_MAX.
 */
#ifndef LANGUAGE_JINJA_FORMAT_H
#define LANGUAGE_JINJA_FORMAT_H

#include "core/data/value.h"

struct buf;
struct render;

/* Maximum field width, and maximum digits after the point. */
#define FORMAT_WIDTH_MAX     1000000
#define FORMAT_PRECISION_MAX 1000

/* `format` is a text; `args` a tuple, a map, or a single value. */
int format_percent(struct render *render, const struct value *format, const struct value *args,
                   struct value *ret);

/* `args` by number, `named` (which may be NULL) by name. Attributes and items of fields are looked
 * up as in a template, so the sandbox holds. */
int format_braces(struct render *render, const struct value *format, const struct value_list *args,
                  const struct value_map *named, struct value *ret);

/* format(v, spec): one value by the format-spec mini-language, appended to `out`. */
int format_value(struct render *render, const struct value *v, struct str spec, struct buf *out);

/* ascii(v): repr(v) with all other characters escaped. */
int format_ascii(struct render *render, const struct value *v, struct buf *out);

#endif

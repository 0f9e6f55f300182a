/*
 * builtins - the built-in names of every template: those of Jinja2 and Salt.
 *
 *     const struct jinja_options options = { .builtins = &filter_builtins };
 */
#ifndef LANGUAGE_JINJA_FILTERS_BUILTINS_H
#define LANGUAGE_JINJA_FILTERS_BUILTINS_H

#include "language/jinja/builtins.h"

extern const struct builtins filter_builtins;

#endif

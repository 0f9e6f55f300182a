/*
 * builtins - all that templates know by name without being told: what Jinja2 and Salt have.
 *
 *     const struct jinja_options options = { .builtins = &filter_builtins };
 */
#ifndef FILTERS_BUILTINS_H
#define FILTERS_BUILTINS_H

#include "jinja/builtins.h"

extern const struct builtins filter_builtins;

#endif

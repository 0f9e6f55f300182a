/*
 * global - the global names of every template: range, dict, cycler, joiner, namespace, lipsum,
 * raise.
 */
#ifndef LANGUAGE_JINJA_FILTERS_GLOBAL_H
#define LANGUAGE_JINJA_FILTERS_GLOBAL_H

#include "language/jinja/function.h"

extern const struct function global_functions[];

#endif

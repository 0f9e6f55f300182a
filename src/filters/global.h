/*
 * global - the names that every template knows: range, dict, cycler, joiner,
 * namespace, lipsum, raise.
 */
#ifndef FILTERS_GLOBAL_H
#define FILTERS_GLOBAL_H

#include "jinja/function.h"

extern const struct function global_functions[];

#endif

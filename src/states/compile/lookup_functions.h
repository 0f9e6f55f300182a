/*
 * lookup - functions of templates that look up facts, settings, configuration and the environment,
 * by the names that Salt has for them.
 *
 * Memory: the arena of the rendering. Threads: those of the rendering.
 */
#ifndef STATES_COMPILE_LOOKUP_FUNCTIONS_H
#define STATES_COMPILE_LOOKUP_FUNCTIONS_H

#include "language/jinja/function.h"

/* Ends with a row without a name; the user pointer is a struct builtin_context. */
extern const struct function lookup_functions[];

#endif

/*
 * matching - choices by target expression: match.filter_by and ifelse.
 *
 * Threads: as the rendering that calls them.
 */
#ifndef STATES_COMPILE_MATCHING_H
#define STATES_COMPILE_MATCHING_H

#include "language/jinja/function.h"

/* The functions of `salt`, and globals; `user` is a struct builtin_context. Terminated by a row
 * without a name. */
extern const struct function matching_functions[];
extern const struct function matching_globals[];

#endif

/*
 * matching - choices by which machines an expression matches: match.filter_by and ifelse.
 *
 * Threads: as the rendering that calls them.
 */
#ifndef STATES_COMPILE_MATCHING_H
#define STATES_COMPILE_MATCHING_H

#include "language/jinja/function.h"

/* Behind `salt`, and globals; the `user` of both is a struct builtin_context. They end with a line
 * without name. */
extern const struct function matching_functions[];
extern const struct function matching_globals[];

#endif

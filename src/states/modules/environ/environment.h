/*
 * environment - the environment variables of this process, as a value.
 *
 * Memory: the arena. Threads: any, while no thread sets variables.
 */
#ifndef STATES_MODULES_ENVIRON_ENVIRONMENT_H
#define STATES_MODULES_ENVIRON_ENVIRONMENT_H

#include "core/data/value.h"

/* A map of names to texts. */
struct value environment_list(struct arena *arena);

#endif

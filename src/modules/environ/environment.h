/*
 * environment - the environment variables of this process, as a value.
 *
 * Memory: the arena. Threads: any, while nobody sets variables.
 */
#ifndef MODULES_ENVIRON_ENVIRONMENT_H
#define MODULES_ENVIRON_ENVIRONMENT_H

#include "data/value.h"

/* A map of names to texts. */
struct value environment_list(struct arena *arena);

#endif

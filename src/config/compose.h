/*
 * compose - keys of Docker Compose that a file for kepler cannot have, and what to write instead.
 *
 * Pure. Threads: any.
 */
#ifndef CONFIG_COMPOSE_H
#define CONFIG_COMPOSE_H

#include "data/params.h"

/* Ends with an empty one. */
extern const struct param_foreign compose_keys[];

#endif

/*
 * compose - keys of Docker Compose that a file for kepler cannot have, and what to write instead.
 *
 * Pure. Threads: any.
 */
#ifndef KEPLER_CONFIG_COMPOSE_H
#define KEPLER_CONFIG_COMPOSE_H

#include "core/data/params.h"

/* Ends with an empty one. */
extern const struct param_foreign compose_keys[];

#endif

/*
 * compose - Docker Compose keys that kepler does not support, and their replacements.
 *
 * Pure. Threads: any.
 */
#ifndef KEPLER_CONFIG_COMPOSE_H
#define KEPLER_CONFIG_COMPOSE_H

#include "core/data/params.h"

/* Ends with an empty entry. */
extern const struct param_foreign compose_keys[];

#endif

/*
 * config_dump - a loaded config as values, as `kepler inspect` and `kepler config` show it.
 *
 * All defaults are filled in, environments are lists of K=V, and expressions are shown as they were
 * written.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef KEPLER_CONFIG_CONFIG_DUMP_H
#define KEPLER_CONFIG_CONFIG_DUMP_H

#include "core/data/value.h"

struct arena;
struct config;
struct config_service;

/* The `kepler` section. */
struct value config_dump_kepler(struct arena *arena, const struct config *config);
struct value config_dump_service(struct arena *arena, const struct config *config,
                                 const struct config_service *service);

#endif

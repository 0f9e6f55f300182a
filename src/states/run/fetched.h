/*
 * fetched - downloads, cached in the data folder under their hash.
 *
 * A dry run keeps nothing. Files not used for FETCHED_AGE are removed, and above FETCHED_BYTES_MAX
 * the least recently used; the newest stays, whatever its size.
 *
 * Memory: the arena of the call. Threads: any, in several processes, too.
 */
#ifndef STATES_RUN_FETCHED_H
#define STATES_RUN_FETCHED_H

#include <stdint.h>

#include "core/sys/clock.h"

struct arena;
struct err;
struct source_hash;
struct state_host;

#define FETCHED_BYTES_MAX ((uint64_t)2 << 30)
#define FETCHED_AGE       (30 * 24 * 3600 * CLOCK_SECOND)

/* The cached file for the hash, if intact; else NULL. */
const char *fetched_find(struct arena *arena, const struct state_host *host,
                         const struct source_hash *hash);
/* Download into the cache, verify the hash, and prune the cache. Not for a dry run. */
int fetched_make(struct arena *arena, const struct state_host *host, const char *url,
                 const struct source_hash *hash, const char **ret_path, struct err *err);

#endif

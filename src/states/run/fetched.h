/*
 * fetched - what came over the network, kept in the data folder under its hash.
 *
 * Nothing is kept in a dry run. What was not used for FETCHED_AGE goes, and beyond
 * FETCHED_BYTES_MAX what was not used for the longest time; the newest stays, whatever its size.
 *
 * Memory: the arena of the call. Threads: any; also of several processes.
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

/* What is kept under the hash, if it is whole; NULL: nothing. */
const char *fetched_find(struct arena *arena, const struct state_host *host,
                         const struct source_hash *hash);
/* Fetch it into its file, which is there only when the hash is right, and drop what is too old or
 * too much. Not for a dry run. */
int fetched_make(struct arena *arena, const struct state_host *host, const char *url,
                 const struct source_hash *hash, const char **ret_path, struct err *err);

#endif

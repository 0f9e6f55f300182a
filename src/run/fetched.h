/*
 * fetched - what came over the network, kept in the data folder under its hash.
 *
 * Nothing is kept in a dry run. What was not used for FETCHED_AGE goes, and beyond
 * FETCHED_BYTES_MAX what was not used for the longest time.
 *
 * Memory: the arena of the call. Threads: any; also of several processes.
 */
#ifndef RUN_FETCHED_H
#define RUN_FETCHED_H

#include <stdint.h>

#include "base/str.h"
#include "sys/clock.h"

struct arena;
struct err;
struct state_host;

#define FETCHED_BYTES_MAX ((uint64_t)2 << 30)
#define FETCHED_AGE       (30 * 24 * 3600 * CLOCK_SECOND)

/* What is kept under the hash, as somebody may have damaged it; a NULL view: nothing. */
void fetched_find(struct arena *arena, const struct state_host *host, struct str hash,
                  struct str *ret_bytes);
/* Keep it, unless the run is a dry one, and drop what is too old or too much. */
int fetched_keep(struct arena *arena, const struct state_host *host, struct str hash,
                 struct str bytes, struct err *err);

#endif

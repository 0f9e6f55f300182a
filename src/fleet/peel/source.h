/*
 * source - which folder states are read from, found anew for each execution.
 *
 * The cache of what masters publish when it has files, else the folder that came with the machine.
 * The cache is replaced by renaming, and is not there for a moment meanwhile: one that is empty is
 * looked at a few times before the other folder is used.
 *
 * Threads: any; blocks for SOURCE_TRIES pauses at most.
 */
#ifndef FLEET_PEEL_SOURCE_H
#define FLEET_PEEL_SOURCE_H

#include <stdbool.h>

struct err;

#define SOURCE_TRIES    5
#define SOURCE_PAUSE_NS (INT64_C(25) * 1000000)

#define SOURCE_UNAVAILABLE                                                                         \
    "states engine unavailable: no states directory exists yet (state files not yet synced from "  \
    "KV and no baked states dir); retry after state files are published"

struct source_folders {
    const char *cache, *baked;
};

/* NULL, and SOURCE_UNAVAILABLE in `err`, when there is neither. `ret_fell_back` says that the
 * cache was empty. */
const char *source_find(const struct source_folders *folders, bool *ret_fell_back, struct err *err);
/* Is there one now? Does not wait. */
bool source_is_there(const struct source_folders *folders);

#endif

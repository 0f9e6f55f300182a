/*
 * packages_index - the index of what repositories have, brought up to date.
 *
 * Several states of a run that want a fresh one share one refresh, unless they insist.
 *
 * Threads: under PACKAGES_LOCK.
 */
#ifndef MODULES_PKG_PACKAGES_INDEX_H
#define MODULES_PKG_PACKAGES_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct packages;

struct packages_index {
    bool asked;       /* also when this process did it a moment ago */
    int64_t valid;    /* nanoseconds: one that is younger will do; 0: none */
    const char *list; /* only what this file names, where the manager can; NULL: all */
};

#define PACKAGES_INDEX_PARAM(type, field)                                                          \
    PARAM("cache_valid_time", DURATION, type, field,                                               \
          "an index that is younger, in seconds, is not refreshed")

/* Waits while somebody else does the same. Fails in a dry run. */
int packages_index_refresh(struct packages *packages, const struct packages_index *how,
                           struct err *err);

#endif

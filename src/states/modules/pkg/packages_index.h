/*
 * packages_index - refreshes the package index.
 *
 * States of a run that need a fresh index share one refresh, unless they force their own.
 *
 * Threads: under PACKAGES_LOCK.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_INDEX_H
#define STATES_MODULES_PKG_PACKAGES_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct packages;

struct packages_index {
    bool asked;       /* even if this process just did it */
    int64_t valid;    /* nanoseconds: a younger index is accepted; 0: none */
    const char *list; /* only the repositories in this file, if supported; NULL: all */
};

#define PACKAGES_INDEX_PARAM(type, field)                                                          \
    PARAM("cache_valid_time", DURATION, type, field,                                               \
          "do not refresh an index younger than this, in seconds")

/* Waits while another process does the same. Fails in a dry run. */
int packages_index_refresh(struct packages *packages, const struct packages_index *how,
                           struct err *err);

#endif

/*
 * sources - chooses the folder from which an agent reads states.
 *
 * Before every execution the agent chooses again: the cache, the local mirror of the published
 * files, if it has files; else the baked-in folder. The cache is replaced by a swap of folders, so
 * it may be missing for a moment: an empty or missing cache is checked SOURCES_LOOKS times before
 * the fallback.
 *
 * Threads: any.
 */
#ifndef COMPILE_SOURCES_H
#define COMPILE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define SOURCES_LOOKS   5
#define SOURCES_WAIT_NS (25 * INT64_C(1000000))

/* Logged by the caller when sources_pick fell back. */
#define SOURCES_WARNING                                                                            \
    "state-file cache dir empty or missing after retries, falling back to baked states dir"
/* The error when there is neither. */
#define SOURCES_UNAVAILABLE                                                                        \
    "states engine unavailable: no states directory exists yet (state files not yet synced from "  \
    "KV and no baked states dir); retry after state files are published"
/* Logged by the caller when that happens at startup. */
#define SOURCES_UNAVAILABLE_AT_BOOT                                                                \
    "states engine unavailable at boot; will build when state files appear"

struct sources {
    const char *cache; /* NULL: none is configured */
    const char *baked;
    /* Waits between two checks; tests advance their clock instead. */
    void (*sleep)(void *user, int64_t ns);
    void *user;
};

/* The folder to read states from, one of the two. `ret_fell_back`: the cache was configured and is
 * empty. Fails with ERR_NOT_FOUND and SOURCES_UNAVAILABLE when no folder exists. */
int sources_pick(const struct sources *sources, const char **ret_folder, bool *ret_fell_back,
                 struct err *err);

#endif

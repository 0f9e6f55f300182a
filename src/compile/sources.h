/*
 * sources - which folder the states of an agent are read from.
 *
 * Before every execution the agent asks again: the cache, the local mirror of the
 * published files, when it holds files; else the baked-in folder. The cache is
 * replaced by a swap of folders, so for a moment it may not be there: an empty or
 * missing cache is looked at SOURCES_LOOKS times before that is believed.
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

/* Logged by the caller when sources_pick says that it fell back. */
#define SOURCES_WARNING                                                                            \
    "state-file cache dir empty or missing after retries, falling back to baked states dir"
/* The error when there is neither. */
#define SOURCES_UNAVAILABLE                                                                        \
    "states engine unavailable: no states directory exists yet (state files not yet synced from "  \
    "KV and no baked states dir); retry after state files are published"
/* Logged by the caller when that is so at its start. */
#define SOURCES_UNAVAILABLE_AT_BOOT                                                                \
    "states engine unavailable at boot; will build when state files appear"

struct sources {
    const char *cache; /* NULL: none is configured */
    const char *baked;
    /* Waits between two looks; a test turns its clock instead. */
    void (*sleep)(void *user, int64_t ns);
    void *user;
};

/* The folder to read states from, one of the two. `ret_fell_back`: the cache was configured and is
 * empty. Fails with ERR_NOT_FOUND and SOURCES_UNAVAILABLE when no folder exists. */
int sources_pick(const struct sources *sources, const char **ret_folder, bool *ret_fell_back,
                 struct err *err);

#endif

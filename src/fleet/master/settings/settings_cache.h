/*
 * settings cache - the settings of all peels, for the targets I@ and J@.
 *
 * A master renders them from the published tree, the peel's id and its facts, as the peel does; the
 * published tree has no secrets (settings_tree_disclose). All masters have the same tree, so all
 * give the same answer.
 *
 * They are made on demand: the tree is fetched, and workers render the settings of all peels whose
 * facts or tree have changed. Peels with equal settings share one copy. If rendering fails, the
 * settings are unknown (language/target/index.h).
 *
 *     settings_cache_new -> { settings_cache_await -> ready }... -> settings_cache_free
 *
 * Threads: the loop's; workers render.
 */
#ifndef FLEET_MASTER_SETTINGS_SETTINGS_CACHE_H
#define FLEET_MASTER_SETTINGS_SETTINGS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sys/timers.h"

struct arena;
struct background_tasks;
struct master;
struct settings_cache;

/* A wait for settings; lives in its owner's struct until the call. */
struct settings_wait {
    /* Once: `problem` is NULL when the roster has the settings, until the loop turns. Otherwise it
     * says why not, and `wait->is_late` whether it only took too long. */
    void (*ready)(struct settings_wait *wait, const char *problem);
    bool is_late;

    /* for settings_cache.c */
    struct settings_cache *cache;
    struct settings_wait *next;
    struct timer timer;
};

/* The master's roster and the background tasks must exist, and outlive it. */
struct settings_cache *settings_cache_new(struct master *master,
                                          struct background_tasks *background_tasks);
/* Waiters are called with a problem. NULL is fine. */
void settings_cache_free(struct settings_cache *cache);

/* `ready` may be called at once, and is called within `timeout` nanoseconds. */
void settings_cache_await(struct settings_cache *cache, struct settings_wait *wait,
                          int64_t timeout);

/* A warning about peels whose settings failed, in the arena; "": none. */
const char *settings_cache_warning(const struct settings_cache *cache, struct arena *arena);

#endif

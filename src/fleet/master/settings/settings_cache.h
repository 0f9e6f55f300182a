/*
 * settings cache - the settings of all peels as targets may see them, for I@ and J@.
 *
 * A master makes them from what is published, the id of the peel and its facts, by the rules of the
 * peel itself; secrets are left out, since the published tree does not have them
 * (settings_tree_disclose). All masters have the same tree, so all give the same answer.
 *
 * Nothing is done until somebody waits. Then the tree is fetched, and the settings are made of all
 * peels whose facts or whose tree have changed since; workers do that. Peels with equal settings
 * share one copy. A peel whose settings cannot be made has unknown ones (language/target/index.h).
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

/* Somebody who needs the settings; in the struct of its owner until it is called. */
struct settings_wait {
    /* Once: `problem` is NULL when the roster has the settings, until the loop turns. Otherwise it
     * says why not, and `wait->is_late` whether it only took too long. */
    void (*ready)(struct settings_wait *wait, const char *problem);
    bool is_late;

    /* for settings_book.c */
    struct settings_cache *cache;
    struct settings_wait *next;
    struct timer timer;
};

/* The roster of the master must be there, and outlive it; so must the chores. */
struct settings_cache *settings_cache_new(struct master *master,
                                          struct background_tasks *background_tasks);
/* Whoever waits is called with a problem. NULL is fine. */
void settings_cache_free(struct settings_cache *cache);

/* `ready` may be called at once, and is called within `timeout` nanoseconds. */
void settings_cache_await(struct settings_cache *cache, struct settings_wait *wait,
                          int64_t timeout);

/* A warning about peels whose settings cannot be made, in the arena; "": there are none. */
const char *settings_cache_warning(const struct settings_cache *cache, struct arena *arena);

#endif

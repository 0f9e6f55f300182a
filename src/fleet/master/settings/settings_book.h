/*
 * settings_book - the settings of all peels as targets may see them, for I@ and J@.
 *
 * A master makes them from what is published, the id of the peel and its facts, by the rules of the
 * peel itself; secrets are left out, since the published tree does not have them
 * (settings_tree_disclose). All masters have the same tree, so all give the same answer.
 *
 * Nothing is done until somebody waits. Then the tree is fetched, and the settings are made of all
 * peels whose facts or whose tree have changed since; workers do that. Peels with equal settings
 * share one copy. A peel whose settings cannot be made has unknown ones (language/target/index.h).
 *
 *     settings_book_new -> { settings_book_await -> ready }... -> settings_book_free
 *
 * Threads: the loop's; workers render.
 */
#ifndef FLEET_MASTER_SETTINGS_SETTINGS_BOOK_H
#define FLEET_MASTER_SETTINGS_SETTINGS_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sys/timers.h"

struct arena;
struct chores;
struct master;
struct settings_book;

/* Somebody who needs the settings; in the struct of its owner until it is called. */
struct settings_wait {
    /* Once: `problem` is NULL when the roster has the settings, until the loop turns. Otherwise it
     * says why not, and `wait->is_late` whether it only took too long. */
    void (*ready)(struct settings_wait *wait, const char *problem);
    bool is_late;

    /* for settings_book.c */
    struct settings_book *book;
    struct settings_wait *next;
    struct timer timer;
};

/* The roster of the master must be there, and outlive it; so must the chores. */
struct settings_book *settings_book_new(struct master *master, struct chores *chores);
/* Whoever waits is called with a problem. NULL is fine. */
void settings_book_free(struct settings_book *book);

/* `ready` may be called at once, and is called within `timeout` nanoseconds. */
void settings_book_await(struct settings_book *book, struct settings_wait *wait, int64_t timeout);

/* A warning about peels whose settings cannot be made, in the arena; "": there are none. */
const char *settings_book_warning(const struct settings_book *book, struct arena *arena);

#endif

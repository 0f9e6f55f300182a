/*
 * maintenance window - when this machine may be changed: the key `maintenance_windows`, of the
 * settings or else of the configuration.
 *
 *     maintenance_windows: ["Sat,Sun 01:00-05:00", "22:00-23:00 UTC"]
 *
 * Without windows it may always be changed. Malformed windows forbid every change until they are
 * fixed.
 *
 *     MAINTENANCE_WINDOW_INIT -> maintenance_window_read... -> maintenance_window_done
 *
 * Memory: its own. Threads: the loop's.
 */
#ifndef FLEET_PEEL_MAINTENANCE_WINDOW_H
#define FLEET_PEEL_MAINTENANCE_WINDOW_H

#include <stdbool.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "core/sys/window.h"

struct value;

struct maintenance_window {
    struct arena arena;
    VEC(struct window) windows;
    const char *text;    /* as written, for messages */
    const char *problem; /* NULL: well-formed */
};

#define MAINTENANCE_WINDOW_INIT                                                                    \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

/* Reads a list of texts, or one; NULL or null: none. Returns the mistake, or NULL. */
const char *maintenance_window_read(struct maintenance_window *maintenance_window,
                                    const struct value *windows);
void maintenance_window_done(struct maintenance_window *maintenance_window);

/* May the machine be changed now? */
bool maintenance_window_allows(const struct maintenance_window *maintenance_window, time_t now);
/* Next time when it may be changed; (time_t)-1: not known. */
time_t maintenance_window_next(const struct maintenance_window *maintenance_window, time_t now);
/* The reason why not, for people; in the arena. */
const char *maintenance_window_describe(const struct maintenance_window *maintenance_window,
                                        struct arena *arena, time_t now);

/* Is the request a dry run? */
bool maintenance_window_is_dry_run(const char *function, const struct value *args);
/* Would this function change the machine now, outside of the windows? `ret_next` is when the next
 * one opens, as maintenance_window_next says. */
bool maintenance_window_forbids(const struct maintenance_window *maintenance_window,
                                const char *function, const struct value *args, time_t now,
                                time_t *ret_next);

#endif

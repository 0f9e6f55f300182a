/*
 * curfew - when this machine may be changed: the key `maintenance_windows`, of the settings or else
 * of the configuration.
 *
 *     maintenance_windows: ["Sat,Sun 01:00-05:00", "22:00-23:00 UTC"]
 *
 * Without any it always may be. Windows that cannot be read forbid every change until they can,
 * since nobody knows when it is allowed.
 *
 *     CURFEW_INIT -> curfew_read... -> curfew_done
 *
 * Memory: its own. Threads: the loop's.
 */
#ifndef FLEET_PEEL_CURFEW_H
#define FLEET_PEEL_CURFEW_H

#include <stdbool.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "core/sys/window.h"

struct value;

struct curfew {
    struct arena arena;
    VEC(struct window) windows;
    const char *text;    /* as they were written, for messages */
    const char *problem; /* NULL: they can be read */
};

#define CURFEW_INIT                                                                                \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

/* A list of texts, or one; NULL or null: none. Returns the mistake in it, or NULL. */
const char *curfew_read(struct curfew *curfew, const struct value *windows);
void curfew_done(struct curfew *curfew);

/* May the machine be changed now? */
bool curfew_allows(const struct curfew *curfew, time_t now);
/* When it may be again; (time_t)-1: nobody knows. */
time_t curfew_next(const struct curfew *curfew, time_t now);
/* Why not now, for people; in the arena. */
const char *curfew_describe(const struct curfew *curfew, struct arena *arena, time_t now);

/* Does the request ask for a dry run? */
bool curfew_is_dry_run(const char *function, const struct value *args);
/* Would this function change the machine now, outside of the windows? `ret_next` is when the next
 * one opens, as curfew_next says. */
bool curfew_forbids(const struct curfew *curfew, const char *function, const struct value *args,
                    time_t now, time_t *ret_next);

#endif

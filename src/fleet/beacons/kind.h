/*
 * beacon - a check that an agent runs on its machine: one file of this folder for each kind.
 *
 * NAME.c, without a header, exports `const struct beacon_kind beacon_kind_NAME`. The build makes
 * the table from the file names; nothing else must be changed.
 *
 * A check has two steps. `observe` runs in a worker and returns readings: items, each with a key
 * and a state. fleet/beacons/tracker.h compares them with the previous states and returns the
 * changes. `say` turns a change into the data of an event.
 *
 *     section_read -> { observe -> tracker_feed -> say }...
 *
 * Memory: readings are in the arena of the look. Threads: observe runs in one worker at a time, the
 * rest in the loop.
 */
#ifndef FLEET_BEACONS_KIND_H
#define FLEET_BEACONS_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct arena;
struct diags;
struct err;

/* Services, files, processes of one beacon. */
#define BEACON_ITEMS_MAX 1000
/* Readings of one look; more is an error. */
#define BEACON_READINGS_MAX 10000
/* The shortest time between two checks. */
#define BEACON_INTERVAL_MIN (INT64_C(100) * 1000000)

enum beacon_own { BEACON_OWN_MARK, BEACON_OWN_IGNORE };

/* Common part of all sections; the first member of each kind's struct. */
struct beacon_common {
    int64_t interval, hold;
    bool onchangeonly, enabled;
    enum beacon_own own_changes;
};

/* Its rows. */
/* clang-format off */
#define BEACON_COMMON(type, field, every)                                                                                    \
    PARAM("interval", DURATION, type, field.interval, "from one look to the next", .default_text = (every),                  \
          PARAM_RANGE(BEACON_INTERVAL_MIN, INT64_MAX)),                                                                      \
    PARAM("onchangeonly", BOOL, type, field.onchangeonly, "report changes only; false: every look", .default_text = "true"), \
    PARAM("for", DURATION, type, field.hold, "a state must last so long before it counts", .default_text = "0s"),            \
    PARAM("own_changes", CHOICE, type, field.own_changes,                                                                    \
          "what was changed while a job of this agent ran: mark the event with it, or ignore the change",                    \
          .choices = "mark|ignore", .default_text = "mark"),                                                                 \
    PARAM("enabled", BOOL, type, field.enabled, "whether it counts", .default_text = "true")
/* clang-format on */

/* The current state of one item. */
struct beacon_reading {
    const char *key;
    const char
        *state; /* unless a level or happened; NULL: not known now, the previous state stays */
    struct value data;          /* a map with more about it; null: none */
    bool is_level;              /* an amount with a limit: its state is "over" or "ok" */
    double amount, over, clear; /* ok again at `clear` or below */
    bool happened;              /* always reported, and not remembered */
    bool is_moving;             /* it is about to change again */
};
struct beacon_readings {
    VEC(struct beacon_reading) list;
};

struct beacon_change {
    const char *key;
    const struct beacon_reading *reading; /* NULL: it is gone */
    const char *state, *previous;         /* NULL: gone; not there before */
};

/* One check. */
struct beacon_look {
    struct arena *arena;
    void *memory; /* of the kind, kept between checks; zero at first */
};

struct beacon_paths {
    VEC(const char *) list;
};

struct beacon_kind {
    const char *name, *summary;
    const struct param *params;
    size_t args_size, memory_size;
    bool is_slow;       /* its check runs programs: jobs do not wait for it */
    bool tells_absence; /* appearing and disappearing items are changes */
    /* Checks beyond the table; adds to `diags`. May be NULL. */
    void (*check)(struct arena *arena, void *args, const struct value *given, struct diags *diags);
    int (*observe)(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                   struct err *err);
    void (*say)(struct arena *arena, const struct beacon_change *change, struct value_map *data);
    /* Patterns of files whose changes trigger a check; NULL: none. */
    void (*watch)(struct arena *arena, const void *args, struct beacon_paths *ret);
    /* Frees the memory's content; NULL: none. */
    void (*forget)(void *memory);
};

/* All of them, by name; ends in a NULL pointer. Written by tools/gen-beacons. */
extern const struct beacon_kind *const beacon_kind_table[];
/* NULL: no such kind. */
const struct beacon_kind *beacon_kind_find(const char *name);

#endif

/*
 * fleet_enrollments - reads the bucket of enrollments and selects the records to show.
 *
 *     fleet_enrollments_take, for each entry -> fleet_enrollments_end -> `records`
 *
 * Memory: the arena. Threads: any.
 */
#ifndef FLEET_VIEW_ENROLLMENTS_H
#define FLEET_VIEW_ENROLLMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/wire/enrollment.h"

struct arena;
struct value;

/* Instead of a state: all records. */
#define FLEET_ENROLLMENTS_ALL "all"

struct fleet_enrollments {
    struct arena *arena;
    VEC(struct enrollment) records;
    struct map current; /* id of an enrollment in the index -> non-NULL */
};

#define FLEET_ENROLLMENTS_INIT(arena_)                                                             \
    {                                                                                              \
        .arena = (arena_), .current = MAP_INIT_IN(arena_)                                          \
    }

/* An entry of the bucket; malformed ones are ignored. */
void fleet_enrollments_take(struct fleet_enrollments *enrollments, struct str key,
                            struct str value);
/* After the last entry: sorts the records by time. */
void fleet_enrollments_end(struct fleet_enrollments *enrollments);

/* Is it a state, or 'all'? And the names of states: "pending, approved, ...". */
bool fleet_enrollments_has_state(const char *state);
const char *fleet_enrollments_states(struct arena *arena);
/* Skips replaced records, and those not in the index, which were never admitted. */
bool fleet_enrollments_lists(const struct fleet_enrollments *enrollments,
                             const struct enrollment *record, const char *state);

/* id, peel_id, hostname, source, state, trust, created. */
struct value fleet_enrollment_value(struct arena *arena, const struct enrollment *record);
/* "": not set. */
const char *fleet_enrollment_time(struct arena *arena, struct value_time time);

#endif

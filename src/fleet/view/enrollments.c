#include "fleet/view/enrollments.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "fleet/enroll/admission.h"
#include "fleet/wire/peel_id.h"

/* --- reading ------------------------------------------------------------------------ */

static void add_enrollment_record(struct fleet_enrollments *enrollments, struct str value)
{
    struct enrollment record;
    struct err err;

    if (record_decode(enrollments->arena, &enrollment_type, 1, arena_str(enrollments->arena, value),
                      &record, &err) == 0)
        VEC_PUSH_IN(enrollments->arena, &enrollments->records, record);
}

void fleet_enrollments_take(struct fleet_enrollments *enrollments, struct str key, struct str value)
{
    if (str_starts(key, STR(ADMISSION_ID)))
        add_enrollment_record(enrollments, value);
    else if (str_starts(key, STR(ADMISSION_INDEX)))
        (void)map_set(&enrollments->current, arena_str(enrollments->arena, value), enrollments);
}

static int compare_records(const void *a, const void *b)
{
    const struct enrollment *left = a, *right = b;

    return strcmp(left->id, right->id); /* by time: an id begins with it */
}

void fleet_enrollments_end(struct fleet_enrollments *enrollments)
{
    if (enrollments->records.n > 1)
        qsort(enrollments->records.p, enrollments->records.n, sizeof(enrollments->records.p[0]),
              compare_records);
}

/* --- which -------------------------------------------------------------------------- */

bool fleet_enrollments_has_state(const char *state)
{
    enum enrollment_state found;

    return strcmp(state, FLEET_ENROLLMENTS_ALL) == 0 ||
           enrollment_state_find(str_from(state), &found);
}

const char *fleet_enrollments_states(struct arena *arena)
{
    const char *text = enrollment_state_name(0);

    for (int i = 1; i < ENROLLMENT_STATES; i++)
        text = arena_printf(arena, "%s, %s", text, enrollment_state_name((enum enrollment_state)i));
    return text;
}

bool fleet_enrollments_lists(const struct fleet_enrollments *enrollments,
                             const struct enrollment *record, const char *state)
{
    if (strcmp(state, FLEET_ENROLLMENTS_ALL) == 0)
        return true;
    return strcmp(enrollment_state_name(record->state), state) == 0 &&
           (enrollment_state_is_final(record->state) ||
            map_has(&enrollments->current, str_from(record->id)));
}

/* --- showing ------------------------------------------------------------------------ */

static void set_enrollment_text(struct arena *arena, struct value_map *map, const char *key,
                                const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text ? text : ""));
}

const char *fleet_enrollment_time(struct arena *arena, struct value_time time)
{
    return time.seconds == 0 ? "" : time_text(arena, time);
}

struct value fleet_enrollment_value(struct arena *arena, const struct enrollment *record)
{
    struct value_map *map = value_map_new(arena, 7);

    set_enrollment_text(arena, map, "id", record->id);
    set_enrollment_text(arena, map, "peel_id", peel_id_name(arena, record->peel_id));
    set_enrollment_text(arena, map, "hostname", record->hostname);
    set_enrollment_text(arena, map, "source", record->remote_addr);
    set_enrollment_text(arena, map, "state", enrollment_state_name(record->state));
    set_enrollment_text(arena, map, "trust", admission_trust(record));
    set_enrollment_text(arena, map, "created", fleet_enrollment_time(arena, record->created_at));
    return value_map(map);
}

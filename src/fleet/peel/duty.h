/*
 * duty - an entry of the schedule or a beacon, and where it is from.
 *
 * The configuration file has some, the settings have some, and some were changed by hand
 * (fleet/peel/overlay.h). Of two with one name that of the settings counts; a disabled entry of
 * their schedule does not hide that of the file. What was changed by hand goes over both.
 *
 * Pure. Memory: the arena, and what was given. Threads: any.
 */
#ifndef FLEET_PEEL_DUTY_H
#define FLEET_PEEL_DUTY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"
#include "fleet/peel/overlay.h"

struct arena;

/* Of one kind, from all sources. */
#define DUTIES_MAX 1000

enum duty_source { DUTY_OF_FILE, DUTY_OF_SETTINGS, DUTY_ADDED };

struct duty {
    struct str name; /* ends with NUL */
    struct value value;
    enum duty_source source;
    bool is_changed; /* by hand, after its source */
};
struct duties {
    bool is_on;
    VEC(struct duty) list;
    size_t left_out;     /* beyond DUTIES_MAX */
    const char *refused; /* what the settings are instead of a map; NULL: they are one */
};

struct duty_sources {
    const struct value *file, *settings; /* maps; or NULL */
    const struct overlay_part *overlay;
};

struct duties duties_merge(struct arena *arena, enum duty_kind kind,
                           const struct duty_sources *sources);
/* NULL: no such name. */
const struct duty *duties_find(const struct duties *duties, struct str name);
/* Does the duty say so? Whether all are switched off does not count. */
bool duty_is_enabled(const struct duty *duty);
/* "settings, changed on the peel" */
const char *duty_source_text(const struct duty *duty);

#endif

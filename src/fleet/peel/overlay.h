/*
 * overlay - manual changes of this machine's schedule and beacons (schedule.add, beacons.disable,
 * ...), kept across restarts.
 *
 * An entry is complete (added here), or has the changed keys of an entry in the configuration or
 * the settings. A change takes effect after the file is replaced and flushed.
 *
 *     overlay_load -> { overlay_copy, change the copy, overlay_save }...
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef FLEET_PEEL_OVERLAY_H
#define FLEET_PEEL_OVERLAY_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct err;

/* Changed entries, for the schedule and for the beacons each. */
#define OVERLAY_ENTRIES_MAX 200
/* Bytes of the file. */
#define OVERLAY_SIZE_MAX ((size_t)1 << 20)
/* Bytes of a name. */
#define OVERLAY_NAME_MAX 128

enum schedule_entry_kind { SCHEDULE_ENTRY_SCHEDULE, SCHEDULE_ENTRY_BEACON };
#define SCHEDULE_ENTRY_KINDS (SCHEDULE_ENTRY_BEACON + 1)

struct overlay_entry {
    const char *name;
    bool is_whole;
    struct value keys; /* a map; a null removes the key */
};
struct overlay_part {
    bool is_off; /* switches all off */
    VEC(struct overlay_entry) entries;
};
struct overlay {
    struct overlay_part parts[SCHEDULE_ENTRY_KINDS];
};

/* Without a file it is empty. Fails when the file is damaged. */
int overlay_load(struct arena *arena, const char *data_dir, struct overlay *ret, struct err *err);
/* Fails with ERR_LIMIT for too many or too large changes. */
int overlay_save(const struct overlay *overlay, const char *data_dir, struct err *err);
struct overlay overlay_copy(struct arena *arena, const struct overlay *overlay);

/* NULL: not changed. */
struct overlay_entry *overlay_find(const struct overlay_part *part, struct str name);
/* The same, created if needed. */
struct overlay_entry *overlay_get(struct arena *arena, struct overlay_part *part, struct str name);
void overlay_remove(struct overlay_part *part, struct overlay_entry *entry);

#endif

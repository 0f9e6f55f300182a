/*
 * canary - does a canary of the states (fleet/wire/canary.h) mean this peel?
 *
 * The peel decides itself, by its id and its facts: when the record changes, and when they do.
 *
 *     canary_note -> { canary_has_changed }... -> canary_done
 *
 * Memory: the last record is copied. Threads: the loop's.
 */
#ifndef FLEET_PEEL_CANARY_H
#define FLEET_PEEL_CANARY_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/str.h"

struct target_subject;

struct peel_canary {
    struct arena arena;
    struct str record; /* a NULL view: there is none */
    bool is_meant;     /* by it */
};

/* By a record; a NULL view, and one that cannot be read, means nobody. */
bool canary_means(struct str record, const struct target_subject *subject);

/* This is the record now. Does it mean this machine? */
bool canary_note(struct peel_canary *canary, struct str record,
                 const struct target_subject *subject);
/* Does it mean this machine now, and did not before, or the other way around? */
bool canary_has_changed(const struct peel_canary *canary, const struct target_subject *subject);
void canary_done(struct peel_canary *canary);

#endif

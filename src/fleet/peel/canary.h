/*
 * canary - does a canary of the states (fleet/wire/canary.h) include this peel?
 *
 * The peel decides itself, by its id and facts, whenever the record or the facts change.
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
    struct str record; /* a NULL view: no canary */
    bool is_meant;     /* by it */
};

/* Does this record include the peel? A NULL view or malformed record includes none. */
bool canary_means(struct str record, const struct target_subject *subject);

/* Stores the record. Does it include this machine? */
bool canary_note(struct peel_canary *canary, struct str record,
                 const struct target_subject *subject);
/* Has its answer for this machine changed? */
bool canary_has_changed(const struct peel_canary *canary, const struct target_subject *subject);
void canary_done(struct peel_canary *canary);

#endif

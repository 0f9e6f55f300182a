/*
 * fleet_approvals - jobs that wait for a second person (fleet/wire/approval.h), for people and
 * programs.
 *
 *     fleet_approvals_take... -> fleet_approvals_sort -> fleet_approval_value...
 *
 * Memory: the arena. Threads: one.
 */
#ifndef FLEET_VIEW_APPROVALS_H
#define FLEET_VIEW_APPROVALS_H

#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/wire/approval.h"

struct arena;

struct fleet_approvals {
    struct arena *arena;
    VEC(struct approval) list;
};

/* An entry of the bucket; malformed ones are left out. */
void fleet_approvals_take(struct fleet_approvals *approvals, struct str value);
/* Sorts by time, newest first. */
void fleet_approvals_sort(struct fleet_approvals *approvals);
struct value fleet_approval_value(struct arena *arena, const struct approval *approval);

#endif

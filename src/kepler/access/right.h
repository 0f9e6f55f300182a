/*
 * right - the rights that a caller of the daemon can have, as one table.
 *
 * Requests (kepler/control/request.h) name the rights that they need; files grant them by the same
 * names (`kepler.acl`, `permissions`). The list is flat: 'start' does not include 'start:no-deps',
 * and 'start:no-deps' is worth nothing without 'start'. A set of rights is a bit mask.
 *
 * Pure. Memory: none, but where an arena is given. Threads: any.
 */
#ifndef KEPLER_ACCESS_RIGHT_H
#define KEPLER_ACCESS_RIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct suggest;

enum right {
    RIGHT_START,
    RIGHT_START_ENV,
    RIGHT_START_HARDENING,
    RIGHT_START_NO_DEPS,
    RIGHT_RUN,
    RIGHT_RUN_ENV,
    RIGHT_RUN_HARDENING,
    RIGHT_RUN_NO_DEPS,
    RIGHT_RUN_START_CLEAN,
    RIGHT_STOP,
    RIGHT_STOP_CLEAN,
    RIGHT_STOP_SIGNAL,
    RIGHT_RESTART,
    RIGHT_RESTART_ENV,
    RIGHT_RESTART_NO_DEPS,
    RIGHT_RECREATE,
    RIGHT_RECREATE_ENV,
    RIGHT_RECREATE_HARDENING,
    RIGHT_STATUS,
    RIGHT_INSPECT,
    RIGHT_INSPECT_SERVICES,
    RIGHT_INSPECT_ENVIRONMENT,
    RIGHT_INSPECT_FLAGS,
    RIGHT_LOGS,
    RIGHT_LOGS_SEARCH,
    RIGHT_LOGS_SEARCH_SQL,
    RIGHT_SUBSCRIBE,
    RIGHT_QUIESCENCE,
    RIGHT_READINESS,
    RIGHT_MONITOR,
    RIGHT_MONITOR_SEARCH,
    RIGHT_MONITOR_SEARCH_SQL,
};
#define RIGHTS (RIGHT_MONITOR_SEARCH_SQL + 1)

/* The alias for all rights. */
#define RIGHT_ALL_NAME "all"

#define RIGHT_BIT(right) (UINT64_C(1) << (right))
#define RIGHT_ALL        (RIGHT_BIT(RIGHTS) - 1)

const char *right_name(enum right right);
/* False when there is no such right; 'all' is not a right. */
bool right_find(struct str name, enum right *ret_right);
/* Offer all names for "did you mean". */
void right_offer(struct suggest *suggest);

/* The names in a set, as a list of texts, in the order of the table. */
struct value right_values(struct arena *arena, uint64_t set);
/* The set for a list of names, as right_values makes it; unknown names are ignored. */
uint64_t right_read(const struct value *names);
/* "'start' and 'start:no-deps'". */
void right_print(uint64_t set, struct buf *out);
/* One line per right, for the manual. */
void right_print_list(struct buf *out);

#endif

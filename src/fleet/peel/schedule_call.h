/*
 * schedule call - one call of a schedule function (fleet/peel/schedule_admin.h): its arguments,
 * helpers and answer. The functions themselves are in schedule_entry_show.c and
 * schedule_entry_change.c.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef FLEET_PEEL_SCHEDULE_CALL_H
#define FLEET_PEEL_SCHEDULE_CALL_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/value.h"
#include "fleet/peel/schedule_entry.h"

struct scheduler;
struct arena;
struct schedule_admin;
struct schedule_admin_call;

struct schedule_call {
    struct schedule_admin *schedule_admin;
    struct scheduler *scheduler;
    struct arena *arena;
    struct schedule_admin_call *call;
    enum schedule_entry_kind kind;
    struct str name;    /* the positional argument; empty: none */
    struct value given; /* a map: the other arguments */
    const struct value *settings;
    struct schedule_entries now;
    struct value said;
    const char *error; /* NULL: none */
};

/* Words for the two kinds. */
struct schedule_entry_words {
    const char *key, *one, *all;
};
extern const struct schedule_entry_words schedule_entry_words[SCHEDULE_ENTRY_KINDS];

/* Returns -1. */
int schedule_call_fail(struct schedule_call *schedule_call, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Fails without a valid name. */
int schedule_call_need_name(struct schedule_call *schedule_call);
/* NULL: no such schedule entry; the call has failed. */
const struct schedule_entry *schedule_call_need_entry(struct schedule_call *schedule_call);
/* Fails for other arguments. */
int schedule_call_refuse_keys(struct schedule_call *schedule_call);
/* All mistakes in a schedule entry; NULL: none. */
const char *schedule_call_find_mistakes(struct schedule_call *schedule_call,
                                        const struct schedule_entry *schedule_entry);
/* The entry in one line. */
const char *schedule_call_print_entry(struct schedule_call *schedule_call,
                                      const struct schedule_entry *schedule_entry);

/* --- for schedule admin -------------------------------------------------------------- */

/* A copy of the current manual changes, to add one. */
struct overlay schedule_call_begin_change(struct schedule_call *schedule_call);
/* The entries with this overlay. */
struct schedule_entries schedule_call_merge(struct schedule_call *schedule_call,
                                            const struct overlay *overlay);
/* Stores the overlay on disk and applies it. */
int schedule_call_adopt(struct schedule_call *schedule_call, const struct overlay *wanted);

/* --- functions ---------------------------------------------------------------------- */

int schedule_entry_list(struct schedule_call *schedule_call);
int schedule_entry_show_enabled(struct schedule_call *schedule_call);
int schedule_entry_show_next(struct schedule_call *schedule_call);
int schedule_entry_run(struct schedule_call *schedule_call);
int schedule_entry_add(struct schedule_call *schedule_call);
int schedule_entry_modify(struct schedule_call *schedule_call);
int schedule_entry_delete(struct schedule_call *schedule_call);
int schedule_entry_enable(struct schedule_call *schedule_call);
int schedule_entry_disable(struct schedule_call *schedule_call);
int schedule_entry_enable_all(struct schedule_call *schedule_call);
int schedule_entry_disable_all(struct schedule_call *schedule_call);

#endif

/*
 * deed - one call of a function of the routine (fleet/peel/routine.h): its arguments, what it may
 * ask, and what it answers. The functions themselves are in duty_show.c and duty_change.c.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef FLEET_PEEL_DEED_H
#define FLEET_PEEL_DEED_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/value.h"
#include "fleet/peel/duty.h"

struct agenda;
struct arena;
struct routine;
struct routine_call;

struct deed {
    struct routine *routine;
    struct agenda *agenda;
    struct arena *arena;
    struct routine_call *call;
    enum duty_kind kind;
    struct str name;    /* the positional argument; empty: none */
    struct value given; /* a map: the other arguments */
    const struct value *settings;
    struct duties now;
    struct value said;
    const char *error; /* NULL: none */
};

/* What the two kinds are called. */
struct duty_words {
    const char *key, *one, *all;
};
extern const struct duty_words duty_words[DUTY_KINDS];

/* Returns -1. */
int deed_fail(struct deed *deed, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Fails without a name that can be one. */
int deed_need_name(struct deed *deed);
/* NULL: there is no duty of that name, and the call has failed. */
const struct duty *deed_need_duty(struct deed *deed);
/* Fails when there are other arguments. */
int deed_refuse_keys(struct deed *deed);
/* What is wrong with a duty, all of it; NULL: nothing. */
const char *deed_find_mistakes(struct deed *deed, const struct duty *duty);
/* The entry in one line. */
const char *deed_print_entry(struct deed *deed, const struct duty *duty);

/* --- of the routine ------------------------------------------------------------------ */

/* What was changed by hand so far, to be changed further. */
struct overlay deed_begin_change(struct deed *deed);
/* What would count with that. */
struct duties deed_merge(struct deed *deed, const struct overlay *overlay);
/* The overlay becomes this one, and is on disk then. */
int deed_adopt(struct deed *deed, const struct overlay *wanted);

/* --- functions ---------------------------------------------------------------------- */

int duty_list(struct deed *deed);
int duty_show_enabled(struct deed *deed);
int duty_show_next(struct deed *deed);
int duty_run(struct deed *deed);
int duty_add(struct deed *deed);
int duty_modify(struct deed *deed);
int duty_delete(struct deed *deed);
int duty_enable(struct deed *deed);
int duty_disable(struct deed *deed);
int duty_enable_all(struct deed *deed);
int duty_disable_all(struct deed *deed);

#endif

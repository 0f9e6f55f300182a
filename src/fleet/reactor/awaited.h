/*
 * awaited - the template variable `outcomes`: the jobs that blocks of the file wait for.
 *
 *     outcomes.deploy      { status ok jid targets returned succeeded failed }
 *
 * Every name has an outcome. For an unfinished block it is assumed: `pending`, or, in the rehearsal
 * before a file runs, every possible end of a job in turn. So mistakes in later branches are found
 * in time. Names that were looked up are recorded, since a name without a block is a mistake.
 *
 * Pure. Memory: the arena. Threads: one at a time.
 */
#ifndef FLEET_REACTOR_AWAITED_H
#define FLEET_REACTOR_AWAITED_H

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct arena;

#define AWAITED_NAME "outcomes"
/* Peels that are listed in `failed`. */
#define AWAITED_FAILED_MAX 1000

/* How the job of a block ended. */
struct awaited_end {
    const char *status; /* of the job, or why there was none: "no_targets", "aborted", "error" */
    bool is_ok;         /* every target succeeded */
    const char *jid;    /* "": none */
    int64_t targets, returned, succeeded;
    struct param_strs failed; /* peels, AWAITED_FAILED_MAX at most */
};

/* The outcome for templates; texts are borrowed. */
struct value awaited_value(struct arena *arena, const struct awaited_end *end);

struct awaited {
    struct arena *arena;
    const struct value *ended;         /* a map from blocks to outcomes; NULL: none */
    const struct awaited_end *assumed; /* of all others */
    VEC(struct str) names;             /* that were looked up */
};

/* Possible assumptions; the first is `pending`. */
extern const struct awaited_end awaited_worlds[];
extern const size_t awaited_world_count;

/* The value of `outcomes`. `awaited` must outlive the rendering. */
struct value awaited_object(struct awaited *awaited);

#endif

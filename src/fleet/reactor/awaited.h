/*
 * awaited - what a template sees of the jobs that blocks of its file wait for: `outcomes`.
 *
 *     outcomes.deploy      { status ok jid targets returned succeeded failed }
 *
 * Every name has an outcome. That of a block which has not ended is assumed: `pending`, or, when a
 * file is rehearsed before anything of it runs, each way in which a job can end. So a mistake in a
 * branch that is taken later is found in time. Names that were looked up are kept, since a name
 * that belongs to no block is a mistake.
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
    const char *status; /* of the job, or why there is none: "no_targets", "aborted", "error" */
    bool is_ok;         /* every target has succeeded */
    const char *jid;    /* "": none */
    int64_t targets, returned, succeeded;
    struct param_strs failed; /* peels, AWAITED_FAILED_MAX at most */
};

/* The outcome as templates see it; texts are borrowed. */
struct value awaited_value(struct arena *arena, const struct awaited_end *end);

struct awaited {
    struct arena *arena;
    const struct value *ended;         /* a map from blocks to outcomes; NULL: none */
    const struct awaited_end *assumed; /* of all others */
    VEC(struct str) names;             /* that were looked up */
};

/* What may be assumed; the first is `pending`. */
extern const struct awaited_end awaited_worlds[];
extern const size_t awaited_world_count;

/* The value of `outcomes`. `awaited` must outlive the rendering. */
struct value awaited_object(struct awaited *awaited);

#endif

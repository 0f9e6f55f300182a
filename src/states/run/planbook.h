/*
 * planbook - the dry runs of jobs, each under the id of its job, so that a later run can be held
 * to what was shown.
 *
 * One file a plan, in <data_dir>/plans: one frame with a record (core/data/record.h) of the states
 * that would change and how. The newest PLANBOOK_MAX are kept, none longer than PLANBOOK_AGE.
 * Secrets are masked in them, as in everything that is shown.
 *
 *     planbook_keep after a dry run -> planbook_find before a run -> bound_compare
 * (states/run/bound.h)
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_PLANBOOK_H
#define STATES_RUN_PLANBOOK_H

#include <stdint.h>

struct arena;
struct bound;
struct err;
struct run_result;

#define PLANBOOK_FOLDER "plans"
#define PLANBOOK_MAX    50
/* As long as the record of the job. */
#define PLANBOOK_AGE (INT64_C(7) * 86400)
/* Bytes of one plan. */
#define PLANBOOK_SIZE_MAX ((size_t)32 << 20)

/* Store the dry run `result` as plan `id`, a KSUID. On disk when this returns. */
int planbook_keep(const char *data_dir, const char *id, const struct run_result *result,
                  struct err *err);
/* Fails with ERR_NOT_FOUND when this machine has no such plan. */
int planbook_find(struct arena *arena, const char *data_dir, const char *id,
                  struct bound *ret_bound, struct err *err);

#endif

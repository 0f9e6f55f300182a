/*
 * plan store - stores dry runs of jobs by job ID, so that a later run can be bound to one.
 *
 * One file a plan, in <data_dir>/plans: one frame with a record (core/data/record.h) of the states
 * that would change and how. The newest PLAN_STORE_MAX are kept, none longer than PLAN_STORE_AGE.
 * Secrets are masked.
 *
 *     plan_store_keep after a dry run -> plan_store_find and plan_binding_compare before a run
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_PLAN_STORE_H
#define STATES_RUN_PLAN_STORE_H

#include <stdint.h>

struct arena;
struct plan_binding;
struct err;
struct run_result;

#define PLAN_STORE_FOLDER "plans"
#define PLAN_STORE_MAX    50
/* As long as the job record is kept. */
#define PLAN_STORE_AGE (INT64_C(7) * 86400)
/* Bytes of one plan. */
#define PLAN_STORE_SIZE_MAX ((size_t)32 << 20)

/* Store the dry run `result` as plan `id`, a KSUID. On disk when this returns. */
int plan_store_keep(const char *data_dir, const char *id, const struct run_result *result,
                    struct err *err);
/* Fails with ERR_NOT_FOUND when this machine has no such plan. */
int plan_store_find(struct arena *arena, const char *data_dir, const char *id,
                    struct plan_binding *ret_bound, struct err *err);

#endif

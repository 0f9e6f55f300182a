/*
 * fleet_job - jobs of an operator's command: find targets, dispatch, wait for answers.
 *
 * Memory: the arena of the fleet. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_JOB_H
#define COMMANDS_CLI_FLEET_JOB_H

#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/link.h"
#include "fleet/view/job.h"
#include "fleet/wire/job.h"

struct err;

/* Can `expr` be read at all? Needs no connection. Fails with ERR_INVALID. */
int fleet_check_target(struct arena *arena, const char *expr, struct err *err);
/* The peels that match `expr`, sorted; resolved by a master, else by reading the facts here.
 * Fails with ERR_INVALID for an expression that is wrong. */
int fleet_resolve(struct fleet *fleet, const char *expr, struct param_strs *ret_peels,
                  struct err *err);

/* The record of a job. Fails with ERR_NOT_FOUND. */
int fleet_read_job(struct fleet *fleet, const char *jid, struct job *ret_job, struct err *err);
bool fleet_job_is_dry_run(const struct job *job);
/* From its dispatch to its end, or until now. */
int64_t fleet_job_duration(const struct job *job);

/* Send a job to a master, which has claimed it when this returns, or keeps it for a second person
 * (`ret_waits`; NULL: that is a failure). */
int fleet_dispatch(struct fleet *fleet, const struct job *job, bool *ret_waits, struct err *err);
/* Wait for the returns of a job; stored ones are read first if `from_store`. If interrupted,
 * returns what came so far. */
int fleet_collect(struct fleet *fleet, const char *jid, int64_t timeout, bool from_store,
                  struct fleet_answers *answers, struct err *err);
/* Subscribe to the returns of a job before it is dispatched. */
int fleet_listen(struct fleet *fleet, const char *jid, struct fleet_answers *answers,
                 struct err *err);

/* clang-format off */
#define FLEET_LIMIT_OPTIONS(type, field)                                                                                                                                         \
    PARAM("node-timeout", DURATION, type, field.node_timeout, "cancel the job on each peel that has not finished after this long", PARAM_RANGE(CLOCK_MS, JOB_NODE_TIMEOUT_MAX)), \
    PARAM("force-window", BOOL, type, field.force_window, "also run outside the peels' maintenance windows; recorded in the audit")
/* clang-format on */

#endif

/*
 * orchestrator - orchestrations of reactions: jobs whose work a master does itself.
 *
 * The dispatcher claims such a job like any other, and hands it over here instead of sending it to
 * peels; its result is a return of the target JOB_TARGET_MASTER. So it has a record, an owner with
 * failover, a deadline and an outcome, by the usual rules.
 *
 *     orchestrator_begin -> { the return is published } or orchestrator_end
 *
 * Another process does the work, `zester-fleet orchestrate --job JID`: the state engine is not part
 * of a master, and a crash there does not end one. Job ids of steps are derived from the job id and
 * the step (event_step_id), so a second run, on the master that takes over, finds the steps of the
 * first and begins none twice.
 *
 * The tree is the published one; a local copy is kept from the first orchestration on.
 * `reactor.orchestrations` limits how many run at once; others are queued.
 *
 * Threads: the loop's; workers wait for the processes.
 */
#ifndef FLEET_MASTER_JOBS_ORCHESTRATOR_H
#define FLEET_MASTER_JOBS_ORCHESTRATOR_H

#include "core/base/str.h"
#include "fleet/master/master.h"

struct job;
struct orchestrator;

/* Limit of queued orchestrations; more fail. */
#define ORCHESTRATOR_WAITING_MAX 256

extern const struct master_service master_orchestrator_service;

struct orchestrator *master_orchestrator(const struct master *master);

/* Run a job, unless it runs already. */
void orchestrator_begin(struct orchestrator *orchestrator, const struct job *job);
/* Its result is no longer needed. It may have ended, or never started. */
void orchestrator_end(struct orchestrator *orchestrator, struct str jid);

#endif

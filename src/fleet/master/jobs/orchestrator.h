/*
 * orchestrator - orchestrations of reactions: jobs whose work a master does itself.
 *
 * The dispatcher claims such a job like any other and hands it over here instead of sending it to
 * peels; what comes of it is a return of the target JOB_TARGET_MASTER. So it has a record, an owner
 * that is replaced when it dies, a deadline and an outcome without rules of its own.
 *
 *     orchestrator_begin -> { the return is published } or orchestrator_end
 *
 * The work is done by another process, `zester-fleet orchestrate --job JID`: the engine of states
 * is not part of a master, and whatever a tree does to it, the master lives on. Jobs of steps have
 * ids that follow from the id of the job and the step (event_step_id), so a second run, of the
 * master that takes over, finds what the first has begun and begins nothing twice.
 *
 * The tree is the one that masters publish for all machines; a copy of it is kept from the first
 * orchestration on. So many run at once (`reactor.orchestrations`); others wait for their turn.
 *
 * Threads: the loop's; workers wait for the processes.
 */
#ifndef FLEET_MASTER_JOBS_ORCHESTRATOR_H
#define FLEET_MASTER_JOBS_ORCHESTRATOR_H

#include "core/base/str.h"
#include "fleet/master/master.h"

struct job;
struct orchestrator;

/* Orchestrations that wait for their turn; more fail. */
#define ORCHESTRATOR_WAITING_MAX 256

extern const struct master_service master_orchestrator_service;

struct orchestrator *master_orchestrator(const struct master *master);

/* Do the work of a job. One that has begun already goes on. */
void orchestrator_begin(struct orchestrator *orchestrator, const struct job *job);
/* Its result is no longer needed. It may have ended, or never begun. */
void orchestrator_end(struct orchestrator *orchestrator, struct str jid);

#endif

/*
 * run_id - the id of a run, which leads back to the job that asked for it.
 *
 * A job whose id is a KSUID gives it to its run. Ids of other jobs (those of reactions) are hashes:
 * the payload of the run's id is made from them.
 *
 * Memory: the caller's. Threads: any.
 */
#ifndef STATES_RUN_RUN_ID_H
#define STATES_RUN_RUN_ID_H

#include <stdbool.h>

#include "core/base/ksuid.h"

/* A new one; `job` may be NULL. */
void run_id_make(const char *job, char text[static KSUID_SIZE]);
/* Was it made for this job? */
bool run_id_is_of(const char *run_id, const char *job);

#endif

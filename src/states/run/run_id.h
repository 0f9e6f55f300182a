/*
 * run_id - run IDs, which identify the job of a run.
 *
 * A run uses the ID of its job if that is a KSUID. Other job IDs (of reactions) are hashes: the
 * payload of the run ID is derived from them.
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

/*
 * orchestra - the fleet of an orchestration (states/state/fleet.h): each step is a job that a
 * master dispatches, over its own connection, so that steps run at once.
 *
 * One that is a job itself, of a reaction, may be run again after its master has died. So the ids
 * of its steps follow from its own, and a step that was dispatched before is waited for, not
 * dispatched again.
 *
 *     orchestra_init(&orchestra, &options, &about);
 *     ... run states with `fleet` set to &orchestra.fleet ...
 *     orchestra_done(&orchestra);
 *
 * Memory: options and texts are borrowed. Threads: any number of steps at once.
 */
#ifndef COMMANDS_CLI_FLEET_ORCHESTRATE_ORCHESTRA_H
#define COMMANDS_CLI_FLEET_ORCHESTRATE_ORCHESTRA_H

#include <pthread.h>
#include <semaphore.h>

#include "core/base/map.h"
#include "states/state/fleet.h"

struct fleet_limits;
struct fleet_options;
struct job;

/* Jobs that are waited for at once; further steps wait for a place. */
#define ORCHESTRA_LINKS_MAX 32

/* Metadata of the jobs. */
#define ORCHESTRA_REF   "orchestrate"       /* what the run applies */
#define ORCHESTRA_STATE "orchestrate_state" /* the step */
#define ORCHESTRA_JOB   "orchestrate_job"   /* the job that the run is; of a reaction */

/* Whose run it is. */
struct orchestra_about {
    const char *user, *ref;
    const struct job *job;             /* of a reaction; NULL: an operator's */
    const struct fleet_limits *limits; /* of each step; NULL: none */
};

struct orchestra {
    struct state_fleet fleet;
    const struct fleet_options *options;
    struct orchestra_about about;
    sem_t places;
    pthread_mutex_t mutex;
    struct map attempts; /* by state: how often it was tried; under the mutex */
};

void orchestra_init(struct orchestra *orchestra, const struct fleet_options *options,
                    const struct orchestra_about *about);
void orchestra_done(struct orchestra *orchestra);

#endif

/*
 * orchestra - the fleet of an orchestration (state/fleet.h): each step is a job that a master
 * dispatches, over a connection of its own, so that steps run at once.
 *
 *     orchestra_init(&orchestra, &options, user, ref);
 *     ... run states with `fleet` set to &orchestra.fleet ...
 *     orchestra_done(&orchestra);
 *
 * Memory: options and texts are borrowed. Threads: any number of steps at once.
 */
#ifndef CLI_ORCHESTRA_H
#define CLI_ORCHESTRA_H

#include <semaphore.h>

#include "state/fleet.h"

struct fleet_options;

/* Jobs that are waited for at once; further steps wait for a place. */
#define ORCHESTRA_LINKS_MAX 32

/* Metadata of the jobs. */
#define ORCHESTRA_REF   "orchestrate"       /* what the run applies */
#define ORCHESTRA_STATE "orchestrate_state" /* the step */

struct orchestra {
    struct state_fleet fleet;
    const struct fleet_options *options;
    const char *user, *ref;
    sem_t places;
};

void orchestra_init(struct orchestra *orchestra, const struct fleet_options *options,
                    const char *user, const char *ref);
void orchestra_done(struct orchestra *orchestra);

#endif

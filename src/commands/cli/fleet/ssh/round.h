/*
 * ssh_round - one question to many machines, so many at once, as answers of a fleet.
 *
 * Memory: the arena. Threads: one calls; each machine has a worker.
 */
#ifndef COMMANDS_CLI_FLEET_SSH_ROUND_H
#define COMMANDS_CLI_FLEET_SSH_ROUND_H

#include <stdbool.h>

#include "commands/cli/fleet/answers.h"

struct arena;
struct err;
struct ssh_machines;
struct ssh_question;

struct ssh_round {
    const struct ssh_question *question;
    const struct ssh_machines *machines;
    unsigned parallel;
    bool clean; /* remove what is left there, instead */
};

/* Fails when nothing could be asked: a program is missing. */
int ssh_round_run(struct arena *arena, const struct ssh_round *round, struct fleet_answers *ret,
                  struct err *err);

#endif

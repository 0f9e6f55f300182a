/*
 * fleet_run - a job from its dispatch to its answers on the terminal.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef CLI_FLEET_RUN_H
#define CLI_FLEET_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/fleet_link.h"

struct cli;
struct fleet_answers;
struct job;

struct fleet_run {
    enum fleet_format format;
    bool async;    /* print the id and do not wait */
    int64_t waves; /* of a batch, each with the timeout of the job; 0: one */
};

/* Give it an id, dispatch it, show how it goes, print the answers. Returns the exit status. */
int fleet_run_job(struct cli *cli, struct fleet *fleet, struct job *job,
                  const struct fleet_run *how);
/* The same for a job that was dispatched before. */
int fleet_watch_job(struct cli *cli, struct fleet *fleet, const struct job *job,
                    enum fleet_format format);

#endif

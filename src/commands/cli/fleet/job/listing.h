/*
 * listing - the jobs of a fleet, filtered and in pages, for people and for programs.
 */
#ifndef COMMANDS_CLI_FLEET_JOB_LISTING_H
#define COMMANDS_CLI_FLEET_JOB_LISTING_H

#include "commands/cli/fleet/link.h"
#include "fleet/view/jobs.h"

struct arena;
struct cli;
struct err;
struct fleet;
struct value;

/* Returns CLI_OK for a known status, else prints an error. */
int job_listing_check_status(struct cli *cli, const char *status);

/* The newest first. Both return the exit status. */
int job_listing_print(struct cli *cli, struct fleet *fleet, const struct job_filter *filter,
                      enum fleet_format format);
int job_listing_print_active(struct cli *cli, struct fleet *fleet, enum fleet_format format);

/* The targets for which a running job is kept; an empty list for any other job. */
int job_read_queued(struct fleet *fleet, const struct job *job, struct value *ret_names,
                    struct err *err);

#endif

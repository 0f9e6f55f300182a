/*
 * approval - decisions about jobs that wait for a second person, and what waits.
 */
#ifndef COMMANDS_CLI_FLEET_JOB_APPROVAL_H
#define COMMANDS_CLI_FLEET_JOB_APPROVAL_H

#include <stdint.h>

#include "commands/cli/fleet/link.h"
#include "fleet/wire/subject.h"

struct cli;
struct err;
struct fleet;

/* SUBJECT_JOB_APPROVE or SUBJECT_JOB_REJECT. Returns the exit status. */
int job_decide(struct cli *cli, struct fleet *fleet, enum subject_kind decision, const char *jid,
               const char *reason, int64_t timeout);
/* Prints approvals of the last day. */
int job_print_approvals(struct cli *cli, struct fleet *fleet, enum fleet_format format);

#endif

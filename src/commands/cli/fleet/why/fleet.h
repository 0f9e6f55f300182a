/*
 * why_fleet - the causes of jobs and events, across machines.
 *
 *     job <- reaction <- event <- job ... <- a user's request, or the machine that saw something
 *
 * A job of a reaction names its rule and event; an event that a rule has sent names the event
 * before it; one that a machine has raised names the job that did what it saw.
 *
 * Memory: the arena of the chain. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_WHY_FLEET_H
#define COMMANDS_CLI_FLEET_WHY_FLEET_H

#include "commands/cli/fleet/why/chain.h"

struct err;
struct fleet;

/* Add a job or an event and all that led to it. Fail with ERR_NOT_FOUND, and add nothing, when
 * there is no record of it. */
int why_add_job(struct why_chain *chain, struct fleet *fleet, const char *jid, struct err *err);
int why_add_event(struct why_chain *chain, struct fleet *fleet, const char *id, struct err *err);
/* The newest recorded reaction of a rule. */
int why_add_reaction(struct why_chain *chain, struct fleet *fleet, const char *rule,
                     struct err *err);

#endif

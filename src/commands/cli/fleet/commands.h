/*
 * commands - commands that need a fleet, each in its own file command_<name>.c. A program lists
 * those it has in a table.
 */
#ifndef COMMANDS_CLI_FLEET_COMMANDS_H
#define COMMANDS_CLI_FLEET_COMMANDS_H

#include "commands/cli/shared/command.h"

/* Runs what a dry run of the fleet has shown. */
extern const struct command command_apply;
/* The fleet in one sealed file: `zester-master backup`, `restore`, `verify`. */
extern const struct command command_backup, command_restore, command_verify;
/* Data that peels share: get, list. */
extern const struct command command_basket;
/* Functions on this machine with what its agent has: `zester-peel call`. */
extern const struct command command_call;
/* The certificate authority of the fleet: init, fingerprint, print, issue. */
extern const struct command command_ca;
/* The way from this machine to a working fleet, step by step. */
extern const struct command command_doctor;
/* Machines that ask to be peels: list, show, approve, reject, revoke. */
extern const struct command command_enroll;
/* How the daemon of this machine is: `zester-master health`, `zester-peel health`. */
extern const struct command command_health_master, command_health_peel;
/* Functions on peels: `zester TARGET FUNCTION`. */
extern const struct command command_exec;
/* Trees of files that masters publish: update, status. */
extern const struct command command_fileserver;
/* Jobs: list, show, watch, active, kill, retry, approve. */
extern const struct command command_job;
/* Machines of the fleet: list. */
extern const struct command command_peel;
/* Contents of buckets: fact. */
extern const struct command command_kv;
/* Keys and credentials of a fleet: init, lint. */
extern const struct command command_nats_auth;
/* People with credentials of their own: add, issue, set, list, show, remove. */
extern const struct command command_operator;
/* Events of the fleet: send, watch, why. */
extern const struct command command_event;
/* Rules that react to events: check, test. */
extern const struct command command_reactor;
/* Runs a tree of states whose steps are jobs for the fleet. */
extern const struct command command_orchestrate;
/* The last runs of the fleet as an HTML file. */
extern const struct command command_report;
/* Settings of a machine: show. */
extern const struct command command_settings;
/* The first machine of a fleet: `zester-master setup`. */
extern const struct command command_setup;
/* Recorded runs of peels. */
extern const struct command command_runs;
/* Functions on machines without an agent. */
extern const struct command command_ssh;
/* A live view of the fleet. */
extern const struct command command_top;
/* Join tokens of machines: `zester-master token`. */
extern const struct command command_token;
extern const struct command command_update;
/* The version, without a connection. */
extern const struct command command_version;
/* Causes of jobs, events, states and services. */
extern const struct command command_why;

#endif

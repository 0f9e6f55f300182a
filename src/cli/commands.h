/*
 * commands - the commands of the programs; each is in its own file src/cli/command_<name>.c and
 * listed in a program's table by its main().
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

/* Runs what a dry run of the fleet has shown. */
extern const struct command command_apply;
/* What peels share with each other: get, list. */
extern const struct command command_basket;
/* The certificate authority of the fleet: init, fingerprint, print, issue. */
extern const struct command command_ca;
/* Shell completion from the command tables, so that it is always complete. */
extern const struct command command_completion;
/* The manual of modules and template functions. */
extern const struct command command_doc;
/* The way from this machine to a working fleet, step by step. */
extern const struct command command_doctor;
/* Machines that ask to be peels: list, show, approve, reject, revoke. */
extern const struct command command_enroll;
/* How the daemon of this machine is: `zester-master health`, `zester-peel health`. */
extern const struct command command_health_master, command_health_peel;
/* Wait until the agent with this configuration is ready, for `wait` nanoseconds at most; one that
 * serves no health is not waited for. Fails with the reason why it is not. */
int health_wait_peel(struct cli *cli, const char *config, int64_t wait, struct err *err);
/* States and modules on this machine: `zester --local`. */
extern const struct command command_local;
/* Functions on peels: `zester TARGET FUNCTION`. */
extern const struct command command_exec;
/* Trees of files that masters publish: update, status. */
extern const struct command command_fileserver;
/* What became of jobs: list, show, watch, active, kill, retry. */
extern const struct command command_job;
/* Machines of the fleet: list. */
extern const struct command command_peel;
/* What buckets hold: fact. */
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
/* What machines get from the tree of settings: show. */
extern const struct command command_settings;
/* The first machine of a fleet: `zester-master setup`. */
extern const struct command command_setup;
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
/* Renders a template, for debugging a state tree. */
extern const struct command command_render;

#endif

/*
 * services - the table of states/state/services.h: the state tree, http, Jinja and the undo
 * journal.
 */
#ifndef STATES_RUN_SERVICES_H
#define STATES_RUN_SERVICES_H

struct state_services;

extern const struct state_services run_services;

#endif

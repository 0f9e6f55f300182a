/*
 * services - the table of state/services.h: the state tree, http, Jinja and the undo journal.
 */
#ifndef RUN_SERVICES_H
#define RUN_SERVICES_H

struct state_services;

extern const struct state_services run_services;

#endif

/*
 * implied - implied requisites: what a state obviously needs runs first, if the same run manages
 * it.
 *
 *     a path                    the folders above it (file.directory, file.symlink), and mounts
 * there user, group, runas        the account and group of that name (user.present, group.present)
 *     the groups of an account  those groups
 *     packages                  repositories (pkgrepo.managed)
 *     a condition of a service  states of services, and what else its dependents require
 *     a service                 the package with its unit (states/compile/shipped.h)
 *     a file below /etc         the package with its folder, unless the state makes the folder
 *
 * This is only about order (REQUISITE_IMPLIED): if the dependency fails, the state still runs and
 * fails by itself. A contradicting requisite wins, and `implied_order: false` disables it for a
 * state. So one run succeeds where two would be needed.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_IMPLIED_H
#define STATES_COMPILE_IMPLIED_H

#include <stdbool.h>

struct arena;
struct cycle;
struct plan;
struct state_host;

/* Add implied requisites to a plan without cycles; false when there are none. */
bool implied_add(struct arena *arena, struct plan *plan, const struct state_host *host);

/* Drop implied requisites between the members of a cycle; false when there are none. */
bool implied_drop(struct plan *plan, const struct cycle *cycle);

#endif

/*
 * implied - implied requisites: what a state obviously needs runs first, if the same run manages
 * it.
 *
 *     a path                    the folders above it (file.directory, file.symlink), mounts, and
 *                               what fills such a folder: archives, checkouts, copied trees
 *     user, group, runas        the account and group of that name (user.present, group.present)
 *     the groups of an account  those groups
 *     packages                  repositories (pkgrepo.managed)
 *     a condition of a service  states of services, and what else its dependents require
 *     a service                 the package with its unit (states/compile/shipped.h)
 *     a path below the folder   the package with that folder, unless the state is a file below
 *     of a package              /etc and makes the folder
 *     a state that removes or   packages that are not installed yet, whose files are not known;
 *     edits what is there       not for what package managers themselves read
 *
 * A state that removes something needs folders, what fills them, and packages, and nothing else.
 *
 * This is only about order (REQUISITE_IMPLIED): if the dependency fails, the state still runs and
 * fails by itself. A contradicting requisite wins, so does an `order` that is lower than that of
 * the package, and `implied_order: false` disables it for a state. So one run succeeds where two
 * would be needed. States of Salt files have a written order, which implied requisites never
 * contradict.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_IMPLIED_H
#define STATES_COMPILE_IMPLIED_H

#include <stdbool.h>

struct arena;
struct cycle;
struct plan;
struct plan_state;
struct state_host;

/* Add implied requisites to a plan without cycles; false when there are none. */
bool implied_add(struct arena *arena, struct plan *plan, const struct state_host *host);

/* Drop implied requisites between the members of a cycle; false when there are none. */
bool implied_drop(struct plan *plan, const struct cycle *cycle);

/* Does the state have no place of its own in a Salt file? Then implied requisites give it one. */
bool implied_places(const struct plan_state *state);
/* Drop implied requisites that contradict the written order, once states are numbered. */
void implied_follow_written(struct plan *plan);

#endif

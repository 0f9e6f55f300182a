/*
 * implied - what a state plainly needs comes first when the same run manages it.
 *
 *     a path                    the folders above it (file.directory, file.symlink), and mounts
 * there user, group, runas        the account and group of that name (user.present, group.present)
 *     the groups of an account  those groups
 *     packages                  repositories (pkgrepo.managed)
 *
 * That is order and nothing more (REQUISITE_IMPLIED): what was needed may fail, and then the state
 * fails by itself. A requisite that says otherwise wins, and `implied_order: false` switches it off
 * for a state. So a first run succeeds where it would need a second.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef COMPILE_IMPLIED_H
#define COMPILE_IMPLIED_H

#include <stdbool.h>

struct arena;
struct cycle;
struct plan;

/* Add what is implied to the requisites of a plan without cycles; false when nothing is. */
bool implied_add(struct arena *arena, struct plan *plan);

/* Drop what is implied between the members of a cycle; false when nothing is. */
bool implied_drop(struct plan *plan, const struct cycle *cycle);

#endif

/*
 * overlap - later runs that changed again what is about to be reverted.
 *
 * A run is reverted to the state before it. If a later run that stays has changed one of its paths,
 * accounts, packages or services since, there is no such state, and nothing is reverted.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_OVERLAP_H
#define STATES_RUN_OVERLAP_H

struct arena;
struct err;
struct recorded;
struct state_host;

/* Fails with ERR_BUSY, and names the runs and what they changed. Paths that are still, or again, as
 * the reverted runs left them are fine. */
int overlap_check(struct arena *arena, const struct state_host *host,
                  const struct recorded *recorded, struct err *err);

#endif

/*
 * fallback - automatic revert of a failed run, when requested.
 *
 *     run_plan -> fallback_revert
 *
 * Restores what the run changed, as far as its states can be reverted. The result stays that of
 * the failed run. Each state reports its revert in its text and details (`reverted`); a state that
 * could not be reverted has failed.
 *
 * Memory: the arena. Threads: as revert_run.
 */
#ifndef STATES_RUN_FALLBACK_H
#define STATES_RUN_FALLBACK_H

struct arena;
struct run_result;
struct state_host;

/* Does nothing after a dry run, a success, or a canceled run, which must end soon. */
void fallback_revert(struct arena *arena, struct state_host *host, struct run_result *result);

#endif

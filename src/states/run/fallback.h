/*
 * fallback - a run that failed is reverted, when that was asked for.
 *
 *     run_plan -> fallback_revert
 *
 * What the run has changed is restored, as far as its states can be reverted; the result stays that
 * of the run, which failed. What became of each state is in its words and details
 * (`reverted`), and a state that could not be reverted has failed.
 *
 * Memory: the arena. Threads: as revert_run.
 */
#ifndef STATES_RUN_FALLBACK_H
#define STATES_RUN_FALLBACK_H

struct arena;
struct run_result;
struct state_host;

/* Does nothing after a dry run, a success, or a run that was canceled, which is to end soon. */
void fallback_revert(struct arena *arena, struct state_host *host, struct run_result *result);

#endif

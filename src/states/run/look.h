/*
 * look - a last look at the end of a run that changed something.
 *
 * A package, an archive, a checkout or a command may change what an earlier state has decided. So
 * states that a later or concurrent change can affect are checked once more, without applying:
 *
 *     a change of        can affect
 *     a known path       states of its level and of earlier ones whose path is the same, above or
 *                        below, or not known; itself, unless it decides all that is there
 *     anything else      every state of its level and of earlier ones, itself included
 *
 * A state that would change or fail now gets `again` in its result, and the run has not converged.
 *
 * Only states that were checked in the run and can be checked without effects take part: not
 * commands (unless `creates` checks them) and other states that always run, states with guards,
 * outputs, onchanges, onfail or prereq, sources without a hash on other machines, or states that
 * failed or were skipped.
 *
 * A run that failed has no look, and one without changes needs none: its results hold.
 *
 * Memory: the arena of the results. Threads: checks run in workers.
 */
#ifndef STATES_RUN_LOOK_H
#define STATES_RUN_LOOK_H

#include <stdint.h>

struct runner;

/* After the last level. Returns the wall time for which the results hold; 0: they do not. */
int64_t look_again(struct runner *runner);

#endif

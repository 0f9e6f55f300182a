/*
 * drift - does a machine match its state files, according to its last run?
 *
 *     failed    the run failed
 *     drifted   a dry run that would change something, or a run after which states would change
 *               again
 *     unknown   something has changed since: by a single state, a revert, a run under way or
 * killed; or the run did not end with a look (states/run/look.h) none      otherwise
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_DRIFT_H
#define STATES_RUN_DRIFT_H

struct arena;
struct lastrun;

enum drift {
    DRIFT_UNKNOWN,
    DRIFT_NONE,
    DRIFT_FOUND,
    DRIFT_FAILED,
};
#define DRIFTS (DRIFT_FAILED + 1)

/* `run` NULL: no run of states is known. */
enum drift drift_find(const struct lastrun *run);
/* "unknown", "none", "drifted", "failed". */
const char *drift_name(enum drift drift);
/* For people: "2 failed: file.managed:/etc/motd, ...". */
const char *drift_describe(struct arena *arena, const struct lastrun *run);

#endif

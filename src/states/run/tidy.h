/*
 * tidy - removes the drafts of killed runs at the start of the next run.
 *
 * Drafts beside system files are in a log (core/sys/draft_log.h). Drafts in our own data folder
 * are found by name; since daemons may be writing there, only drafts that no process holds are
 * removed.
 *
 * The caller holds the run lock (states/run/runlock.h).
 */
#ifndef STATES_RUN_TIDY_H
#define STATES_RUN_TIDY_H

struct draft_log;

/* Returns the draft log of this run, for draft_log_close. */
struct draft_log *tidy_begin(const char *data_dir);

#endif

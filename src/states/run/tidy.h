/*
 * tidy - removes what runs that were killed left behind, at the beginning of the next one.
 *
 * Drafts beside files of the machine stand in a log (core/sys/draft_log.h). Those among our own
 * data are found by their names, since nobody else writes there; daemons may be writing at this
 * moment, so only drafts that no process holds are removed.
 *
 * The caller holds the lock of runs (states/run/runlock.h).
 */
#ifndef STATES_RUN_TIDY_H
#define STATES_RUN_TIDY_H

struct draft_log;

/* The log for the drafts of this run: draft_log_close ends it. */
struct draft_log *tidy_begin(const char *data_dir);

#endif

/*
 * ownership - the owner and group of what an archive brought, when it is there already.
 *
 * Only paths of the archive count, and no link is followed on the way to them: the owner of an
 * extracted folder could have put one there.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_ARCHIVE_OWNERSHIP_H
#define STATES_MODULES_ARCHIVE_OWNERSHIP_H

struct err;
struct state_run;
struct unpacked_wish;

/* Say what differs first. */
int ownership_check(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
/* Change what differs, and say how many. */
int ownership_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err);

#endif

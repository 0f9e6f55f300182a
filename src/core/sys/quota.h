/*
 * quota - how many programs run at once: as many as descriptors and the process limit allow.
 *
 * Each program that is waited for needs a few descriptors here. When there are too few for all, the
 * next one waits until another has ended, instead of failing.
 *
 *     quota_enter -> start -> { quota_retry -> start }... -> quota_leave
 *
 * Threads: any; the count is that of the process.
 */
#ifndef CORE_SYS_QUOTA_H
#define CORE_SYS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct err;

/* How many programs, or states that have files open, may be in work at once; at least one. */
unsigned quota_most(void);

/* A wait for one of those that run. ERR_CANCELED when `cancel`, which may be NULL, is raised
 * first. */
int quota_enter(const struct cancel *cancel, struct err *err);
/* It could not be started, for the reason in `err`. True after a wait, when another try may
 * succeed: others have ended, or threads have made room. `began` is when the first try was. */
bool quota_retry(const struct cancel *cancel, int64_t began, const struct err *err);
void quota_leave(void);

#endif

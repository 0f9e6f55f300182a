/*
 * quota - limits the programs that run at once to what descriptors and the process limit allow.
 *
 * Each running program needs a few of our descriptors. When they run out, the next program waits
 * until another has ended, instead of failing.
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

/* Maximum number of programs, or of states with open files, at work at once; at least one. */
unsigned quota_most(void);

/* Wait until there is room. ERR_CANCELED when `cancel`, which may be NULL, is raised first. */
int quota_enter(const struct cancel *cancel, struct err *err);
/* Starting failed for the reason in `err`. True after a wait, when another try may succeed:
 * programs have ended, or threads have made room. `began` is the time of the first try. */
bool quota_retry(const struct cancel *cancel, int64_t began, const struct err *err);
void quota_leave(void);

#endif

/*
 * lock - one at a time, across processes and threads, by a file.
 *
 * The lock is advisory (flock) and belongs to the open file: it ends with lock_drop, and with the
 * process however that ends. The file stays; it holds the PID of the exclusive holder, for
 * messages. A process that is killed while it starts a child leaves the lock to that child until
 * exec; others wait for that moment, even with LOCK_TRY. They also wait while lock_holder shares a
 * free lock for a moment.
 *
 * Only its owner may open the file: any process that can open it could lock it and block us. Wider
 * permissions of an existing file are narrowed.
 *
 * Threads: any; two threads of one process exclude each other as well.
 */
#ifndef CORE_SYS_LOCK_H
#define CORE_SYS_LOCK_H

#include <stdint.h>
#include <sys/types.h>

struct cancel;
struct err;

enum lock_kind { LOCK_SHARED, LOCK_EXCLUSIVE };

struct lock {
    int fd;
};

#define LOCK_NONE                                                                                  \
    {                                                                                              \
        -1                                                                                         \
    }

/* No wait, and an endless one. */
#define LOCK_TRY     0
#define LOCK_FOREVER INT64_MAX

/* Lock the file `path`, creating it if missing, within `wait` nanoseconds. Fails with ERR_BUSY,
 * which names the holder, and with ERR_CANCELED. `cancel` may be NULL. */
int lock_take(struct lock *lock, const char *path, enum lock_kind kind, int64_t wait,
              const struct cancel *cancel, struct err *err);
/* Dropping a lock that is not held is fine. */
void lock_drop(struct lock *lock);

/* The PID of the exclusive holder; 0: none. */
int lock_holder(const char *path, pid_t *ret_pid, struct err *err);

#endif

/*
 * lock - one at a time, across processes and threads, by a file.
 *
 * The lock is advisory (flock) and belongs to the open file: it ends with
 * lock_drop, and with the process however that ends. The file stays; it holds
 * the number of the process that has the exclusive lock, for messages. A process that
 * is killed while it starts a child leaves the lock to that child until it runs its
 * program; others then wait for that moment, also with LOCK_TRY. The same when nobody has
 * it exclusively: lock_holder shares it for a moment.
 *
 * Only its owner can open the file: any process that can open it can lock it, and keep us waiting.
 * Wider permissions of one that is there are narrowed.
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

/* Do not wait, and wait forever. */
#define LOCK_TRY     0
#define LOCK_FOREVER INT64_MAX

/* Lock the file `path`, which is created if missing, and wait `wait` nanoseconds
 * for it. Fails with ERR_BUSY, which names the holder, and with ERR_CANCELED. `cancel` may be NULL.
 */
int lock_take(struct lock *lock, const char *path, enum lock_kind kind, int64_t wait,
              const struct cancel *cancel, struct err *err);
/* Dropping what is not held is fine. */
void lock_drop(struct lock *lock);

/* Who holds the exclusive lock; 0: nobody. */
int lock_holder(const char *path, pid_t *ret_pid, struct err *err);

#endif

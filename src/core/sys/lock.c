#include "core/sys/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"

#define PID_TEXT_SIZE 16
#define PRIVATE_MODE  0600
/* The kernel wakes a waiter for a lock, but not at a deadline or for other events. So an
 * interruptible wait polls, at first often, then less so. */
#define LOOK_FIRST CLOCK_MS
#define LOOK_LAST  (64 * CLOCK_MS)
/* Time for the child of a killed holder: it has the file open until exec. */
#define HEIR_WAIT (2 * CLOCK_SECOND)
/* Time for lock_holder, which shares it for a moment. */
#define LOOKER_WAIT CLOCK_SECOND

static const int operations[] = { [LOCK_SHARED] = LOCK_SH, [LOCK_EXCLUSIVE] = LOCK_EX };

/* 1: locked, 0: held by another. */
static int try_lock(int fd, int operation, struct err *err)
{
    while (flock(fd, operation) < 0) {
        if (errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return err_sys(err, errno, "lock");
    }
    return 1;
}

static pid_t read_pid(int fd)
{
    char text[PID_TEXT_SIZE] = "";

    if (pread(fd, text, sizeof(text) - 1, 0) < 0)
        return 0;
    return (pid_t)strtol(text, NULL, 10);
}

static int tell_busy(int fd, struct err *err)
{
    pid_t pid = read_pid(fd);

    if (pid > 0)
        return err_set(err, ERR_BUSY, "held by process %d", pid);
    return err_set(err, ERR_BUSY, "held by another process");
}

/* Wait for `pause`, or less when canceled or at the deadline. */
static int pause_lock_attempt(int64_t pause, int64_t deadline, const struct cancel *cancel,
                              struct err *err)
{
    struct pollfd poll = { .fd = cancel_fd(cancel), .events = POLLIN };
    int64_t until = clock_after(clock_real(), pause);
    struct timespec room;

    (void)ppoll(&poll, 1, clock_left(until < deadline ? until : deadline, &room), NULL);
    if (cancel_is_raised(cancel))
        return err_set(err, ERR_CANCELED, "canceled");
    return 0;
}

static int wait_until_locked(int fd, int operation, int64_t deadline, const struct cancel *cancel,
                             struct err *err)
{
    int64_t pause = LOOK_FIRST;

    for (;;) {
        int rc = try_lock(fd, operation | LOCK_NB, err);

        if (rc != 0)
            return rc < 0 ? -1 : 0;
        if (clock_real() >= deadline)
            return tell_busy(fd, err);
        if (pause_lock_attempt(pause, deadline, cancel, err) < 0)
            return -1;
        pause = pause < LOOK_LAST ? pause * 2 : pause;
    }
}

/* Has its holder ended, reaped or not? */
static bool is_lock_inherited(int fd)
{
    pid_t pid = read_pid(fd);
    AUTO_FD int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd look = { .fd = pidfd, .events = POLLIN };

    if (pid <= 0)
        return false;
    return pidfd < 0 ? errno == ESRCH : poll(&look, 1, 0) > 0;
}

/* Is it free of an exclusive holder? */
static bool is_looked_at(int fd)
{
    struct err ignored;

    if (try_lock(fd, LOCK_SH | LOCK_NB, &ignored) != 1)
        return false;
    (void)flock(fd, LOCK_UN);
    return true;
}

static int acquire_lock(int fd, int operation, int64_t wait, const struct cancel *cancel,
                        struct err *err)
{
    int rc = try_lock(fd, operation | LOCK_NB, err);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (wait < HEIR_WAIT && is_lock_inherited(fd))
        wait = HEIR_WAIT;
    if (wait < LOOKER_WAIT && operation == LOCK_EX && is_looked_at(fd))
        wait = LOOKER_WAIT;
    if (wait <= 0)
        return tell_busy(fd, err);
    pool_block_begin();
    if (wait == LOCK_FOREVER && !cancel)
        rc = try_lock(fd, operation, err) < 0 ? -1 : 0;
    else
        rc = wait_until_locked(fd, operation, clock_after(clock_real(), wait), cancel, err);
    pool_block_end();
    return rc;
}

/* For messages only: a lock with an unknown holder is still a lock. Always of the same length, so
 * that no truncation is needed: ext4 syncs a truncated file. */
static void write_lock_pid(int fd)
{
    char text[PID_TEXT_SIZE];
    int n = snprintf(text, sizeof(text), "%-*d\n", PID_TEXT_SIZE - 2, getpid());

    (void)!pwrite(fd, text, (size_t)n, 0);
}

/* An older file may have wider permissions, and a process that has it open may hold the lock until
 * it ends. */
static void narrow_permissions(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && (st.st_mode & 07777) != PRIVATE_MODE)
        (void)fchmod(fd, PRIVATE_MODE); /* it may belong to another user, who decides */
}

int lock_take(struct lock *lock, const char *path, enum lock_kind kind, int64_t wait,
              const struct cancel *cancel, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, PRIVATE_MODE);

    if (fd < 0)
        return err_sys(err, errno, "open the lock '%s'", path);
    narrow_permissions(fd);
    if (acquire_lock(fd, operations[kind], wait, cancel, err) < 0)
        return err_wrap(err, "lock '%s'", path);
    if (kind != LOCK_SHARED)
        write_lock_pid(fd);
    lock->fd = fd_take(&fd);
    return 0;
}

void lock_drop(struct lock *lock)
{
    if (lock->fd >= 0)
        (void)flock(lock->fd, LOCK_UN); /* now, also when a child has the file open */
    fd_close(&lock->fd);
}

int lock_holder(const char *path, pid_t *ret_pid, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    if (fd < 0 && errno == ENOENT) {
        *ret_pid = 0;
        return 0;
    }
    if (fd < 0)
        return err_sys(err, errno, "open the lock '%s'", path);
    rc = try_lock(fd, LOCK_SH | LOCK_NB, err);
    if (rc < 0)
        return err_wrap(err, "stat the lock '%s'", path);
    *ret_pid = rc > 0 ? 0 : read_pid(fd);
    return 0;
}

#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"
#include "wait.h"

static struct arena arena = ARENA_INIT;
static struct err err;

static const char *lock_path(void)
{
    return path_join(&arena, test_folder(), "lock");
}

/* A process that takes the lock and keeps it until it is killed. */
static pid_t start_holder(const char *path, enum lock_kind kind)
{
    int ready[2];
    char byte;
    pid_t pid;

    CHECK_INT(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        struct lock lock = LOCK_NONE;

        if (lock_take(&lock, path, kind, LOCK_TRY, NULL, &err) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void end_holder(pid_t pid)
{
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(a_lock_excludes_other_processes_and_ends_with_its_holder)
{
    const char *path = lock_path();
    struct lock lock = LOCK_NONE;
    pid_t pid = start_holder(path, LOCK_EXCLUSIVE), holder;

    CHECK_INT(lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_HAS(err.text, arena_printf(&arena, "lock': held by process %d", pid));
    CHECK_INT(lock_holder(path, &holder, &err), 0);
    CHECK_INT(holder, pid);
    end_holder(pid);
    CHECK_INT(lock_holder(path, &holder, &err), 0);
    CHECK_INT(holder, 0);
    CHECK_INT(lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), 0);
    lock_drop(&lock);
    lock_drop(&lock);
}

static atomic_bool looks;

static void *look_all_the_time(void *arg)
{
    struct err ignored;
    pid_t holder;

    while (atomic_load(&looks))
        (void)lock_holder(arg, &holder, &ignored);
    return NULL;
}

TEST(checking_a_lock_does_not_block_taking_it)
{
    char *path = mem_strdup(lock_path());
    struct lock lock = LOCK_NONE;
    pthread_t thread;

    atomic_store(&looks, true);
    CHECK_INT(pthread_create(&thread, NULL, look_all_the_time, path), 0);
    for (int i = 0; i < 2000; i++) {
        CHECK_INT(lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), 0);
        lock_drop(&lock);
    }
    atomic_store(&looks, false);
    CHECK_INT(pthread_join(thread, NULL), 0);
    free(path);
}

TEST(shared_locks_exclude_only_exclusive_ones)
{
    const char *path = lock_path();
    struct lock lock = LOCK_NONE, other = LOCK_NONE;
    pid_t pid = start_holder(path, LOCK_SHARED);

    CHECK_INT(lock_take(&lock, path, LOCK_SHARED, LOCK_TRY, NULL, &err), 0);
    CHECK_INT(lock_take(&other, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    lock_drop(&lock);
    end_holder(pid);
}

TEST(waiting_for_a_lock_ends_at_its_deadline)
{
    const char *path = lock_path();
    struct lock lock = LOCK_NONE;
    pid_t pid = start_holder(path, LOCK_EXCLUSIVE);
    int64_t began = clock_real();

    CHECK_INT(lock_take(&lock, path, LOCK_EXCLUSIVE, 30 * CLOCK_MS, NULL, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK(clock_real() - began >= 30 * CLOCK_MS);
    end_holder(pid);
}

static void *drop_soon(void *arg)
{
    lock_drop(arg);
    return NULL;
}

TEST(a_waiter_gets_the_lock_when_another_thread_drops_it)
{
    static const int64_t waits[] = { LOCK_FOREVER, 60 * CLOCK_SECOND };

    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        struct lock first = LOCK_NONE, second = LOCK_NONE;
        pthread_t thread;

        CHECK_INT(lock_take(&first, lock_path(), LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), 0);
        CHECK_INT(pthread_create(&thread, NULL, drop_soon, &first), 0);
        CHECK_INT(lock_take(&second, lock_path(), LOCK_EXCLUSIVE, waits[i], NULL, &err), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        lock_drop(&second);
    }
}

static void *raise_soon(void *arg)
{
    cancel_raise(arg);
    return NULL;
}

TEST(waiting_for_a_lock_can_be_canceled)
{
    struct lock first = LOCK_NONE, second = LOCK_NONE;
    struct cancel cancel;
    pthread_t thread;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    CHECK_INT(lock_take(&first, lock_path(), LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), 0);
    CHECK_INT(pthread_create(&thread, NULL, raise_soon, &cancel), 0);
    CHECK_INT(lock_take(&second, lock_path(), LOCK_EXCLUSIVE, LOCK_FOREVER, &cancel, &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
    CHECK_INT(pthread_join(thread, NULL), 0);
    lock_drop(&first);
    cancel_done(&cancel);
}

static bool take_from_heir(useconds_t pause)
{
    const char *path = lock_path();
    struct lock lock = LOCK_NONE;
    int ready[2], rc;
    char byte;
    pid_t pid;

    CHECK_INT(pipe(ready), 0);
    pid = fork();
    if (pid == 0) { /* dies at once; its child needs a moment */
        if (lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err) < 0)
            _exit(1);
        if (fork() == 0) {
            (void)usleep(pause);
            _exit(0);
        }
        _exit(write(ready[1], "x", 1) == 1 ? 0 : 1);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    rc = lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err);
    lock_drop(&lock);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return rc == 0;
}

/* The wait has an end; on a busy machine the child may need longer than it meant to. */
TEST(a_lock_of_a_dead_process_that_its_child_still_has_open_is_waited_for)
{
    bool taken = false;

    for (int i = 0; i < 20 && !taken; i++)
        taken = take_from_heir(300000);
    CHECK(taken);
}

TEST(a_lock_is_private_and_narrows_the_mode_of_an_older_one)
{
    const char *path = lock_path();
    struct lock lock = LOCK_NONE;
    struct stat st;

    for (int i = 0; i < 2; i++) {
        CHECK_INT(lock_take(&lock, path, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), 0);
        CHECK_INT(stat(path, &st), 0);
        CHECK_INT(st.st_mode & 07777, 0600);
        lock_drop(&lock);
        CHECK_INT(chmod(path, 0644), 0);
    }
}

#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/run/level_pool.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"
#include "core/sys/quota.h"
#include "wait.h"

#define TASKS 40
/* Enough for eight of them, with the descriptors that a task may have open. */
#define FILES      150
#define FILES_EACH 8
/* In which a level pool that knows no limit begins with the others. */
#define HOLD_NS (20 * CLOCK_MS)

static struct err err;
static atomic_int begun, inside, most, failed;

static void note_most(int now)
{
    for (int old = atomic_load(&most); now > old;)
        if (atomic_compare_exchange_weak(&most, &old, now))
            break;
}

/* Holds its files while it waits, as states do that wait for the disk. */
static void hold_files(void *user, struct level_pool_task *task)
{
    int files[FILES_EACH];
    int64_t until;

    (void)user, (void)task;
    note_most(atomic_fetch_add(&inside, 1) + 1);
    for (size_t i = 0; i < FILES_EACH; i++) {
        files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        atomic_fetch_add(&failed, files[i] < 0);
    }
    atomic_fetch_add(&begun, 1);
    pool_block_begin();
    WAIT_FOR(atomic_load(&begun) >= (int)quota_most());
    until = clock_now() + HOLD_NS;
    WAIT_FOR(clock_now() >= until);
    pool_block_end();
    for (size_t i = 0; i < FILES_EACH; i++)
        if (files[i] >= 0)
            CHECK_INT(close(files[i]), 0);
    atomic_fetch_sub(&inside, 1);
}

TEST(tasks_queue_when_few_descriptors_are_allowed)
{
    const struct level_pool_options options = { .run = hold_files };
    const struct rlimit limit = { FILES, FILES };
    static struct level_pool_task tasks[TASKS];
    struct level_pool_task *list[TASKS];
    struct level_pool *level_pool;

    for (size_t i = 0; i < TASKS; i++)
        list[i] = &tasks[i];
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_INT(quota_most(), 8);
    level_pool = level_pool_new(&options, &err);
    CHECK(level_pool != NULL);
    level_pool_run(level_pool, list, TASKS);
    level_pool_free(level_pool);
    CHECK_INT(atomic_load(&begun), TASKS);
    CHECK_INT(atomic_load(&failed), 0);
    CHECK_INT(atomic_load(&most), 8);
}

static pthread_t caller;

static void note_thread(void *user, struct level_pool_task *task)
{
    (void)user, (void)task;
    atomic_fetch_add(&begun, 1);
    atomic_fetch_add(&failed, !pthread_equal(pthread_self(), caller));
}

TEST(quick_tasks_run_in_the_calling_thread)
{
    const struct level_pool_options options = { .run = note_thread };
    struct level_pool_task tasks[2] = { 0 };
    struct level_pool_task *const list[] = { &tasks[0], &tasks[1] };
    struct level_pool *level_pool = level_pool_new(&options, &err);

    CHECK(level_pool != NULL);
    caller = pthread_self();
    for (int i = 0; i < 100; i++)
        level_pool_run(level_pool, list, 2);
    level_pool_free(level_pool);
    CHECK_INT(atomic_load(&begun), 200);
    /* a machine that stops this thread for long may call a helper now and then */
    CHECK(atomic_load(&failed) < 50);
}

/* Takes a millisecond of the processor. */
static void compute(void *user, struct level_pool_task *task)
{
    const int64_t began = clock_now();

    while (clock_now() - began < CLOCK_SECOND / 1000)
        continue;
    note_thread(user, task);
}

/* On one core the calling thread takes them all. */
TEST(long_tasks_all_run_with_or_without_workers)
{
    const struct level_pool_options options = { .run = compute };
    static struct level_pool_task tasks[TASKS];
    struct level_pool_task *list[TASKS];
    struct level_pool *level_pool = level_pool_new(&options, &err);

    for (size_t i = 0; i < TASKS; i++)
        list[i] = &tasks[i];
    CHECK(level_pool != NULL);
    caller = pthread_self();
    level_pool_run(level_pool, list, TASKS);
    level_pool_free(level_pool);
    CHECK_INT(atomic_load(&begun), TASKS);
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 1 || atomic_load(&failed) > 0);
}

/* Each waits until all have begun. */
static void wait_for_all(void *user, struct level_pool_task *task)
{
    (void)user, (void)task;
    atomic_fetch_add(&begun, 1);
    pool_block_begin();
    WAIT_FOR(atomic_load(&begun) == TASKS);
    pool_block_end();
}

TEST(workers_take_over_from_a_blocked_task)
{
    const struct level_pool_options options = { .run = wait_for_all };
    static struct level_pool_task tasks[TASKS];
    struct level_pool_task *list[TASKS];
    struct level_pool *level_pool = level_pool_new(&options, &err);

    for (size_t i = 0; i < TASKS; i++)
        list[i] = &tasks[i];
    CHECK(level_pool != NULL);
    level_pool_run(level_pool, list, TASKS);
    level_pool_free(level_pool);
    CHECK_INT(atomic_load(&begun), TASKS);
}

TEST(a_limit_counts_the_calling_thread)
{
    const struct level_pool_options options = { .run = hold_files, .limit = 3 };
    static struct level_pool_task tasks[TASKS];
    struct level_pool_task *list[TASKS];
    struct level_pool *level_pool = level_pool_new(&options, &err);

    for (size_t i = 0; i < TASKS; i++)
        list[i] = &tasks[i];
    /* none waits for the others, also when the level pool has raised the limit of files */
    atomic_store(&begun, INT_MAX - TASKS);
    CHECK(level_pool != NULL);
    level_pool_run(level_pool, list, TASKS);
    level_pool_free(level_pool);
    CHECK(atomic_load(&most) <= 3);
    CHECK_INT(atomic_load(&failed), 0);
}

#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"
#include "core/sys/process.h"
#include "wait.h"

#define JOBS 10000
/* Sanitizers make processes and threads several times as expensive. */
#define SLEEPERS        1000
#define SLEEPERS_SLOWLY 200

static struct err err;
static atomic_int count, inside, most;
static struct pool *pool;

static void enter(void)
{
    int now = atomic_fetch_add(&inside, 1) + 1;

    for (int old = atomic_load(&most); now > old;)
        if (atomic_compare_exchange_weak(&most, &old, now))
            break;
}

static void compute(void *arg)
{
    (void)arg;
    enter();
    atomic_fetch_add(&count, 1);
    atomic_fetch_sub(&inside, 1);
}

TEST(small_jobs_all_run_on_a_few_workers)
{
    const struct pool_options options = { .active = 3 };

    pool = pool_new(&options, &err);
    CHECK(pool != NULL);
    for (int i = 0; i < JOBS; i++)
        pool_submit(pool, compute, NULL);
    pool_drain(pool);
    CHECK_INT(atomic_load(&count), JOBS);
    CHECK(atomic_load(&most) <= 3);
    CHECK(pool_count(pool).peak <= 3);
    pool_free(pool);
}

static pthread_barrier_t barrier;

/* Passes only when all jobs block at the same time. */
static void meet(void *arg)
{
    (void)arg;
    pool_block_begin();
    pool_block_begin(); /* pairs nest */
    (void)pthread_barrier_wait(&barrier);
    pool_block_end();
    pool_block_end();
    atomic_fetch_add(&count, 1);
}

TEST(workers_that_block_make_room_for_others)
{
    const struct pool_options options = { .active = 2, .limit = 100 };

    CHECK_INT(pthread_barrier_init(&barrier, NULL, 100), 0);
    pool = pool_new(&options, &err);
    for (int i = 0; i < 100; i++)
        pool_submit(pool, meet, NULL);
    pool_drain(pool);
    CHECK_INT(atomic_load(&count), 100);
    CHECK(pool_count(pool).peak <= 100);
    CHECK_INT(pool_count(pool).blocked, 0);
    pool_free(pool);
}

TEST(a_thread_that_joins_counts_as_one_that_runs_until_it_blocks_or_leaves)
{
    const struct pool_options options = { .active = 1 };

    pool = pool_new(&options, &err);
    CHECK(pool != NULL);
    pool_join(pool);
    for (int i = 0; i < JOBS; i++)
        pool_submit(pool, compute, NULL);
    CHECK_INT(atomic_load(&count), 0);
    pool_block_begin();
    WAIT_FOR(atomic_load(&count) == JOBS);
    pool_block_end();
    pool_submit(pool, compute, NULL);
    CHECK_INT(atomic_load(&count), JOBS);
    pool_leave();
    pool_leave(); /* which is fine without having joined */
    pool_drain(pool);
    CHECK_INT(atomic_load(&count), JOBS + 1);
    CHECK_INT(pool_count(pool).blocked, 0);
    pool_free(pool);
}

/* Passes only when both jobs run at the same time, though they do not say that they wait. */
static void meet_unsaid(void *arg)
{
    (void)arg;
    (void)pthread_barrier_wait(&barrier);
    atomic_fetch_add(&count, 1);
}

TEST(jobs_that_come_before_an_idle_worker_wakes_run_side_by_side)
{
    const struct pool_options options = { .active = 2, .limit = 2 };

    CHECK_INT(pthread_barrier_init(&barrier, NULL, 2), 0);
    for (int round = 1; round <= 100; round++) {
        pool = pool_new(&options, &err);
        WAIT_FOR(pool_count(pool).idle == 1);
        pool_submit(pool, meet_unsaid, NULL);
        pool_submit(pool, meet_unsaid, NULL);
        pool_drain(pool);
        CHECK_INT(atomic_load(&count), 2 * round);
        pool_free(pool);
    }
}

#define AGAIN_MAX 2000

static void go_on(void *arg)
{
    wait_a_little(); /* the pool begins to end meanwhile */
    if (atomic_fetch_add(&count, 1) < AGAIN_MAX)
        pool_submit(arg, go_on, arg);
}

TEST(a_pool_ends_though_its_jobs_always_submit_another)
{
    pool = pool_new(NULL, &err);
    pool_submit(pool, go_on, pool);
    WAIT_FOR(atomic_load(&count) > 2);
    pool_free(pool);
    CHECK(atomic_load(&count) < AGAIN_MAX);
}

static int gate;

static void wait_at_gate(void *arg)
{
    eventfd_t n;

    (void)arg;
    pool_block_begin();
    enter();
    (void)eventfd_read(gate, &n);
    atomic_fetch_sub(&inside, 1);
    pool_block_end();
    atomic_fetch_add(&count, 1);
}

TEST(there_are_never_more_workers_than_the_limit)
{
    const struct pool_options options = { .active = 2, .limit = 5 };

    gate = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    pool = pool_new(&options, &err);
    for (int i = 0; i < 20; i++)
        pool_submit(pool, wait_at_gate, NULL);
    WAIT_FOR(atomic_load(&inside) == 5);
    CHECK_INT(pool_count(pool).workers, 5);
    CHECK_INT(eventfd_write(gate, 20), 0);
    pool_drain(pool);
    CHECK_INT(atomic_load(&count), 20);
    CHECK_INT(atomic_load(&most), 5);
    pool_free(pool);
    (void)close(gate);
}

TEST(idle_workers_end_but_one)
{
    const struct pool_options options = { .active = 2, .limit = 50, .idle = 10 * CLOCK_MS };

    CHECK_INT(pthread_barrier_init(&barrier, NULL, 20), 0);
    pool = pool_new(&options, &err);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 20; i++)
            pool_submit(pool, meet, NULL);
        pool_drain(pool);
        CHECK_INT(atomic_load(&count), round * 20);
        WAIT_FOR(pool_count(pool).workers == 1);
    }
    pool_free(pool);
}

TEST(a_lazy_pool_has_workers_only_while_there_is_work)
{
    const struct pool_options options = {
        .active = 2, .limit = 2, .idle = 10 * CLOCK_MS, .lazy = true
    };

    pool = pool_new(&options, &err);
    CHECK_INT(pool_count(pool).workers, 0);
    for (int round = 1; round <= 3; round++) {
        pool_submit(pool, compute, NULL);
        pool_drain(pool);
        CHECK_INT(atomic_load(&count), round);
        WAIT_FOR(pool_count(pool).workers == 0);
    }
    pool_free(pool);
}

static pthread_t worked_by;

static void note_thread(void *arg)
{
    (void)arg;
    worked_by = pthread_self();
}

TEST(a_lazy_pool_without_workers_runs_work_in_the_submitter)
{
    /* more than there are addresses */
    const struct pool_options options = { .stack_size = (size_t)1 << 48, .lazy = true };

    pool = pool_new(&options, &err);
    for (int round = 0; round < 3; round++) {
        pool_submit(pool, note_thread, NULL);
        CHECK(pthread_equal(worked_by, pthread_self()));
        worked_by = (pthread_t){ 0 };
    }
    pool_drain(pool);
    pool_free(pool);
}

static void breed(void *arg)
{
    intptr_t depth = (intptr_t)arg;

    atomic_fetch_add(&count, 1);
    for (int i = 0; depth > 0 && i < 2; i++)
        pool_submit(pool, breed, (void *)(depth - 1));
}

TEST(draining_waits_for_jobs_that_jobs_submit)
{
    pool = pool_new(NULL, &err);
    pool_submit(pool, breed, (void *)10);
    pool_drain(pool);
    CHECK_INT(atomic_load(&count), 2047);
    pool_free(pool);
    pool_block_begin(); /* outside of a pool: nothing */
    pool_block_end();
}

static void sleep_a_second(void *arg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const argv[] = { "/bin/sleep", "1", NULL };
    struct process_result result;
    struct err e;

    (void)arg;
    if (process_run(&(struct process_spec){ .argv = argv }, NULL, NULL, &arena, &result, &e) == 0 &&
        process_status_ok(result.status))
        atomic_fetch_add(&count, 1);
    else
        print_error("%s\n", e.text);
}

/* Built with a sanitizer? Its runtime is then in the program, or in a library of its own. */
static bool is_slow_build(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/* One after the other they would take `n` seconds; even a busy machine starts two in a second. */
TEST(a_thousand_commands_that_sleep_a_second_sleep_at_once)
{
    const struct pool_options options = { .limit = 1024 };
    int n = is_slow_build() ? SLEEPERS_SLOWLY : SLEEPERS;
    int64_t began, took;

    fd_limit_raise();
    pool = pool_new(&options, &err);
    began = clock_real();
    for (int i = 0; i < n; i++)
        pool_submit(pool, sleep_a_second, NULL);
    pool_drain(pool);
    took = clock_real() - began;
    CHECK_INT(atomic_load(&count), n);
    print_message("%d commands that sleep 1 s: %.2f s\n", n, (double)took / 1e9);
    CHECK(took < n * CLOCK_SECOND / 2);
    pool_free(pool);
}

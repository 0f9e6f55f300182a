#include "test.h"

#include <stdlib.h>

#include "core/sys/clock.h"
#include "core/sys/timers.h"

#define MANY 1000

struct alarm {
    struct timer timer;
    char letter;
};

static struct timers timers;
static char rung[100];
static struct alarm a = { .letter = 'a' }, b = { .letter = 'b' }, c = { .letter = 'c' };

static void on_ring(struct timer *timer)
{
    const struct alarm *self = container_of(timer, struct alarm, timer);
    size_t n = strlen(rung);

    rung[n] = self->letter;
}

TEST(timers_ring_in_order_of_deadline_then_of_setting)
{
    timers_init(&timers);
    timer_set(&timers, &c.timer, 20, on_ring);
    timer_set(&timers, &b.timer, 10, on_ring);
    timer_set(&timers, &a.timer, 10, on_ring);
    CHECK_INT(timers_next(&timers), 10);
    CHECK_INT(timers_run(&timers, 9), 0);
    CHECK_INT(timers_run(&timers, 10), 2);
    CHECK_STR(rung, "ba");
    CHECK_INT(timers_run(&timers, 1000), 1);
    CHECK_INT(timers_next(&timers), CLOCK_NEVER);
    timers_done(&timers);
}

TEST(a_timer_can_be_moved_and_cleared)
{
    timers_init(&timers);
    timer_set(&timers, &a.timer, 10, on_ring);
    timer_set(&timers, &b.timer, 20, on_ring);
    timer_set(&timers, &a.timer, 30, on_ring);
    timer_clear(&timers, &b.timer);
    timer_clear(&timers, &b.timer);
    CHECK(!timer_is_set(&b.timer));
    CHECK(timer_is_set(&a.timer));
    CHECK_INT(timers_next(&timers), 30);
    CHECK_INT(timers_run(&timers, 100), 1);
    CHECK_STR(rung, "a");
    timers_done(&timers);
}

static void on_clear_b(struct timer *timer)
{
    on_ring(timer);
    timer_clear(&timers, &b.timer);
}

TEST(a_callback_clears_one_that_is_due_in_the_same_round)
{
    timers_init(&timers);
    timer_set(&timers, &a.timer, 1, on_clear_b);
    timer_set(&timers, &b.timer, 2, on_ring);
    timer_set(&timers, &c.timer, 3, on_ring);
    CHECK_INT(timers_run(&timers, 5), 2);
    CHECK_STR(rung, "ac");
    timers_done(&timers);
}

static void on_again(struct timer *timer)
{
    on_ring(timer);
    timer_set(&timers, timer, clock_now(), on_again); /* due at once, yet not in this round */
}

TEST(a_timer_set_again_waits_for_the_next_round)
{
    clock_fake(1000, 0);
    timers_init(&timers);
    timer_set(&timers, &a.timer, 1000, on_again);
    timer_set(&timers, &b.timer, 1000, on_ring);
    CHECK_INT(timers_run(&timers, clock_now()), 2);
    CHECK_INT(timers_run(&timers, clock_now()), 1);
    CHECK_STR(rung, "aba");
    timers_done(&timers);
}

TEST(the_fake_clock_plays_an_hour_of_restarts)
{
    int rings = 0;

    clock_fake(0, 7 * CLOCK_SECOND);
    timers_init(&timers);
    timer_set(&timers, &a.timer, clock_now() + 60 * CLOCK_SECOND, on_ring);
    while (clock_now() < 3600 * CLOCK_SECOND) {
        clock_turn(timers_next(&timers) - clock_now());
        rings += (int)timers_run(&timers, clock_now());
        timer_set(&timers, &a.timer, clock_now() + 60 * CLOCK_SECOND, on_ring);
    }
    CHECK_INT(rings, 60);
    CHECK_INT(clock_wall(), 3607 * CLOCK_SECOND);
    clock_restore();
    CHECK(clock_wall() > 1000000 * CLOCK_SECOND);
    timers_done(&timers);
}

static int64_t last_deadline;

static void on_ordered(struct timer *timer)
{
    CHECK(timer->deadline >= last_deadline);
    last_deadline = timer->deadline;
}

TEST(a_thousand_timers_in_disorder_ring_in_order)
{
    static struct timer many[MANY];
    size_t count = 0;

    srand(1);
    timers_init(&timers);
    for (int i = 0; i < MANY; i++)
        timer_set(&timers, &many[i], rand() % 500, on_ordered);
    for (int i = 0; i < MANY; i += 3)
        timer_set(&timers, &many[i], rand() % 500, on_ordered);
    for (int i = 0; i < MANY; i += 5)
        timer_clear(&timers, &many[i]);
    for (int64_t now = 0; now < 507; now += 7)
        count += timers_run(&timers, now);
    CHECK_INT(count, MANY - MANY / 5);
    timers_done(&timers);
}

TEST(a_deadline_beyond_all_time_is_never)
{
    CHECK_INT(clock_after(INT64_MAX - 5, 10), CLOCK_NEVER);
    CHECK_INT(clock_after(5, 10), 15);
}

/* The guards against loops and storms: throttle and breaker. */
#include "fleet/reactor/breaker.h"
#include "fleet/reactor/throttle.h"

#include <stdio.h>

#include "core/base/number.h"
#include "test.h"

#define SECOND NUMBER_NS_PER_S

TEST(a_fire_that_completed_begins_a_pause_for_its_rule_and_source)
{
    struct throttle throttle;

    throttle_init(&throttle);
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-01", 0));
    throttle_confirm(&throttle, "reactor.a", "web-01", 30 * SECOND, 1 * SECOND);
    CHECK(!throttle_reserve(&throttle, "reactor.a", "web-01", 30 * SECOND));
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-02", 30 * SECOND));
    CHECK(throttle_reserve(&throttle, "reactor.b", "web-01", 30 * SECOND));
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-01", 31 * SECOND));
    throttle_done(&throttle);
}

TEST(an_attempt_that_failed_begins_no_pause)
{
    struct throttle throttle;

    throttle_init(&throttle);
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-01", 0));
    throttle_cancel(&throttle, "reactor.a", "web-01");
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-01", 0));
    throttle_done(&throttle);
}

TEST(of_many_events_at_once_one_fires)
{
    struct throttle throttle;
    int fires = 0;

    throttle_init(&throttle);
    for (int i = 0; i < 10; i++)
        fires += throttle_reserve(&throttle, "reactor.a", "web-01", 0) ? 1 : 0;
    CHECK_INT(fires, 1);
    throttle_done(&throttle);
}

TEST(pauses_are_bounded_and_the_oldest_is_forgotten)
{
    struct throttle throttle;
    char source[32];

    throttle_init(&throttle);
    for (int i = 0; i <= THROTTLE_MAX; i++) {
        (void)snprintf(source, sizeof(source), "web-%d", i);
        CHECK(throttle_reserve(&throttle, "reactor.a", source, 0));
        throttle_confirm(&throttle, "reactor.a", source, 60 * SECOND, 0);
    }
    CHECK_INT(lru_count(&throttle.pauses), THROTTLE_MAX);
    CHECK(throttle_reserve(&throttle, "reactor.a", "web-0", SECOND));
    CHECK(!throttle_reserve(&throttle, "reactor.a", source, SECOND));
    throttle_done(&throttle);
}

/* How many of `events` fire, all of them at `now`. */
static int fire(struct breaker *breaker, const char *rule, int events, int64_t now)
{
    int fires = 0;

    for (int i = 0; i < events; i++) {
        if (!breaker_reserve(breaker, rule, now))
            continue;
        (void)breaker_confirm(breaker, rule, now);
        fires++;
    }
    return fires;
}

TEST(more_fires_in_a_minute_than_the_rate_open_the_breaker_for_the_cooldown)
{
    struct breaker breaker;

    breaker_init(&breaker, 5, 300 * SECOND);
    CHECK_INT(fire(&breaker, "reactor.a", 5, SECOND), 5);
    CHECK_INT(breaker.open, 0);
    CHECK_INT(fire(&breaker, "reactor.a", 5, 2 * SECOND), 1); /* one too many: it opens */
    CHECK_INT(breaker.open, 1);
    CHECK_INT(fire(&breaker, "reactor.b", 5, 2 * SECOND), 5); /* another rule */
    CHECK_INT(fire(&breaker, "reactor.a", 5, 301 * SECOND), 0);
    CHECK_INT(fire(&breaker, "reactor.a", 5, 302 * SECOND), 5);
    CHECK_INT(breaker.open, 0);
    breaker_done(&breaker);
}

TEST(the_minute_of_the_breaker_slides)
{
    struct breaker breaker;

    breaker_init(&breaker, 2, 300 * SECOND);
    for (int i = 0; i < 100; i++)
        CHECK_INT(fire(&breaker, "reactor.a", 1, i * 30 * SECOND), 1);
    CHECK_INT(breaker.open, 0);
    CHECK_INT(fire(&breaker, "reactor.a", 2, 99 * 30 * SECOND + 1), 1);
    CHECK_INT(breaker.open, 1);
    breaker_done(&breaker);
}

TEST(fires_that_did_not_complete_are_not_counted)
{
    struct breaker breaker;

    breaker_init(&breaker, 1, 300 * SECOND);
    for (int i = 0; i < 10; i++) {
        CHECK(breaker_reserve(&breaker, "reactor.a", SECOND));
        breaker_cancel(&breaker, "reactor.a");
    }
    CHECK_INT(fire(&breaker, "reactor.a", 1, SECOND), 1);
    CHECK_INT(breaker.open, 0);
    breaker_done(&breaker);
}

TEST(reserved_fires_keep_the_rate_when_many_run_at_once)
{
    struct breaker breaker;
    int fires = 0;

    breaker_init(&breaker, 5, 300 * SECOND);
    for (int i = 0; i < 20; i++)
        fires += breaker_reserve(&breaker, "reactor.a", SECOND) ? 1 : 0;
    CHECK_INT(fires, 6);
    breaker_done(&breaker);
}

static void note_open(void *user, struct str rule, bool is_open)
{
    buf_printf(user, "%.*s=%d ", STR_ARG(rule), is_open ? 1 : 0);
}

TEST(a_sweep_closes_a_breaker_although_no_event_comes)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct breaker breaker;

    breaker_init(&breaker, 1, 10 * SECOND);
    CHECK_INT(fire(&breaker, "reactor.a", 9, SECOND), 2);
    CHECK_INT(fire(&breaker, "reactor.b", 1, SECOND), 1);
    CHECK(!breaker_sweep(&breaker, 10 * SECOND));
    breaker_each(&breaker, note_open, &out);
    CHECK(breaker_sweep(&breaker, 11 * SECOND));
    breaker_each(&breaker, note_open, &out);
    CHECK_STR(buf_text(&out), "reactor.a=1 reactor.b=0 reactor.a=0 reactor.b=0 ");
    CHECK_INT(breaker.open, 0);
    breaker_done(&breaker);
}

TEST(a_rate_of_zero_never_opens)
{
    struct breaker breaker;

    breaker_init(&breaker, 0, 300 * SECOND);
    CHECK_INT(fire(&breaker, "reactor.a", 100000, SECOND), 100000);
    breaker_done(&breaker);
}

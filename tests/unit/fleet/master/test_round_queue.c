#include "fleet/master/files/round_queue.h"

#include "test.h"

/* A waiter that may request another round when called. */
struct guest {
    struct round_queue *queue;
    const struct publisher_cause *cause;
    bool comes_again;
    int calls;
};

static void on_round(void *self, const struct publisher_outcome *outcome)
{
    struct guest *guest = self;

    guest->calls += outcome->changed;
    if (guest->comes_again)
        round_queue_add(guest->queue,
                        &(struct round_waiter){ .wish = { .fn = on_round, .self = guest } }, false);
}

static void add(struct round_queue *queue, struct guest *guest, bool is_tell, bool is_late)
{
    guest->queue = queue;
    round_queue_add(
        queue,
        &(struct round_waiter){ .wish = { .fn = on_round, .self = guest, .cause = guest->cause },
                                .is_tell = is_tell },
        is_late);
}

TEST(a_round_writes_only_a_number_if_all_waiters_want_only_that)
{
    struct round_queue queue = { 0 };
    struct guest one = { 0 }, two = { 0 };

    CHECK(!round_queue_read(&queue).only_tells); /* a round without waiters publishes */
    add(&queue, &one, true, false);
    CHECK(round_queue_read(&queue).only_tells && round_queue_read(&queue).must_tell);
    add(&queue, &two, false, false);
    CHECK(!round_queue_read(&queue).only_tells && round_queue_read(&queue).must_tell);
    CHECK(!round_queue_read(&queue).is_forced);
    round_queue_done(&queue);
}

TEST(late_and_repeated_waiters_wait_for_the_next_round)
{
    const struct publisher_outcome outcome = { .changed = true };
    struct round_queue queue = { 0 };
    struct guest early = { .comes_again = true }, late = { 0 };

    add(&queue, &early, false, false);
    add(&queue, &late, true, true);
    CHECK(!round_queue_read(&queue).must_tell);
    CHECK(round_queue_answer(&queue, &outcome));
    CHECK(early.calls == 1 && late.calls == 0);
    CHECK(round_queue_read(&queue).must_tell); /* in either order */
    early.comes_again = false;
    CHECK(!round_queue_answer(&queue, &outcome));
    CHECK(early.calls == 2 && late.calls == 1);
    add(&queue, &early, false, false);
    add(&queue, &late, false, true);
    round_queue_close(&queue, &outcome);
    CHECK(early.calls == 3 && late.calls == 2);
    round_queue_done(&queue);
}

TEST(a_cause_applies_to_the_round_that_serves_its_waiter)
{
    const struct publisher_outcome outcome = { .changed = true };
    const struct publisher_cause cause = { .by = "alice", .note = "" }, other = cause;
    struct round_queue queue = { 0 };
    struct guest early = { .comes_again = true };
    struct guest late = { .cause = &cause }, later = { .cause = &other };

    add(&queue, &early, false, false);
    add(&queue, &late, false, true);
    add(&queue, &later, false, true);
    CHECK(!round_queue_read(&queue).cause);
    CHECK(round_queue_answer(&queue, &outcome));
    CHECK(round_queue_read(&queue).cause == &cause); /* the first one */
    CHECK(round_queue_answer(&queue, &outcome) && late.calls == 1);
    CHECK(!round_queue_read(&queue).cause);
    round_queue_done(&queue);
}

#include "fleet/jobs/job_counts.h"

#include "test.h"

#define SECOND INT64_C(1000000000)

static const char *const abc[] = { "a", "b", "c" };
static const struct param_strs three = { 3, abc };

struct count {
    struct job_counts *job_counts;
    struct job_counts_orders orders;
};

static struct count begin(const struct job_counts_options *options)
{
    return (struct count){ .job_counts = job_counts_new(&three, options) };
}

static void end(struct count *count)
{
    job_counts_orders_done(&count->orders);
    job_counts_free(count->job_counts);
}

static void at(struct count *count, int64_t seconds)
{
    job_counts_advance(count->job_counts, seconds * SECOND, &count->orders);
}

static const struct job_counts_options minute = { .deadline = 60 * SECOND };

TEST(all_are_sent_at_once_and_success_of_all_is_complete)
{
    struct count count = begin(&minute);

    at(&count, 0);
    CHECK_INT(count.orders.send.n, 3);
    CHECK_STR(count.orders.send.p[2], "c");
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(job_counts_return(count.job_counts, str_from(abc[i]), true, false),
                  JOB_COUNTS_NOTED);
    at(&count, 1);
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_COMPLETE);
    CHECK_INT(job_counts_counts(count.job_counts).succeeded, 3);
    end(&count);
}

TEST(one_failure_makes_a_job_failed_when_all_have_returned)
{
    struct count count = begin(&minute);

    at(&count, 0);
    (void)job_counts_return(count.job_counts, STR("a"), true, false);
    (void)job_counts_return(count.job_counts, STR("b"), false, false);
    at(&count, 1);
    CHECK(!count.orders.ended);
    (void)job_counts_return(count.job_counts, STR("c"), true, false);
    at(&count, 1);
    CHECK_INT(count.orders.status, JOB_FAILED);
    end(&count);
}

TEST(the_silent_get_it_once_more_after_5_s_and_are_unreachable_after_10_s)
{
    struct count count = begin(&minute);

    at(&count, 0);
    CHECK_INT(job_counts_ack(count.job_counts, STR("a")), JOB_COUNTS_NOTED);
    CHECK_INT(job_counts_next(count.job_counts), 5 * SECOND);
    at(&count, 4);
    CHECK_INT(count.orders.resend.n, 0);
    at(&count, 5);
    CHECK_INT(count.orders.resend.n, 2);
    CHECK_STR(count.orders.resend.p[0], "b");
    CHECK_INT(job_counts_next(count.job_counts), 10 * SECOND);
    CHECK_INT(job_counts_ack(count.job_counts, STR("b")), JOB_COUNTS_NOTED);
    at(&count, 10);
    CHECK_INT(count.orders.resend.n, 0);
    CHECK_INT(count.orders.lost.n, 1);
    CHECK_STR(count.orders.lost.p[0], "c");
    CHECK(!job_counts_has_returned(count.job_counts, STR("c"))); /* not by itself */
    CHECK_INT(job_counts_next(count.job_counts), 60 * SECOND);
    end(&count);
}

TEST(before_a_target_is_given_up_there_is_time_to_look_for_what_was_missed)
{
    struct count count = begin(&minute);

    at(&count, 0);
    CHECK_INT(job_counts_ack(count.job_counts, STR("a")), JOB_COUNTS_NOTED);
    CHECK(!job_counts_gives_up(count.job_counts, 5 * SECOND)); /* the silent get it once more */
    at(&count, 5);
    CHECK(!job_counts_gives_up(count.job_counts, 9 * SECOND));
    CHECK(job_counts_gives_up(count.job_counts, 10 * SECOND));
    (void)job_counts_ack(count.job_counts, STR("b"));
    (void)job_counts_return(count.job_counts, STR("c"), true, false);
    CHECK(!job_counts_gives_up(count.job_counts, 10 * SECOND)); /* it was missed */
    CHECK(job_counts_gives_up(count.job_counts, 60 * SECOND));  /* the deadline */
    (void)job_counts_return(count.job_counts, STR("a"), true, false);
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    CHECK(!job_counts_gives_up(count.job_counts, 60 * SECOND));
    end(&count);
}

TEST(who_has_acknowledged_has_the_whole_time)
{
    struct count count = begin(&minute);

    at(&count, 0);
    for (size_t i = 0; i < 3; i++)
        (void)job_counts_ack(count.job_counts, str_from(abc[i]));
    at(&count, 59);
    CHECK(!count.orders.ended);
    CHECK_INT(count.orders.lost.n, 0);
    at(&count, 60);
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_TIMEOUT);
    end(&count);
}

TEST(some_results_at_the_deadline_are_partial)
{
    struct count count = begin(&minute);

    at(&count, 0);
    for (size_t i = 0; i < 3; i++)
        (void)job_counts_ack(count.job_counts, str_from(abc[i]));
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    at(&count, 60);
    CHECK_INT(count.orders.status, JOB_PARTIAL);
    end(&count);
}

TEST(at_the_deadline_every_target_without_a_result_is_named)
{
    struct count count = begin(&(struct job_counts_options){ .deadline = 3 * SECOND });

    at(&count, 0);
    (void)job_counts_ack(count.job_counts, STR("a"));
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    at(&count, 3);
    CHECK_INT(count.orders.status, JOB_PARTIAL);
    CHECK_INT(count.orders.lost.n, 1);
    CHECK_STR(count.orders.lost.p[0], "c");
    CHECK_INT(count.orders.overdue.n, 1);
    CHECK_STR(count.orders.overdue.p[0], "a");
    CHECK(!job_counts_has_returned(count.job_counts, STR("a")));
    CHECK_INT(job_counts_counts(count.job_counts).returned,
              2); /* who may still answer is not counted */
    at(&count, 4);
    CHECK_INT(count.orders.lost.n + count.orders.overdue.n, 0);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), true, false), JOB_COUNTS_NOTED);
    CHECK_INT(job_counts_counts(count.job_counts).returned, 3);
    CHECK_INT(count.orders.status, JOB_PARTIAL);
    end(&count);
}

TEST(when_a_job_is_stopped_every_target_without_a_result_is_named)
{
    struct count count = begin(&minute);

    at(&count, 0);
    (void)job_counts_ack(count.job_counts, STR("a"));
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    job_counts_cancel(count.job_counts);
    at(&count, 1);
    CHECK_INT(count.orders.status, JOB_CANCELED);
    CHECK_INT(count.orders.canceled.n, 1);
    CHECK_STR(count.orders.canceled.p[0], "a");
    CHECK_INT(count.orders.spared.n, 1);
    CHECK_STR(count.orders.spared.p[0], "c");
    CHECK_INT(job_counts_counts(count.job_counts).returned, 1);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), false, false), JOB_COUNTS_NOTED);
    end(&count);
}

TEST(a_job_that_is_taken_over_after_its_deadline_answers_for_the_silent)
{
    struct count count = begin(&minute);

    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    at(&count, 61);
    CHECK_INT(count.orders.send.n, 0);
    CHECK_INT(count.orders.lost.n, 2);
    CHECK_INT(count.orders.status, JOB_PARTIAL);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), true, false), JOB_COUNTS_NOTED);
    end(&count);
}

TEST(at_the_deadline_those_of_a_batch_whose_turn_did_not_come_are_told_apart)
{
    struct count count = begin(
        &(struct job_counts_options){ .deadline = 3 * SECOND, .batch = 1, .failures_max = 9 });

    at(&count, 0);
    (void)job_counts_ack(count.job_counts, STR("a"));
    at(&count, 3);
    CHECK_INT(count.orders.status, JOB_TIMEOUT);
    CHECK_INT(count.orders.lost.n, 0);
    CHECK_INT(count.orders.held.n, 2);
    end(&count);
}

TEST(one_of_a_batch_that_hangs_makes_room_after_its_time_and_counts_as_failed)
{
    struct count count = begin(&(struct job_counts_options){
        .deadline = 60 * SECOND, .batch = 1, .failures_max = 1, .target_timeout = 20 * SECOND });

    at(&count, 0);
    CHECK_STR(count.orders.send.p[0], "a");
    (void)job_counts_ack(count.job_counts, STR("a"));
    at(&count, 5);
    CHECK_INT(count.orders.resend.n, 0);
    CHECK_INT(job_counts_next(count.job_counts), 20 * SECOND);
    CHECK(!job_counts_gives_up(count.job_counts, 19 * SECOND));
    CHECK(job_counts_gives_up(count.job_counts, 20 * SECOND));
    at(&count, 20);
    CHECK_INT(count.orders.expired.n, 1);
    CHECK_STR(count.orders.expired.p[0], "a");
    CHECK_STR(count.orders.send.p[0], "b");
    (void)job_counts_return(count.job_counts, STR("b"), false, false);
    at(&count, 21); /* two have failed: more than one may */
    CHECK_INT(count.orders.unsent.n, 1);
    CHECK_INT(count.orders.status, JOB_FAILED);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), true, false), JOB_COUNTS_NOTED);
    end(&count);
}

TEST(each_has_a_time_from_its_ack_and_one_that_is_over_counts_as_failed)
{
    struct count count =
        begin(&(struct job_counts_options){ .deadline = 60 * SECOND, .ack_timeout = 20 * SECOND });

    at(&count, 0);
    (void)job_counts_ack(count.job_counts, STR("a"));
    at(&count, 1);
    CHECK_INT(job_counts_next(count.job_counts), 5 * SECOND);
    at(&count, 5); /* b and c are silent */
    CHECK_INT(count.orders.resend.n, 2);
    (void)job_counts_ack(count.job_counts, STR("b"));
    (void)job_counts_ack(count.job_counts, STR("c"));
    CHECK_INT(job_counts_next(count.job_counts), 0);
    at(&count, 6);
    CHECK_INT(job_counts_next(count.job_counts), 21 * SECOND);
    (void)job_counts_return(count.job_counts, STR("c"), true, false);
    at(&count, 20);
    CHECK_INT(count.orders.expired.n, 0);
    CHECK(job_counts_gives_up(count.job_counts, 21 * SECOND));
    at(&count, 21);
    CHECK_INT(count.orders.expired.n, 1);
    CHECK_STR(count.orders.expired.p[0], "a");
    CHECK(!count.orders.ended);
    at(&count, 26);
    CHECK_STR(count.orders.expired.p[0], "b");
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_FAILED);
    end(&count);
}

TEST(the_time_from_an_ack_is_no_longer_than_that_of_a_batch)
{
    struct count count = begin(&(struct job_counts_options){ .deadline = 600 * SECOND,
                                                             .batch = 1,
                                                             .failures_max = SIZE_MAX,
                                                             .target_timeout = 10 * SECOND,
                                                             .ack_timeout = 60 * SECOND });

    at(&count, 0);
    (void)job_counts_ack(count.job_counts, STR("a"));
    at(&count, 9);
    CHECK_INT(count.orders.expired.n, 0);
    at(&count, 10);
    CHECK_INT(count.orders.expired.n, 1);
    CHECK_STR(count.orders.send.p[0], "b");
    end(&count);
}

static bool is_there(void *self, const char *peel)
{
    (void)self;
    (void)peel;
    return true;
}

TEST(one_that_asks_for_its_request_later_gets_it_then_and_makes_room_meanwhile)
{
    struct count count = begin(&(struct job_counts_options){ .deadline = 600 * SECOND,
                                                             .batch = 1,
                                                             .failures_max = SIZE_MAX,
                                                             .queue_until = 500 * SECOND,
                                                             .is_present = is_there });

    at(&count, 0);
    CHECK_INT(job_counts_defer(count.job_counts, STR("x"), 0, 100 * SECOND), JOB_COUNTS_STRANGER);
    CHECK_INT(job_counts_defer(count.job_counts, STR("b"), 0, 100 * SECOND),
              JOB_COUNTS_KNOWN); /* not sent yet */
    CHECK_INT(job_counts_defer(count.job_counts, STR("a"), 0, 100 * SECOND), JOB_COUNTS_NOTED);
    at(&count, 1);
    CHECK_STR(count.orders.send.p[0], "b");
    (void)job_counts_ack(count.job_counts, STR("b"));
    CHECK_INT(job_counts_defer(count.job_counts, STR("b"), SECOND, 100 * SECOND), JOB_COUNTS_KNOWN);
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    at(&count, 2);
    CHECK_STR(count.orders.send.p[0], "c");
    CHECK_INT(job_counts_defer(count.job_counts, STR("c"), 2 * SECOND, 501 * SECOND),
              JOB_COUNTS_LATE);
    at(&count, 99);
    CHECK_INT(count.orders.resend.n, 0);
    at(&count, 100);
    CHECK_INT(count.orders.resend.n, 1);
    CHECK_STR(count.orders.resend.p[0], "a");
    CHECK_INT(job_counts_defer(count.job_counts, STR("a"), 100 * SECOND, 0),
              JOB_COUNTS_NOTED); /* in the past */
    CHECK_INT(job_counts_next(count.job_counts), 100 * SECOND + JOB_COUNTS_QUEUE_NS);
    (void)job_counts_return(count.job_counts, STR("a"), true, false);
    at(&count, 102);
    CHECK(count.orders.ended);
    end(&count);
}

TEST(late_returns_correct_every_status_but_that_of_a_job_that_was_stopped)
{
    static const struct {
        enum job_status before;
        struct job_counts_counts counts;
        enum job_status after;
    } cases[] = {
        { JOB_FAILED, { 2, 2, 2, 0 }, JOB_COMPLETE },
        { JOB_FAILED, { 2, 2, 1, 0 }, JOB_FAILED },
        { JOB_TIMEOUT, { 2, 1, 1, 0 }, JOB_PARTIAL },
        { JOB_TIMEOUT, { 2, 2, 2, 0 }, JOB_COMPLETE },
        { JOB_PARTIAL, { 2, 2, 1, 0 }, JOB_FAILED },
        { JOB_PARTIAL, { 3, 2, 2, 0 }, JOB_PARTIAL },
        { JOB_CANCELED, { 2, 2, 2, 0 }, JOB_CANCELED },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(job_counts_correct_status(cases[i].before, cases[i].counts), cases[i].after);
}

TEST(a_real_result_replaces_a_made_up_one_and_is_never_replaced)
{
    struct count count = begin(&minute);

    at(&count, 0);
    at(&count, 5);
    at(&count, 10);
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_FAILED);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), true, false), JOB_COUNTS_NOTED);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), false, false), JOB_COUNTS_KNOWN);
    CHECK_INT(job_counts_return(count.job_counts, STR("a"), false, true), JOB_COUNTS_KNOWN);
    CHECK_INT(job_counts_counts(count.job_counts).succeeded, 1);
    CHECK_INT(job_counts_counts(count.job_counts).returned, 3);
    end(&count);
}

TEST(strangers_do_not_count)
{
    struct count count = begin(&minute);

    CHECK_INT(job_counts_ack(count.job_counts, STR("d")), JOB_COUNTS_STRANGER);
    CHECK_INT(job_counts_return(count.job_counts, STR("d"), true, false), JOB_COUNTS_STRANGER);
    CHECK_INT(job_counts_counts(count.job_counts).returned, 0);
    end(&count);
}

TEST(a_stopped_job_is_canceled_unless_all_have_returned)
{
    struct count count = begin(&minute);

    at(&count, 0);
    (void)job_counts_return(count.job_counts, STR("a"), true, false);
    job_counts_cancel(count.job_counts);
    CHECK_INT(job_counts_next(count.job_counts), 0);
    at(&count, 1);
    CHECK_INT(count.orders.status, JOB_CANCELED);
    end(&count);

    count = begin(&minute);
    at(&count, 0);
    for (size_t i = 0; i < 3; i++)
        (void)job_counts_return(count.job_counts, str_from(abc[i]), i != 1, false);
    job_counts_cancel(count.job_counts);
    at(&count, 1);
    CHECK_INT(count.orders.status, JOB_FAILED);
    end(&count);
}

TEST(a_batch_keeps_so_many_busy)
{
    struct count count = begin(
        &(struct job_counts_options){ .deadline = 60 * SECOND, .batch = 1, .failures_max = 9 });

    at(&count, 0);
    CHECK_INT(count.orders.send.n, 1);
    (void)job_counts_ack(count.job_counts, STR("a"));
    at(&count, 1);
    CHECK_INT(count.orders.send.n, 0);
    (void)job_counts_return(count.job_counts, STR("a"), false, false);
    at(&count, 2);
    CHECK_INT(count.orders.send.n, 1);
    CHECK_STR(count.orders.send.p[0], "b");
    CHECK(job_counts_next(count.job_counts) <= 7 * SECOND);
    end(&count);
}

TEST(when_too_many_failed_the_rest_is_not_sent_and_everyone_has_an_answer)
{
    struct count count = begin(
        &(struct job_counts_options){ .deadline = 60 * SECOND, .batch = 1, .failures_max = 0 });

    at(&count, 0);
    (void)job_counts_return(count.job_counts, STR("a"), false, false);
    at(&count, 1);
    CHECK_INT(count.orders.send.n, 0);
    CHECK_INT(count.orders.unsent.n, 2);
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_FAILED);
    CHECK_INT(job_counts_counts(count.job_counts).returned, 3);
    end(&count);
}

TEST(a_target_that_is_named_twice_counts_once)
{
    static const char *const twice[] = { "a", "a" };
    struct job_counts *job_counts = job_counts_new(&(struct param_strs){ 2, twice }, &minute);

    CHECK_INT(job_counts_counts(job_counts).targets, 1);
    job_counts_free(job_counts);
}

static bool is_back(void *self, const char *peel)
{
    const char *const *present = self;

    return *present && strcmp(*present, peel) == 0;
}

TEST(with_a_queue_the_silent_wait_and_get_the_same_request_when_they_are_back)
{
    const char *present = NULL;
    struct count count = begin(&(struct job_counts_options){ .deadline = 160 * SECOND,
                                                             .queue_until = 100 * SECOND,
                                                             .is_present = is_back,
                                                             .self = &present });

    at(&count, 0);
    (void)job_counts_return(count.job_counts, STR("a"), true, false);
    at(&count, 5);
    CHECK(job_counts_gives_up(count.job_counts, 10 * SECOND));
    at(&count, 10);
    CHECK_INT(count.orders.queued.n, 2);
    CHECK_INT(count.orders.lost.n, 0);
    CHECK(job_counts_is_queued(count.job_counts, STR("b")) &&
          !job_counts_is_queued(count.job_counts, STR("a")));
    at(&count, 20);
    CHECK(!job_counts_gives_up(count.job_counts, 20 * SECOND));
    CHECK_INT(count.orders.queued.n + count.orders.resend.n, 0);
    present = "b";
    at(&count, 30);
    CHECK_INT(count.orders.resend.n, 1);
    CHECK_STR(count.orders.resend.p[0], "b");
    CHECK_INT(job_counts_ack(count.job_counts, STR("b")), JOB_COUNTS_NOTED);
    CHECK(!job_counts_is_silent(count.job_counts, STR("b")) &&
          job_counts_is_silent(count.job_counts, STR("c")));
    (void)job_counts_return(count.job_counts, STR("b"), true, false);
    at(&count, 99);
    CHECK(!count.orders.ended);
    CHECK(job_counts_gives_up(count.job_counts, 101 * SECOND));
    at(&count, 101);
    CHECK_INT(count.orders.lost.n, 1);
    CHECK(count.orders.ended);
    CHECK_INT(count.orders.status, JOB_FAILED);
    end(&count);
}

TEST(one_that_is_queued_makes_room_in_a_batch_and_may_be_silent_again)
{
    const char *present = NULL;
    struct count count = begin(&(struct job_counts_options){ .deadline = 160 * SECOND,
                                                             .batch = 1,
                                                             .failures_max = 3,
                                                             .queue_until = 100 * SECOND,
                                                             .is_present = is_back,
                                                             .self = &present });

    at(&count, 0);
    CHECK_STR(count.orders.send.p[0], "a");
    at(&count, 5);
    at(&count, 10);
    CHECK_STR(count.orders.queued.p[0], "a");
    CHECK_STR(count.orders.send.p[0], "b");
    present = "a";
    at(&count, 12);
    CHECK_STR(count.orders.resend.p[0], "a");
    at(&count, 17); /* it was not there after all */
    CHECK_INT(count.orders.queued.n, 1);
    CHECK(job_counts_is_queued(count.job_counts, STR("a")));
    end(&count);
}

/* --- waves ------------------------------------------------------------------------------ */

static const char *const abcde[] = { "a", "b", "c", "d", "e" };

/* Two at a time. */
static struct count begin_waves(bool has_gate, size_t failures_max)
{
    return (struct count){ .job_counts = job_counts_new(
                               &(struct param_strs){ 5, abcde },
                               &(struct job_counts_options){ .deadline = 600 * SECOND,
                                                             .batch = 2,
                                                             .has_waves = true,
                                                             .has_gate = has_gate,
                                                             .pause = has_gate ? 0 : 10 * SECOND,
                                                             .failures_max = failures_max }) };
}

static void answer(struct count *count, const char *peels, bool success)
{
    for (; *peels; peels++)
        CHECK_INT(job_counts_return(count->job_counts, (struct str){ peels, 1 }, success, false),
                  JOB_COUNTS_NOTED);
}

/* "ab" */
static const char *list(const struct count *count, enum job_counts_part part)
{
    static char text[8];
    struct job_counts_ids ids = { .list = VEC_INIT };
    size_t n = 0;

    job_counts_list(count->job_counts, part, &ids);
    VEC_EACH (&ids.list, id)
        text[n++] = (*id)[0];
    text[n] = '\0';
    vec_done(&ids.list);
    return text;
}

TEST(a_wave_is_sent_when_all_of_the_last_have_answered_and_the_pause_is_over)
{
    struct count count = begin_waves(false, 0);

    at(&count, 0);
    CHECK_INT(count.orders.send.n, 2);
    answer(&count, "a", true);
    at(&count, 1);
    CHECK_INT(count.orders.send.n, 0);
    answer(&count, "b", true);
    at(&count, 2);
    CHECK_INT(count.orders.send.n, 0);
    at(&count, 5); /* nobody is silent */
    CHECK_INT(job_counts_next(count.job_counts), 12 * SECOND);
    at(&count, 11);
    CHECK_INT(count.orders.send.n, 0);
    at(&count, 12);
    CHECK_INT(count.orders.send.n, 2);
    CHECK_STR(count.orders.send.p[0], "c");
    answer(&count, "cd", true);
    at(&count, 13);
    at(&count, 23);
    CHECK_STR(count.orders.send.p[0], "e");
    answer(&count, "e", true);
    at(&count, 24); /* no pause after the last */
    CHECK(count.orders.ended && !job_counts_is_stopped(count.job_counts));
    CHECK_INT(count.orders.status, JOB_COMPLETE);
    end(&count);
}

TEST(a_failure_stops_the_waves_and_names_those_that_had_the_request)
{
    struct count count = begin_waves(false, 0);

    at(&count, 0);
    answer(&count, "ab", true);
    at(&count, 1);
    at(&count, 11);
    answer(&count, "d", false);
    at(&count, 12);
    CHECK_INT(count.orders.unsent.n, 1);
    CHECK(!count.orders.ended);
    answer(&count, "c", true);
    at(&count, 13);
    CHECK_INT(count.orders.status, JOB_FAILED);
    CHECK(job_counts_is_stopped(count.job_counts));
    CHECK_INT(job_counts_wave(count.job_counts), 2);
    CHECK_STR(list(&count, JOB_COUNTS_WAVE), "cd");
    CHECK_STR(list(&count, JOB_COUNTS_HEALTHY), "c");
    CHECK_STR(list(&count, JOB_COUNTS_ALL), "abcd");
    end(&count);
}

TEST(a_target_that_never_had_the_request_has_nothing_to_revert)
{
    struct count count = begin_waves(false, 0);

    at(&count, 0);
    answer(&count, "a", true);
    at(&count, 5);
    at(&count, 10);
    CHECK_INT(count.orders.lost.n, 1);
    CHECK(count.orders.ended && job_counts_is_stopped(count.job_counts));
    CHECK_STR(list(&count, JOB_COUNTS_WAVE), "a");
    end(&count);
}

TEST(a_gate_is_asked_once_for_each_wave_also_for_the_last)
{
    struct count count = begin_waves(true, 0);

    at(&count, 0);
    answer(&count, "ab", true);
    at(&count, 1);
    CHECK(count.orders.gate && count.orders.send.n == 0);
    CHECK_STR(list(&count, JOB_COUNTS_HEALTHY), "ab");
    at(&count, 2);
    CHECK(!count.orders.gate && count.orders.send.n == 0);
    job_counts_gate(count.job_counts, 0);
    at(&count, 3);
    CHECK_STR(count.orders.send.p[0], "c");
    answer(&count, "cd", true);
    at(&count, 4);
    CHECK(count.orders.gate);
    job_counts_gate(count.job_counts, 0);
    at(&count, 5);
    answer(&count, "e", true);
    at(&count, 6);
    CHECK(count.orders.gate && !count.orders.ended);
    at(&count, 60);
    CHECK_INT(job_counts_next(count.job_counts), 600 * SECOND);
    job_counts_gate(count.job_counts, 1);
    at(&count, 61);
    CHECK(count.orders.ended && job_counts_is_stopped(count.job_counts));
    CHECK_INT(count.orders.status, JOB_FAILED); /* although all have succeeded */
    CHECK_STR(list(&count, JOB_COUNTS_WAVE), "e");
    CHECK_INT(job_counts_correct_status(JOB_FAILED, job_counts_counts(count.job_counts)),
              JOB_FAILED);
    end(&count);
}

TEST(a_gate_that_fails_spends_the_budget_of_the_whole_job)
{
    struct count count = begin_waves(true, 1);

    at(&count, 0);
    answer(&count, "ab", true);
    at(&count, 1);
    job_counts_gate(count.job_counts, 1);
    at(&count, 2);
    CHECK_INT(count.orders.send.n, 2);
    answer(&count, "cd", true);
    at(&count, 3);
    job_counts_gate(count.job_counts, 1);
    at(&count, 4);
    CHECK_STR(count.orders.unsent.p[0], "e");
    CHECK(count.orders.ended && job_counts_is_stopped(count.job_counts));
    CHECK_STR(list(&count, JOB_COUNTS_WAVE), "cd");
    end(&count);
}

TEST(a_gate_without_an_answer_at_the_deadline_has_not_passed)
{
    struct count count = begin_waves(true, 0);

    at(&count, 0);
    answer(&count, "ab", true);
    at(&count, 1);
    at(&count, 600);
    CHECK(count.orders.ended && job_counts_is_stopped(count.job_counts));
    CHECK_INT(count.orders.status, JOB_PARTIAL);
    CHECK_STR(list(&count, JOB_COUNTS_WAVE), "ab");
    end(&count);
}

TEST(a_master_that_takes_waves_over_goes_on_where_the_last_one_was)
{
    struct count count = begin_waves(true, 0);

    answer(&count, "abc", true); /* from the stream */
    CHECK_INT(job_counts_ack(count.job_counts, STR("d")), JOB_COUNTS_NOTED);
    at(&count, 0);
    CHECK(count.orders.gate && count.orders.send.n == 0);
    job_counts_gate(count.job_counts, 0);
    at(&count, 0);
    CHECK(!count.orders.gate && count.orders.send.n == 0);
    CHECK_INT(job_counts_wave(count.job_counts), 2);
    answer(&count, "d", true);
    at(&count, 1);
    CHECK(count.orders.gate);
    end(&count);
}

#include "fleet/reactor/recount.h"

#include "test.h"

/* A look at a stream of `last` messages whose consumer is done with all of them. */
static struct recount_look look_at(const char *stream, const char *consumer, uint64_t last)
{
    return (struct recount_look){ .stream_leader = stream,
                                  .consumer_leader = consumer,
                                  .last_seq = last,
                                  .reach = last,
                                  .floor = last,
                                  .is_idle = true };
}

TEST(nothing_is_compared_while_the_same_servers_lead)
{
    struct recount recount = { .last_seq = 0 };
    struct recount_look look = look_at("n1", "n2", 5000);

    CHECK(recount_note(&recount, &look, 0)); /* who leads is kept */
    look.last_seq = look.reach = 9000;
    CHECK(!recount_note(&recount, &look, 5000));
    CHECK(!recount_is_ready(&recount, &look));
}

TEST(one_server_and_one_that_does_not_say_who_leads_change_nothing)
{
    struct recount recount = { .last_seq = 0 };
    struct recount_look look = look_at("n1", "n2", 5000);

    (void)recount_note(&recount, &look, 0);
    look.stream_leader = NULL;
    CHECK(!recount_note(&recount, &look, 5000));
    CHECK_STR(recount.leaders, "n1/n2");
    CHECK(!recount_is_ready(&recount, &look));
}

TEST(when_another_server_leads_what_is_around_the_change_is_compared_once)
{
    static const struct {
        const char *stream, *consumer;
    } rows[] = { { "n3", "n2" }, { "n1", "n3" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct recount recount = { .last_seq = 0 };
        struct recount_look look = look_at("n1", "n2", 5000);

        (void)recount_note(&recount, &look, 0);
        look = look_at(rows[i].stream, rows[i].consumer, 6000);
        CHECK(recount_note(&recount, &look, 4900));
        CHECK_INT(recount.from, 4900 - RECOUNT_MARGIN);
        CHECK_INT(recount.until, 6000);
        CHECK(recount_is_ready(&recount, &look));
        recount_end(&recount);
        CHECK(!recount_note(&recount, &look, 6000));
        CHECK(!recount_is_ready(&recount, &look));
    }
}

TEST(it_waits_for_what_is_on_its_way)
{
    struct recount recount = { .last_seq = 0 };
    struct recount_look look = look_at("n1", "n2", 500);

    (void)recount_note(&recount, &look, 0);
    look = look_at("n1", "n3", 600);
    look.floor = 599;
    look.is_idle = false;
    CHECK(recount_note(&recount, &look, 400));
    CHECK_INT(recount.from, 1);
    CHECK(!recount_is_ready(&recount, &look));
    look.floor = 600;
    CHECK(recount_is_ready(&recount, &look));
}

TEST(a_second_change_extends_what_is_compared)
{
    struct recount recount = { .last_seq = 0 };
    struct recount_look look = look_at("n1", "n2", 5000);

    (void)recount_note(&recount, &look, 0);
    look = look_at("n1", "n3", 6000);
    (void)recount_note(&recount, &look, 5000);
    look = look_at("n2", "n3", 7000);
    CHECK(recount_note(&recount, &look, 6500));
    CHECK_INT(recount.from, 5000 - RECOUNT_MARGIN);
    CHECK_INT(recount.until, 7000);
}

TEST(a_consumer_that_knows_of_fewer_messages_than_there_were_is_not_trusted)
{
    struct recount recount = { .last_seq = 0 };
    struct recount_look look = look_at("n1", "n2", 5000);

    (void)recount_note(&recount, &look, 0);
    look.reach = look.floor = 4963;
    CHECK(recount_note(&recount, &look, 4900));
    CHECK_INT(recount.until, 5000);
    recount_end(&recount);
    CHECK(!recount_note(&recount, &look, 4963)); /* it was compared already */
    look.last_seq = 5100;
    look.reach = look.floor = 5063;
    CHECK(
        !recount_note(&recount, &look, 4963)); /* what came since the last look may be on its way */
    CHECK(recount_note(&recount, &look, 5063));
    CHECK_INT(recount.until, 5100);
}

TEST(what_the_consumer_was_never_to_deliver_is_not_compared)
{
    struct recount recount = { .begin = 4500 };
    struct recount_look look = look_at("n1", "n2", 5000);

    (void)recount_note(&recount, &look, 4500);
    look = look_at("n1", "n3", 5100);
    CHECK(recount_note(&recount, &look, 5000));
    CHECK_INT(recount.from, 4501);
}

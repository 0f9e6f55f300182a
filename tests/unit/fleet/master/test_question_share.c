#include "fleet/master/peels/question_share.h"

#include "core/base/arena.h"
#include "core/sys/clock.h"
#include "test.h"

#define NOW  (1000 * CLOCK_SECOND)
#define EVIL STR("evil-01")
#define GOOD STR("web-01")

static void spend(struct question_share *share, struct str who, int64_t used, int64_t now)
{
    question_share_charge(share, who, used, now);
}

TEST(an_asker_over_its_share_waits_and_others_do_not)
{
    struct question_share share;

    question_share_init(&share);
    for (int i = 0; i < 5; i++)
        spend(&share, EVIL, QUESTION_TIME_NS, NOW);
    CHECK(question_share_wait(&share, EVIL, NOW) > 0);
    CHECK_INT(question_share_wait(&share, GOOD, NOW), 0);
    CHECK_INT(question_share_wait(&share, STR(""), NOW), 0);
    CHECK(question_share_wait(&share, EVIL, NOW + CLOCK_SECOND / 2) > 0);
    CHECK_INT(question_share_wait(&share, EVIL, NOW + CLOCK_SECOND), 0); /* 50 ms were too many */
    question_share_done(&share);
}

TEST(many_small_questions_add_up)
{
    struct question_share share;
    int asked = 0;

    question_share_init(&share);
    while (question_share_wait(&share, EVIL, NOW) == 0 && ++asked < 100000)
        spend(&share, EVIL, 1000, NOW);
    CHECK_INT(asked, QUESTION_PEEL_BURST / QUESTION_LEAST_NS + 1);
    question_share_done(&share);
}

TEST(all_peels_together_leave_the_master_time)
{
    struct question_share share;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    question_share_init(&share);
    for (int i = 0; i < 40; i++)
        spend(&share, str_from(arena_printf(&arena, "evil-%d", i)), QUESTION_TIME_NS, NOW);
    CHECK(question_share_wait(&share, GOOD, NOW) > 0);
    CHECK_INT(question_share_wait(&share, STR(""), NOW), 0); /* commands and masters */
    question_share_done(&share);
}

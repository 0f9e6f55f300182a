#include "jobs/vigil.h"

#include <stdio.h>

#include "test.h"

#define SECOND INT64_C(1000000000)

/* A letter is a sign of life, one second a letter: 'm' is ours, 'o' that of the other; 'p' is its
 * farewell, and '.' is nobody's. */
static const struct {
    const char *name, *signs;
    bool is_gone;
} rows[] = {
    { "heard every time", "m.o..m.o..m.o..m.o..m.o..m", false },
    { "silent for less than the silence", "m.o..m....m....m.", false },
    { "silent while four of ours have come", "m.o..m....m....m....m", true },
    { "heard again", "m.o..m....m....m....m.o", false },
    { "nobody is heard, since the log stands still", "m.o..m..........................", false },
    { "the log goes on, and ours come first", "m.o..m...........................m....m", false },
    { "ours come in a burst when the log goes on", "m.o..m..................mmmm", false },
    { "it has said farewell", "m.o..p", true },
    { "it came back after its farewell", "m.p..o", false },
    { "never heard, and we have just begun", "m....m....m", false },
    { "never heard, and we listen for long", "m....m....m....m", true },
    { "heard before we say anything", "o.....................................m", false },
};

static void play_signs(struct vigil *vigil, const char *signs)
{
    for (int64_t i = 0; signs[i]; i++) {
        const int64_t now = (100 + i) * SECOND;

        if (signs[i] == 'm')
            vigil_note(vigil, STR("me"), now);
        else if (signs[i] == 'o')
            vigil_note(vigil, STR("other"), now);
        else if (signs[i] == 'p')
            vigil_part(vigil, STR("other"), now);
    }
}

TEST(a_master_is_gone_when_it_is_silent_while_our_own_signs_of_life_come)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct vigil vigil;

        vigil_init(&vigil, "me");
        play_signs(&vigil, rows[i].signs);
        CHECK_STR(vigil_is_gone(&vigil, STR("other")) == rows[i].is_gone ? "" : rows[i].name, "");
        CHECK(!vigil_is_gone(&vigil, STR("me")));
        vigil_done(&vigil);
    }
}

TEST(others_may_think_that_we_are_gone_when_our_signs_of_life_do_not_come_back)
{
    struct vigil vigil;

    vigil_init(&vigil, "me");
    play_signs(&vigil, "m....m.....m");
    CHECK_INT(vigil.doubts, 0);
    vigil_note(&vigil, STR("me"), 130 * SECOND);
    CHECK_INT(vigil.doubts, 1);
    vigil_done(&vigil);
}

TEST(masters_that_are_long_gone_are_forgotten)
{
    struct vigil vigil;

    vigil_init(&vigil, "me");
    for (int64_t i = 0; i < 1000; i++) {
        char id[32];

        (void)snprintf(id, sizeof(id), "master-%d", (int)i);
        vigil_note(&vigil, str_from(id), i * 5 * SECOND);
        vigil_note(&vigil, STR("me"), i * 5 * SECOND);
    }
    CHECK(map_count(&vigil.others) < 20);
    CHECK(vigil_is_gone(&vigil, STR("master-1")));
    CHECK(!vigil_is_gone(&vigil, STR("master-999")));
    vigil_done(&vigil);
}

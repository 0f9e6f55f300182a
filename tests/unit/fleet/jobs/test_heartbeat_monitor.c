#include "fleet/jobs/heartbeat_monitor.h"

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

static void note(struct heartbeat_monitor *monitor, const char *id, int64_t now)
{
    heartbeat_monitor_note(
        monitor, &(struct heartbeat_monitor_sign){ .id = str_from(id), .now = now, .stored = now });
}

static void play_signs(struct heartbeat_monitor *monitor, const char *signs)
{
    for (int64_t i = 0; signs[i]; i++) {
        const int64_t now = (100 + i) * SECOND;

        if (signs[i] == 'm')
            note(monitor, "me", now);
        else if (signs[i] == 'o')
            note(monitor, "other", now);
        else if (signs[i] == 'p')
            heartbeat_monitor_part(monitor, STR("other"), now);
    }
}

TEST(a_master_is_gone_when_it_is_silent_while_our_own_signs_of_life_come)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heartbeat_monitor monitor;

        heartbeat_monitor_init(&monitor, "me");
        play_signs(&monitor, rows[i].signs);
        CHECK_STR(heartbeat_monitor_is_gone(&monitor, STR("other")) == rows[i].is_gone
                      ? ""
                      : rows[i].name,
                  "");
        CHECK(!heartbeat_monitor_is_gone(&monitor, STR("me")));
        heartbeat_monitor_done(&monitor);
    }
}

TEST(others_may_think_that_we_are_gone_when_our_signs_of_life_do_not_come_back)
{
    struct heartbeat_monitor monitor;

    heartbeat_monitor_init(&monitor, "me");
    play_signs(&monitor, "m....m.....m");
    CHECK_INT(monitor.doubts, 0);
    note(&monitor, "me", 130 * SECOND);
    CHECK_INT(monitor.doubts, 1);
    heartbeat_monitor_done(&monitor);
}

TEST(masters_that_are_long_gone_are_forgotten)
{
    struct heartbeat_monitor monitor;

    heartbeat_monitor_init(&monitor, "me");
    for (int64_t i = 0; i < 1000; i++) {
        char id[32];

        (void)snprintf(id, sizeof(id), "master-%d", (int)i);
        note(&monitor, id, i * 5 * SECOND);
        note(&monitor, "me", i * 5 * SECOND);
    }
    CHECK(map_count(&monitor.others) < 20);
    CHECK(heartbeat_monitor_is_gone(&monitor, STR("master-1")));
    CHECK(!heartbeat_monitor_is_gone(&monitor, STR("master-999")));
    heartbeat_monitor_done(&monitor);
}

/* What is there when a master starts: the last sign of the other, and that of a third, in seconds
 * of the log; 0: none. */
static const struct {
    const char *name;
    int64_t other, third, since;
    bool is_gone;
} starts[] = {
    { "the log has had no gap for long, and it is not there", 0, 1000, 900, true },
    { "it was silent for long", 984, 1000, 900, true },
    { "it was not silent for long enough", 986, 1000, 900, false },
    { "the log had a gap a moment ago", 0, 1000, 985, false },
    { "nobody knows about the log", 0, 1000, 0, false },
};

TEST(a_master_that_has_just_started_trusts_what_others_know_of_the_log)
{
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct heartbeat_monitor monitor;

        heartbeat_monitor_init(&monitor, "me");
        if (starts[i].other)
            heartbeat_monitor_note(
                &monitor, &(struct heartbeat_monitor_sign){ .id = STR("other"),
                                                            .now = 5 * SECOND,
                                                            .stored = starts[i].other * SECOND });
        heartbeat_monitor_note(
            &monitor, &(struct heartbeat_monitor_sign){ .id = STR("third"),
                                                        .now = 5 * SECOND,
                                                        .stored = starts[i].third * SECOND,
                                                        .since = starts[i].since * SECOND });
        CHECK_STR(heartbeat_monitor_is_gone(&monitor, STR("other")) == starts[i].is_gone
                      ? ""
                      : starts[i].name,
                  "");
        CHECK_INT(heartbeat_monitor_since(&monitor, 6 * SECOND),
                  (starts[i].since ? starts[i].since : starts[i].third) * SECOND);
        CHECK_INT(heartbeat_monitor_since(&monitor, 60 * SECOND),
                  0); /* the log may have a gap now */
        heartbeat_monitor_done(&monitor);
    }
}

TEST(a_sign_of_one_who_does_not_know_the_log_is_no_gap)
{
    struct heartbeat_monitor monitor;

    heartbeat_monitor_init(&monitor, "me");
    heartbeat_monitor_note(&monitor, &(struct heartbeat_monitor_sign){ STR("third"), 1 * SECOND,
                                                                       100 * SECOND, 50 * SECOND });
    note(&monitor, "new", 104 * SECOND);
    CHECK_INT(monitor.log_since, 50 * SECOND);
    note(&monitor, "new", 112 * SECOND);
    CHECK_INT(monitor.log_since, 112 * SECOND);
    heartbeat_monitor_note(&monitor, &(struct heartbeat_monitor_sign){ STR("third"), 1 * SECOND,
                                                                       113 * SECOND, 50 * SECOND });
    CHECK_INT(monitor.log_since, 50 * SECOND);
    heartbeat_monitor_done(&monitor);
}

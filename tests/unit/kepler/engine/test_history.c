#include "kepler/engine/history.h"

#include <stdio.h>

#include "test.h"

TEST(the_latest_changes_are_kept_and_the_oldest_dropped)
{
    struct history history = { 0 };
    char cause[32];

    CHECK(history_find(&history, 0) == NULL);
    for (int i = 0; i < HISTORY_LENGTH + 3; i++) {
        (void)snprintf(cause, sizeof(cause), "cause %d", i);
        history_add(&history,
                    &(struct history_entry){ .from = STATUS_STOPPED, .to = STATUS_WAITING }, cause);
    }
    CHECK_STR(history_find(&history, 0)->cause, "cause 18");
    CHECK_STR(history_find(&history, HISTORY_LENGTH - 1)->cause, "cause 3");
    CHECK(history_find(&history, HISTORY_LENGTH) == NULL);
    CHECK_INT(history.count, HISTORY_LENGTH + 3);
    CHECK_STR(history_get(&history, 3)->cause, "cause 3");
    CHECK_INT(history_get(&history, 18)->number, 18);
    CHECK(history_get(&history, 2) == NULL && history_get(&history, 19) == NULL);
}

TEST(a_long_cause_is_cut_between_characters_and_marked)
{
    struct history history = { 0 };
    AUTO_BUF struct buf text = BUF_INIT(1000);

    buf_fill(&text, 'x', HISTORY_CAUSE_SIZE - 1);
    history_add(&history, &(struct history_entry){ .to = STATUS_FAILED }, buf_text(&text));
    CHECK_STR(history_find(&history, 0)->cause, buf_text(&text));

    buf_clear(&text);
    buf_fill(&text, 'x', HISTORY_CAUSE_SIZE - 5);
    buf_add_text(&text, "\u00fcber");
    history_add(&history, &(struct history_entry){ .to = STATUS_FAILED }, buf_text(&text));
    text.p[HISTORY_CAUSE_SIZE - 5] = '\0';
    CHECK_HAS(history_find(&history, 0)->cause, text.p);
    CHECK_STR(history_find(&history, 0)->cause + HISTORY_CAUSE_SIZE - 5, "...");
}

TEST(restored_entries_continue_and_a_gap_hides_older_ones)
{
    struct history history = { 0 };

    for (uint64_t n = 0; n < 3; n++)
        history_put(&history, &(struct history_entry){ .number = n }, "early");
    history_put(&history, &(struct history_entry){ .number = 1 }, "again");
    CHECK_STR(history_get(&history, 1)->cause, "early");
    CHECK_INT(history.count, 3);
    history_put(&history, &(struct history_entry){ .number = 7 }, "late");
    CHECK_INT(history.count, 8);
    CHECK_STR(history_get(&history, 7)->cause, "late");
    CHECK(history_get(&history, 2) == NULL && history_get(&history, 6) == NULL);
    history_add(&history, &(struct history_entry){ .to = STATUS_FAILED }, "now");
    CHECK_INT(history_find(&history, 0)->number, 8);
    CHECK_STR(history_find(&history, 1)->cause, "late");
    CHECK(history_find(&history, 2) == NULL);
}

/* What a beacon reports of what it sees, on a clock that the test turns. */
#include "fleet/beacons/tracker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

/* A look is "TIME KEY=STATE KEY=STATE"; a state that is a number is a level with the limit 90, ok
 * again at 80; "?" cannot be said; "!" happened. What is reported is "KEY:PREVIOUS>STATE". */
static void add_reading(struct arena *arena, char *word, struct beacon_readings *readings)
{
    char *state = strchr(word, '=');
    struct beacon_reading reading = { .key = word };

    *state++ = '\0';
    if (*state >= '0' && *state <= '9')
        reading = (struct beacon_reading){
            .key = word, .is_level = true, .amount = strtod(state, NULL), .over = 90, .clear = 80
        };
    else if (*state == '!')
        reading.happened = true;
    else if (*state != '?')
        reading.state = state;
    VEC_PUSH_IN(arena, &readings->list, reading);
}

static void look(struct tracker *tracker, const struct tracker_rule *rule, const char *text,
                 struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct beacon_readings readings = { 0 };
    struct tracker_changes changes = { 0 };
    char *copy = arena_strdup(&arena, text), *rest = copy;
    const int64_t now = strtol(copy, &rest, 10) * SECOND;
    char *word;

    while ((word = strsep(&rest, " ")))
        if (word[0])
            add_reading(&arena, word, &readings);
    (void)tracker_feed(tracker, rule, &readings, now, &arena, &changes);
    VEC_EACH (&changes.list, change)
        buf_printf(out, "%s%s:%s>%s", out->n > 0 ? " " : "", change->key,
                   change->previous ? change->previous : "-", change->state ? change->state : "-");
}

#define LOOKS_MAX 8

static const struct {
    const char *name;
    struct tracker_rule rule;
    const char *looks[LOOKS_MAX];
    const char *reported;
} cases[] = {
    { "the first look is the baseline", { 0 }, { "0 a=up b=down" }, "" },
    { "a transition is reported once",
      { 0 },
      { "0 a=up", "1 a=down", "2 a=down", "3 a=up" },
      "a:up>down a:down>up" },
    { "things have their own states",
      { 0 },
      { "0 a=up b=up", "1 a=up b=down", "2 a=down b=down" },
      "b:up>down a:up>down" },
    { "every look reports everything where that is asked for",
      { .every = true },
      { "0 a=up", "1 a=up", "2 a=down" },
      "a:->up a:up>up a:up>down" },
    { "what cannot be said now stays what it was",
      { 0 },
      { "0 a=up", "1 a=?", "2 a=up", "3 a=?", "4 a=down" },
      "a:up>down" },
    { "a state must last as long as the hold",
      { .hold = 10 * SECOND },
      { "0 a=up", "1 a=down", "6 a=down", "11 a=down", "12 a=down" },
      "a:up>down" },
    { "a state that does not last is never reported",
      { .hold = 10 * SECOND },
      { "0 a=up", "1 a=down", "6 a=up", "12 a=down", "20 a=up" },
      "" },
    { "another state begins the hold anew",
      { .hold = 10 * SECOND },
      { "0 a=up", "1 a=down", "8 a=failed", "12 a=failed", "18 a=failed" },
      "a:up>failed" },
    { "a level above its limit is reported at the first look", { 0 }, { "0 a=95" }, "a:ok>over" },
    { "a level has a margin",
      { 0 },
      { "0 a=50", "1 a=90", "2 a=91", "3 a=89", "4 a=81", "5 a=80", "6 a=90" },
      "a:ok>over a:over>ok" },
    { "a level must last, too",
      { .hold = 10 * SECOND },
      { "0 a=95", "5 a=95", "9 a=50", "10 a=95", "20 a=95" },
      "a:ok>over" },
    { "what comes and goes is no change unless it tells of absence",
      { 0 },
      { "0 a=x", "1 a=x b=x", "2 b=x" },
      "" },
    { "what comes and goes is a change of what tells of absence",
      { .tells_absence = true },
      { "0 a=x", "1 a=x b=x", "2 b=y" },
      "b:->x b:x>y a:x>-" },
    { "what happened is always reported and not remembered",
      { .tells_absence = true },
      { "0 a=!", "1 a=! a=!", "2" },
      "a:->- a:->- a:->-" },
};

TEST(what_is_reported_follows_from_what_was_seen_and_when)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        struct tracker tracker = { 0 };

        for (size_t n = 0; n < LOOKS_MAX && cases[i].looks[n]; n++)
            look(&tracker, &cases[i].rule, cases[i].looks[n], &out);
        if (strcmp(buf_text(&out), cases[i].reported) != 0)
            (void)fprintf(stderr, "case: %s\n", cases[i].name);
        CHECK_STR(buf_text(&out), cases[i].reported);
        tracker_done(&tracker);
    }
}

TEST(what_moves_or_waits_for_its_hold_is_not_settled)
{
    static const struct {
        const char *text;
        bool is_moving, is_settled;
    } looks[] = { { "a=up", false, true },
                  { "a=down", false, false },
                  { "a=down", true, false },
                  { "a=up", false, true } };
    const struct tracker_rule rule = { .hold = SECOND };
    struct tracker tracker = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct beacon_readings readings = { 0 };
        struct tracker_changes changes = { 0 };

        add_reading(&arena, arena_strdup(&arena, looks[i].text), &readings);
        readings.list.p[0].is_moving = looks[i].is_moving;
        CHECK_INT(tracker_feed(&tracker, &rule, &readings, 0, &arena, &changes),
                  looks[i].is_settled);
    }
    tracker_done(&tracker);
}

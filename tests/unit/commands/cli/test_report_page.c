#include "commands/cli/shared/report/page.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "states/run/lastrun.h"
#include "test.h"

static const struct lastrun good = {
    .id = "1", .function = "state.highstate", .success = true, .error = ""
};
static const struct lastrun bad = {
    .id = "2", .function = "state.highstate", .failed = 1, .error = ""
};

static struct report_state state(const char *name, uint32_t level, enum state_outcome outcome)
{
    return (struct report_state){ .name = name,
                                  .level = level,
                                  .outcome = outcome,
                                  .duration = 1000000 * (level + 1),
                                  .error = outcome == OUTCOME_FAILED ? "exit status 3" : "",
                                  .reason = "",
                                  .diff = "" };
}

static struct report_machine machine(const char *name, bool success)
{
    return (struct report_machine){ .name = name,
                                    .os = "debian",
                                    .is_online = true,
                                    .drift = success ? "none" : "failed",
                                    .drift_text = success ? "none" : "1 failed",
                                    .run = success ? &good : &bad,
                                    .shown = success ? &good : &bad,
                                    .note = "" };
}

/* a -> b: a file that is called after its machine, and a command that requires it. */
static struct report_machine make(struct arena *arena, const char *name, bool success)
{
    static const uint32_t first[] = { 0 };
    struct report_machine one = machine(name, success);
    struct report_state b = state("cmd.run:b", 1, success ? OUTCOME_UNCHANGED : OUTCOME_FAILED);

    b.needs = first;
    b.need_count = 1;
    VEC_PUSH_IN(arena, &one.states,
                state(arena_printf(arena, "file.managed:/srv/%s", name), 0, OUTCOME_CHANGED));
    VEC_PUSH_IN(arena, &one.states, b);
    return one;
}

static void print(struct arena *arena, const struct report_machine *machines, size_t count,
                  struct buf *out)
{
    const struct report_page page = { .title = "zester report",
                                      .about = "all machines",
                                      .warning = "",
                                      .now = { 1794820000, 0 },
                                      .machines = machines,
                                      .count = count };

    report_page_print(arena, &page, out);
    CHECK(!out->full);
}

TEST(equal_failures_of_many_machines_are_one_cause)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct report_machine machines[] = { make(&arena, "web-01", false),
                                               make(&arena, "web-02", false),
                                               make(&arena, "web-03", true) };
    struct report_causes causes;

    report_fold_causes(&arena, machines, 3, &causes);
    CHECK_INT(causes.list.n, 1);
    CHECK_INT(causes.list.p[0]->machines.n, 2);
    CHECK_STR(causes.list.p[0]->error, "exit status 3");
}

TEST(a_run_that_did_not_begin_is_a_cause_too)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct lastrun run = { .function = "state.apply", .error = "web-01: no such state" };
    struct report_machine one = machine("web-01", false);
    struct report_causes causes;

    one.run = &run;
    report_fold_causes(&arena, &one, 1, &causes);
    CHECK_STR(causes.list.p[0]->state, "state.apply");
    CHECK_STR(causes.list.p[0]->error, "*: no such state");
}

TEST(the_slowest_state_comes_first_with_where_it_was_slowest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct report_machine machines[] = { make(&arena, "web-01", true),
                                         make(&arena, "web-02", true) };
    struct report_slows slows;

    machines[1].states.p[0].duration = 9000000;
    report_fold_slow(&arena, machines, 2, &slows);
    CHECK_STR(slows.list.p[0]->state, "file.managed:/srv/*");
    CHECK_INT(slows.list.p[0]->count, 2);
    CHECK_INT(slows.list.p[0]->longest, 9000000);
    CHECK_STR(slows.list.p[0]->machine->name, "web-02");
    CHECK_STR(slows.list.p[1]->state, "cmd.run:b");
}

TEST(machines_with_one_plan_share_a_graph_that_shows_the_worst_of_each_state)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    const struct report_machine machines[] = { make(&arena, "web-01", true),
                                               make(&arena, "web-02", false) };
    struct report_plans plans;

    report_fold_plans(&arena, machines, 2, &plans);
    CHECK_INT(plans.list.n, 1);
    CHECK_INT(plans.list.p[0]->outcomes[1], OUTCOME_FAILED);
    print(&arena, machines, 2, &out);
    CHECK_HAS(buf_text(&out), "class=\"box failed\"");
    CHECK_HAS(buf_text(&out), "class=\"box changed\"");
    CHECK_HAS(buf_text(&out), "marker-end=\"url(#tip)\"");
}

TEST(only_whole_words_are_the_name_of_a_machine)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(report_fold_text(&arena, "db: no route to db, dbus, /srv/db/x", "db"),
              "*: no route to *, dbus, /srv/*/x");
    CHECK_STR(report_fold_text(&arena, "unchanged", "db"), "unchanged");
    CHECK_STR(report_fold_text(&arena, "x", ""), "x");
}

TEST(hostile_texts_and_levels_make_a_page_without_foreign_markup)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    static const char evil[] = "</pre><script>x</script>\"'><img src=x>";
    const struct lastrun run = {
        .id = evil, .function = evil, .error = evil, .refs = { 1, (const char *[]){ evil } }
    };
    struct report_machine one = make(&arena, "evil-01", false);

    one.os = one.drift_text = one.note = evil;
    one.run = one.shown = &run;
    VEC_EACH (&one.states, s) {
        s->name = s->error = s->reason = s->diff = evil;
        s->level = UINT32_MAX - s->level;
        s->duration = INT64_MAX;
    }
    print(&arena, &one, 1, &out);
    CHECK(!strstr(buf_text(&out), "<script"));
    CHECK(!strstr(buf_text(&out), "<img"));
    CHECK(!strstr(buf_text(&out), "'>"));
    CHECK_HAS(buf_text(&out), "&lt;script&gt;");
}

TEST(a_fleet_that_is_too_large_for_a_page_is_cut_and_the_page_says_so)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    enum { COUNT = 6000 };
    struct report_machine *machines = ARENA_ARRAY(&arena, struct report_machine, COUNT);
    char *diff = arena_alloc(&arena, REPORT_TEXT_MAX + 1);

    memset(diff, '<', REPORT_TEXT_MAX);
    diff[REPORT_TEXT_MAX] = '\0';
    for (size_t i = 0; i < COUNT; i++) {
        machines[i] = make(&arena, arena_printf(&arena, "web-%zu", i), true);
        machines[i].states.p[0].diff = diff;
    }
    print(&arena, machines, COUNT, &out);
    CHECK(out.n <= REPORT_PAGE_MAX);
    CHECK_HAS(buf_text(&out), "machines are left out");
    CHECK_HAS(buf_text(&out), "</body></html>");
}

TEST(machines_that_failed_or_drifted_come_first_and_are_open)
{
    static const char *const drifts[] = { "none", "drifted", "unknown", "failed" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    enum { COUNT = 12 };
    struct report_machine *machines = ARENA_ARRAY(&arena, struct report_machine, COUNT);
    const char *failed, *drifted, *other;

    for (size_t i = 0; i < COUNT; i++) {
        machines[i] = make(&arena, arena_printf(&arena, "web-%zu", i), false);
        machines[i].drift = drifts[i < ARRAY_LEN(drifts) ? i : 0];
    }
    print(&arena, machines, COUNT, &out);
    failed = strstr(buf_text(&out), "<details id=\"m3\" open>");
    drifted = strstr(buf_text(&out), "<details id=\"m1\" open>");
    other = strstr(buf_text(&out), "<details id=\"m0\">");
    CHECK(failed && drifted && other && failed < drifted && drifted < other);
    CHECK(strstr(buf_text(&out), "<a href=\"#m3\">") < strstr(buf_text(&out), "<a href=\"#m0\">"));
}

TEST(without_machines_the_page_is_whole)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);

    print(&arena, NULL, 0, &out);
    CHECK_HAS(buf_text(&out), "No state failed");
    CHECK_HAS(buf_text(&out), "</body></html>");
}

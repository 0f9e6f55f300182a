#include "commands/cli/fleet/top/frame.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "commands/cli/fleet/top/model.h"
#include "commands/cli/fleet/top/view.h"
#include "core/data/json.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "test.h"
#include "fleet/wire/event.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/outcome.h"

/* 2026-11-16 08:41:00 UTC. */
#define NOW (INT64_C(1794818460) * CLOCK_SECOND)

static void put_facts(struct top_model *model, const char *id, const char *os)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);

    buf_printf(&bytes, "\x81\xa2os\x81\xa4name%c%s", 0xa0 | (char)strlen(os), os);
    top_model_take_facts(model,
                         &(struct nats_kv_entry){ .key = str_from(id), .value = buf_view(&bytes) });
}

static void put_beat(struct top_model *model, const char *id, int64_t age,
                     const struct lastrun *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    const struct liveness_peel beat = { .version = "1.0",
                                        .run = run ? record_value(&arena, &lastrun_type, run)
                                                   : value_null() };
    struct err err;

    CHECK_INT(record_encode(&bytes, &liveness_peel_type, &beat, &err), 0);
    top_model_take_beat(model, &(struct nats_kv_entry){ .key = str_from(id),
                                                        .value = buf_view(&bytes),
                                                        .time = NOW - age * CLOCK_SECOND });
}

static void put_event(struct top_model *model, const char *key, int64_t age)
{
    const struct event_source source = { .key = key };
    const struct event event = { .id = "id1" };

    top_model_take_event(model, &source, &event, NOW - age * CLOCK_SECOND);
}

static void put_reaction(struct top_model *model, const char *rule)
{
    struct outcome_rule one = { .rule = rule, .result = OUTCOME_DISPATCHED };
    const struct outcome outcome = { .id = "id1",
                                     .key = "web-01/beacon/x",
                                     .rules = { { &one, 1, 1 } },
                                     .ts = { NOW / CLOCK_SECOND, 0 } };

    top_model_take_outcome(model, &outcome);
}

static struct top_model *make_fleet(void)
{
    struct top_model *model = top_model_new();
    const struct lastrun good = { .success = true,
                                  .looked = true,
                                  .time = { 5, 0 },
                                  .converged = { NOW / CLOCK_SECOND - 300, 0 } };
    const struct lastrun bad = { .failed = 1,
                                 .time = { 6, 0 },
                                 .differs = { 1, (const char *[]){ "cmd.run:x" } } };

    put_facts(model, "db-01", "debian");
    put_facts(model, "web-01", "debian");
    put_facts(model, "web-02", "alpine");
    put_beat(model, "db-01", 3, &good);
    put_beat(model, "web-01", 7, &bad);
    put_event(model, "web-01/beacon/service", 2);
    put_reaction(model, "restart");
    top_model_take_job(model,
                       &(struct job){ .jid = "J1",
                                      .function = "state.highstate",
                                      .target_expr = "web*",
                                      .targets = { 2, (const char *[]){ "web-01", "web-02" } },
                                      .status = JOB_RUNNING,
                                      .created = { NOW / CLOCK_SECOND - 60, 0 },
                                      .return_count = 1,
                                      .user = "root" });
    top_model_set_lag(model, 3, 1);
    return model;
}

static void check_frame(struct top_model *model, struct top_view view, const char *frame)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);

    top_frame_print(model, &view, NOW, &out);
    CHECK_STR(buf_text(&out), frame);
}

TEST(a_frame_of_machines_fills_the_terminal_to_the_row)
{
    struct top_model *model = make_fleet();

    check_frame(model, (struct top_view){ .base.rows = 12, .base.columns = 100 },
                "zester top  3 machines 2 up 1 failed 0 drifted  0 masters 1 jobs 0.1/s lag 4\n"
                "[1 machines]  2 jobs   3 events   4 reactions\n"
                "\n"
                "MACHINE  OS      UP   SEEN  CONVERGED  DRIFT\n"
                "db-01    debian  yes  3s    5m         none\n"
                "web-01   debian  yes  7s    -          1 failed: cmd.run:x\n"
                "web-02   alpine  no   -     -          unknown\n"
                "\n"
                "\n"
                "last event     08:40:58  web-01/beacon/service\n"
                "last reaction  08:41:00  restart  dispatched\n"
                "q quit  ? keys  Enter open  1-4 list  s sort: name  / filter\n");
    top_model_free(model);
}

TEST(machines_are_sorted_and_filtered)
{
    struct top_model *model = make_fleet();
    struct top_view view = {
        .base.rows = 9, .base.columns = 60, .sort = TOP_SORT_DRIFT, .base.filter = "DEB"
    };

    check_frame(model, view,
                "zester top  3 machines 2 up 1 failed 0 drifted  0 masters 1 \n"
                "[1 machines]  2 jobs   3 events   4 reactions\n"
                "\n"
                "MACHINE  OS      UP   SEEN  CONVERGED  DRIFT\n"
                "web-01   debian  yes  7s    -          1 failed: cmd.run:x\n"
                "\n"
                "last event     08:40:58  web-01/beacon/service\n"
                "last reaction  08:41:00  restart  dispatched\n"
                "q quit  ? keys  Enter open  1-4 list  s sort: drift  / filte\n");
    top_model_free(model);
}

TEST(jobs_events_and_reactions_have_their_lists)
{
    struct top_model *model = make_fleet();
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);

    for (int list = TOP_JOBS; list < TOP_LISTS; list++) {
        struct top_view view = { .list = (enum top_panel)list };

        top_frame_print(model, &view, NOW, &out);
    }
    CHECK_HAS(buf_text(&out), "JID  FUNCTION         TARGET  STATUS   RETURNS  AGE  USER\n"
                              "J1   state.highstate  web*    running  1/2      1m   root\n");
    CHECK_HAS(buf_text(&out), "TIME      KEY                    DEPTH  ID\n"
                              "08:40:58  web-01/beacon/service         id1\n");
    CHECK_HAS(buf_text(&out), "TIME      RULE     RESULT      EVENT\n"
                              "08:41:00  restart  dispatched  web-01/beacon/x\n");
    CHECK_HAS(buf_text(&out), "lag 4\n");
    CHECK(!strstr(buf_text(&out), "q quit"));
    top_model_free(model);
}

TEST(a_wide_terminal_has_whole_words_and_a_coloured_head)
{
    struct top_model *model = make_fleet();
    struct top_view view = { .base.rows = 12, .base.columns = 120, .base.color = true };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);

    top_frame_print(model, &view, NOW, &out);
    CHECK_HAS(buf_text(&out),
              "3 machines, \x1b[33m2 online\x1b[0m, \x1b[31m1 failed\x1b[0m, 0 drifted");
    CHECK_HAS(buf_text(&out), "0.1 events/s   \x1b[33mlag 4\x1b[0m\n");
    top_model_free(model);
}

TEST(a_row_that_is_open_shows_all_of_it_and_how_to_go_on)
{
    struct top_model *model = make_fleet();
    struct top_view view = {
        .base.rows = 16, .base.columns = 60, .list = TOP_JOBS, .is_open = true
    };

    check_frame(model, view,
                "zester top: jobs\n"
                "\n"
                "JID        J1\n"
                "FUNCTION   state.highstate\n"
                "TARGET     web*\n"
                "STATUS     running\n"
                "RETURNS    1/2\n"
                "AGE        1m\n"
                "USER       root\n"
                "\n"
                "zester job show J1\n"
                "zester why J1\n"
                "zester job follow J1\n"
                "zester job kill J1\n"
                "\n"
                "q back\n");
    view.list = TOP_MACHINES;
    view.base.selected = 1;
    {
        AUTO_BUF struct buf out = BUF_INIT(1 << 20);

        top_frame_print(model, &view, NOW, &out);
        CHECK_HAS(buf_text(&out), "MACHINE    web-01\n");
        CHECK_HAS(buf_text(&out), "differs    cmd.run:x\n");
        CHECK_STR(view.open, "web-01");
    }
    top_model_free(model);
}

TEST(the_keys_are_explained_on_as_many_lines_as_there_are)
{
    struct top_model *model = make_fleet();
    struct top_view view = { .base.rows = 6, .base.columns = 60, .has_help = true };

    check_frame(model, view,
                "zester top: keys\n"
                "\n"
                "1 2 3 4, Tab      choose the list\n"
                "j k, arrows       move; g and G: to the first and last row\n"
                "Space, PageUp     a page down, a page up\n"
                "q back\n");
    top_model_free(model);
}

TEST(returns_of_a_running_job_are_counted_until_its_record_says_more)
{
    struct top_model *model = make_fleet();
    struct job job = { .jid = "J1",
                       .function = "state.highstate",
                       .targets = { 2, (const char *[]){ "web-01", "web-02" } },
                       .status = JOB_RUNNING };

    for (int i = 0; i < 5; i++)
        top_model_count_return(model, STR("J1"));
    top_model_count_return(model, STR("unknown"));
    CHECK_INT(model->jobs[0].returned, 2);
    top_model_take_job(model, &job);
    CHECK_INT(model->jobs[0].returned, 2);
    job.status = JOB_TIMEOUT;
    top_model_take_job(model, &job);
    CHECK_INT(model->jobs[0].returned, 0);
    top_model_count_return(model, STR("J1"));
    CHECK_INT(model->jobs[0].returned, 0);
    top_model_free(model);
}

TEST(what_machines_say_steers_no_terminal)
{
    struct top_model *model = top_model_new();
    static const char evil[] = "\x1b]0;owned\x07\x1b[2J\r\n\xc2\x9b\xe2\x80\xae\xff";
    const struct lastrun run = { .failed = 1,
                                 .error = evil,
                                 .time = { 1, 0 },
                                 .converged = { INT64_MAX, 0 },
                                 .differs = { 1, (const char *[]){ evil } } };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);

    put_facts(model, "evil-01", evil);
    put_beat(model, "evil-01", 1, &run);
    put_event(model, evil, 1);
    put_reaction(model, evil);
    top_model_take_job(
        model, &(struct job){ .jid = evil, .function = evil, .user = evil, .target_expr = evil });
    for (int list = 0; list < 2 * TOP_LISTS; list++) {
        struct top_view view = { .list = (enum top_panel)(list % TOP_LISTS),
                                 .is_open = list >= TOP_LISTS,
                                 .base.rows = 10,
                                 .base.columns = 200 };
        struct str rest;

        buf_clear(&out);
        (void)snprintf(view.base.filter, sizeof(view.base.filter), "%s", list == 0 ? "\x1b" : "");
        top_frame_print(model, &view, NOW, &out);
        rest = buf_view(&out);
        while (rest.n > 0) {
            const struct str c = str_slice(rest, 0, utf8_length_at(rest));

            CHECK(c.p[0] == '\n' || !utf8_is_control(c));
            rest = str_from_offset(rest, c.n);
        }
    }
    top_model_free(model);
}

TEST(no_line_is_wider_than_the_terminal_and_there_are_as_many_as_rows)
{
    struct top_model *model = make_fleet();

    for (size_t columns = 1; columns < 120; columns += 7)
        for (size_t rows = 9; rows < 30; rows += 5) {
            struct top_view view = { .base.rows = rows, .base.columns = columns };
            AUTO_BUF struct buf out = BUF_INIT(1 << 20);
            struct str rest;
            size_t lines = 0;

            top_frame_print(model, &view, NOW, &out);
            rest = str_slice(buf_view(&out), 0, out.n - 1);
            while (rest.p) {
                CHECK(utf8_count(str_cut(&rest, '\n')) <= columns);
                lines++;
            }
            CHECK_INT(lines, rows);
        }
    top_model_free(model);
}

TEST(a_heartbeat_may_come_before_the_facts)
{
    struct top_model *model = top_model_new();
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct top_view view = { 0 };

    put_beat(model, "web-01", 3, NULL);
    top_frame_print(model, &view, NOW, &out);
    CHECK_HAS(buf_text(&out), "web-01   -   yes  3s ");
    put_facts(model, "web-01", "debian");
    buf_clear(&out);
    top_frame_print(model, &view, NOW, &out);
    CHECK_HAS(buf_text(&out), "web-01   debian  yes  3s ");
    top_model_free(model);
}

TEST(lists_are_bounded_and_the_newest_stay)
{
    struct top_model *model = top_model_new();
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (int i = 0; i < 3 * TOP_ROWS; i++) {
        put_event(model, arena_printf(&arena, "web-01/%d", i), 1);
        top_model_take_job(model,
                           &(struct job){ .jid = arena_printf(&arena, "J%d", i), .function = "x" });
    }
    CHECK_INT(model->event_count, TOP_ROWS);
    CHECK_STR(model->events[0].key, "web-01/1499");
    CHECK_INT(model->job_count, TOP_ROWS);
    CHECK_STR(model->jobs[0].jid, "J1499");
    top_model_take_job(model,
                       &(struct job){ .jid = "J1400", .function = "x", .status = JOB_FAILED });
    CHECK_INT(model->job_count, TOP_ROWS);
    top_model_free(model);
}

TEST(a_machine_that_runs_for_weeks_takes_no_more_memory)
{
    struct top_model *model = top_model_new();

    put_facts(model, "web-01", "debian");
    for (int i = 1; i < 3 * TOP_STALE_RUNS; i++) {
        const struct lastrun run = { .success = true, .time = { i, 0 } };

        put_beat(model, "web-01", 1, &run);
        CHECK(model->stale <= TOP_STALE_RUNS + 1);
    }
    CHECK_INT(model->peels.list.n, 1);
    CHECK_STR(model->peels.list.p[0]->os, "debian");
    CHECK_INT(model->peels.list.p[0]->run.time.seconds, 3 * TOP_STALE_RUNS - 1);
    top_model_free(model);
}

TEST(a_frame_as_data_has_the_same)
{
    struct top_model *model = make_fleet();
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    const struct value frame = top_frame_value(&arena, model, NOW);
    struct err err;

    CHECK_INT(json_print(&out, &frame, JSON_STYLE_TEXT, &err), 0);
    CHECK_HAS(buf_text(&out), "\"lag\":4");
    CHECK_HAS(buf_text(&out), "\"peel_id\":\"web-01\"");
    CHECK_HAS(buf_text(&out), "\"status\":\"running\"");
    CHECK_HAS(buf_text(&out), "\"rule\":\"restart\"");
    top_model_free(model);
}

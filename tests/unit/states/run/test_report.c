#include "scene.h"

#include "states/state/report.h"
#include "states/run/runlock.h"
#include "core/sys/lock.h"

static const char *const keys[] = { "peel_id", "status", "success", "results", "summary" };

TEST(a_report_has_the_fields_that_scripts_use)
{
    struct scene scene;
    struct value report;
    const struct value *first, *third;

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'echo hi'}]}\n"
                        "b: {cmd.run: [{command: 'exit 2'}]}\n"
                        "c: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n");
    report = report_run(&scene.arena, "here", &scene.result);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        CHECK_STR(report.map->pairs[i].key.s.p, keys[i]);
    CHECK_STR(value_get(&report, "status")->s.p, "failed");
    CHECK(!value_get(&report, "test"));
    CHECK(!value_get(&report, "error"));
    first = &value_get(&report, "results")->list->items[0];
    CHECK_STR(value_get(first, "name")->s.p, "cmd.run:a");
    CHECK(value_get(first, "changed")->b);
    CHECK_STR(value_path(first, STR("details.stdout"), '.')->s.p, "hi");
    CHECK(value_get(first, "duration")->i > 0);
    CHECK(!value_get(first, "skipped") && !value_get(first, "error"));
    third = &value_get(&report, "results")->list->items[2];
    CHECK(value_get(third, "skipped")->b);
    CHECK_STR(value_get(third, "skip_reason")->s.p, "require_failed");
    CHECK_INT(value_get(third, "level")->i, 1);
    CHECK_INT(value_path(&report, STR("summary.failed"), '.')->i, 1);
    CHECK_STR(value_path(&report, STR("summary.run_id"), '.')->s.p, scene.result.run_id);
    scene_run(&scene, RUN_TEST);
    report = report_run(&scene.arena, "here", &scene.result);
    CHECK(value_get(&report, "test")->b);
    report = report_error(&scene.arena, "here", "no");
    CHECK_STR(value_get(&report, "error")->s.p, "no");
    scene_done(&scene);
}

static void on_event(void *self, const struct run_event *event)
{
    struct buf *text = self;

    if (event->kind == RUN_WAITING)
        buf_printf(text, "%s\n", event->text);
}

TEST(a_second_run_names_the_lock_holder_and_times_out)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct run_sink sink = { .emit = on_event, .self = &text };
    struct lock lock = LOCK_NONE, other = LOCK_NONE;
    struct scene scene;
    struct err err;

    scene_init(&scene);
    scene.host.lock_wait = INT64_C(30000000);
    CHECK_INT(runlock_take(&lock, &scene.host, &sink, &err), 0);
    CHECK_INT(runlock_take(&other, &scene.host, &sink, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_HAS(err.text, "another run is in progress: process ");
    CHECK_HAS(buf_text(&text), "waiting for the run of process ");
    CHECK_HAS(buf_text(&text), "test_report");
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n");
    scene_run(&scene, RUN_TEST); /* a dry run needs no lock */
    lock_drop(&lock);
    scene_run(&scene, RUN_APPLY);
    CHECK_INT(scene.result.changed, 1);
    scene_done(&scene);
}

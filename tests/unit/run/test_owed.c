#include "scene.h"

#include "run/owed.h"

/* A service that restarts when its file changes; the restart fails while ROOT/broken is there. */
#define STATES(content)                                                                            \
    "conf: {file.managed: [{path: ROOT/conf}, {content: '" content "'}]}\n"                        \
    "restart: {cmd.run: [{command: 'echo r >> ROOT/log; test ! -e ROOT/broken'}, "                 \
    "{onlyif: 'true'}, {creates: /}, {watch: [{file: conf}]}]}\n"                                  \
    "build: {cmd.run: [{command: 'echo b >> ROOT/log2'}, {onchanges: [{file: conf}]}]}\n"

static size_t debts(struct scene *scene)
{
    struct owed_debts list;
    struct err err;

    CHECK_INT(owed_list(&scene->arena, scene->host.data_dir, &list, &err), 0);
    return list.list.n;
}

TEST(a_reaction_that_failed_is_due_in_the_next_run)
{
    struct scene scene;
    const char *run_id;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, STATES("1"));
    run_id = scene.result.run_id;
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "failed");
    CHECK_INT(debts(&scene), 1);

    scene_run(&scene, RUN_APPLY); /* nothing changes, but it is still due, and fails again */
    CHECK_STR(scene_outcome(&scene, "file.managed:conf"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "failed");
    CHECK_INT(debts(&scene), 1);

    scene_run(&scene, RUN_TEST);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "changed");
    CHECK_INT(debts(&scene), 1);

    CHECK_INT(unlink(scene_path(&scene, "broken")), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "changed");
    CHECK_STR(
        scene_result(&scene, "cmd.run:restart")->cause,
        arena_printf(&scene.arena, "owed since run %s: file.managed:conf had changed", run_id));
    CHECK_INT(debts(&scene), 0);

    scene_run(&scene, RUN_APPLY); /* once is enough */
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "ok");
    CHECK_STR(scene_read(&scene, "log"), "r\nr\nr\n");
    CHECK_STR(scene_read(&scene, "log2"), "b\n");
    scene_done(&scene);
}

TEST(a_reaction_that_was_skipped_by_a_failure_is_due_in_the_next_run)
{
    static const char *const states =
        "conf: {file.managed: [{path: ROOT/conf}, {content: '1'}]}\n"
        "gate: {cmd.run: [{command: 'test ! -e ROOT/broken'}, {require: [{file: conf}]}]}\n"
        "build: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{file: conf}]}, "
        "{require: [{cmd: gate}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "require_failed");
    CHECK_INT(unlink(scene_path(&scene, "broken")), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:conf"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "changed");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "onchanges_not_met");
    CHECK_STR(scene_read(&scene, "log"), "b\n");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_reaction_is_written_down_before_the_change)
{
    struct scene scene;

    scene_init(&scene);
    /* the watched command sees the debt of its watcher on disk */
    scene_apply(&scene, "a: {cmd.run: [{command: 'test $(ls ROOT/data/owed | wc -l) -eq 1'}]}\n"
                        "b: {cmd.run: [{command: 'true'}, {watch: [{cmd: a}]}]}\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "changed");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_debt_can_be_waived)
{
    struct scene scene;
    struct err err;
    bool found;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, STATES("1"));
    CHECK_INT(owed_waive(scene.host.data_dir, "cmd.run:restart", &found, &err), 0);
    CHECK(found);
    CHECK_INT(owed_waive(scene.host.data_dir, "cmd.run:restart", &found, &err), 0);
    CHECK(!found);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "ok");
    scene_done(&scene);
}

TEST(a_source_that_failed_leaves_its_watchers_in_debt_but_does_not_run_them)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'test -e ROOT/ok'}]}\n"
                        "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {watch: [{cmd: a}]}]}\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "require_failed");
    CHECK_INT(debts(&scene), 1);
    scene_write(&scene, "ok", "");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_read(&scene, "log"), "b\n");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

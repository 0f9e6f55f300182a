#include "scene.h"

#include "core/data/frame.h"
#include "states/run/lastrun.h"
#include "core/runs/record_file.h"
#include "core/runs/standing.h"
#include "core/sys/path.h"

static struct lastrun keep(struct scene *scene, bool test, const char *error)
{
    const struct lastrun_request request = { .function = "state.apply", .test = test };
    struct lastrun run = { 0 };
    struct err err;

    CHECK_INT(lastrun_keep(&scene->arena, scene->host.data_dir, &request,
                           error ? NULL : &scene->result, error, &run, &err),
              0);
    CHECK_INT(lastrun_read(&scene->arena, scene->host.data_dir, &run, &err), 0);
    return run;
}

TEST(a_successful_run_converges_and_a_later_dry_run_reports_differences)
{
    struct scene scene;
    struct lastrun run;
    int64_t converged;

    scene_init(&scene);
    scene_load(&scene, "conf: {file.managed: [{path: ROOT/conf}, {content: '1'}]}\n");
    scene_run(&scene, RUN_APPLY);
    run = keep(&scene, false, NULL);
    CHECK(run.success);
    CHECK_INT(lastrun_count_differs(&run), 0);
    CHECK(run.converged.seconds > 0);
    converged = run.converged.seconds;

    scene_write(&scene, "conf", "by hand\n");
    scene_run(&scene, RUN_TEST);
    run = keep(&scene, true, NULL);
    CHECK(run.success && run.test);
    CHECK_INT(lastrun_count_differs(&run), 1);
    CHECK_STR(run.differs.p[0], "file.managed:conf");
    CHECK_INT(run.converged.seconds, converged);
    scene_done(&scene);
}

TEST(a_change_since_the_last_run_makes_it_stale_until_a_run_has_looked)
{
    struct scene scene;
    struct err err;

    scene_init(&scene);
    scene_load(&scene, "conf: {file.managed: [{path: ROOT/conf}, {content: '1'}]}\n");
    scene_run(&scene, RUN_APPLY);
    CHECK(!keep(&scene, false, NULL).stale);
    CHECK_INT(lastrun_doubt(scene.host.data_dir, &err), 0);
    CHECK(keep(&scene, false, NULL).stale); /* that run ended before */
    scene_run(&scene, RUN_TEST);
    CHECK(!keep(&scene, true, NULL).stale);
    CHECK_INT(lastrun_doubt(scene.host.data_dir, &err), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK(!keep(&scene, false, NULL).stale);
    scene_write(&scene, "conf", "2");
    scene_run(&scene, RUN_APPLY); /* as a single state: nobody keeps it */
    CHECK_INT(scene.result.changed, 1);
    CHECK(keep(&scene, false, "nothing ran").stale);
    scene_done(&scene);
}

TEST(a_failed_run_keeps_the_time_of_the_last_success)
{
    struct scene scene;
    struct lastrun run;
    int64_t converged;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'test ! -e ROOT/bad'}]}\n");
    scene_run(&scene, RUN_APPLY);
    converged = keep(&scene, false, NULL).converged.seconds;
    scene_write(&scene, "bad", "");
    scene_run(&scene, RUN_APPLY);
    run = keep(&scene, false, NULL);
    CHECK(!run.success);
    CHECK_INT(run.failed, 1);
    CHECK_STR(run.differs.p[0], "cmd.run:a");
    CHECK_INT(run.converged.seconds, converged);
    run = keep(&scene, false, "web.zy:1:1: unknown module 'fiel.managed'");
    CHECK(!run.success);
    CHECK_HAS(run.error, "unknown module");
    CHECK_INT(run.converged.seconds, converged);
    scene_done(&scene);
}

TEST(the_states_of_a_run_are_stored_with_their_requisites)
{
    struct scene scene;
    struct lastrun_states states;
    struct err err;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n"
                       "b: {cmd.run: [{command: 'false'}, {require: [{cmd: a}]}]}\n"
                       "c: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n");
    scene_run(&scene, RUN_APPLY);
    (void)keep(&scene, false, NULL);
    CHECK_INT(lastrun_read_states(&scene.arena, scene.host.data_dir, &states, &err), 0);
    CHECK_STR(states.id, scene.result.run_id);
    CHECK_INT(states.list.n, 3);
    CHECK_STR(states.list.p[1].name, "cmd.run:b");
    CHECK_INT(states.list.p[1].outcome, OUTCOME_FAILED);
    CHECK_INT(states.list.p[1].level, 1);
    CHECK_INT(states.list.p[2].outcome, OUTCOME_SKIPPED);
    CHECK(states.list.p[2].reason[0] != '\0');
    CHECK_INT(states.list.p[2].needs.list->count, 1);
    CHECK_INT(states.list.p[2].needs.list->items[0].i, 1);
    scene_done(&scene);
}

TEST(a_damaged_file_is_an_error_and_the_next_run_replaces_it)
{
    struct scene scene;
    struct lastrun run;
    struct err err;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n");
    scene_run(&scene, RUN_APPLY);
    CHECK_INT(lastrun_read(&scene.arena, scene.host.data_dir, &run, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    (void)keep(&scene, false, NULL);
    CHECK_INT(fs_replace(path_join(&scene.arena, scene.host.data_dir, LASTRUN_FILE), STR("junk"),
                         NULL, &err),
              0);
    CHECK_INT(lastrun_read(&scene.arena, scene.host.data_dir, &run, &err), -1);
    CHECK_HAS(err.text, "checksum");
    CHECK(keep(&scene, false, NULL).success);
    scene_done(&scene);
}

TEST(a_summary_is_read_without_the_truncated_states_after_it)
{
    struct scene scene;
    struct lastrun_states states;
    struct lastrun run;
    struct str bytes;
    struct err err;
    const char *path;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n");
    scene_run(&scene, RUN_APPLY);
    (void)keep(&scene, false, NULL);
    path = path_join(&scene.arena, scene.host.data_dir, LASTRUN_FILE);
    CHECK_INT(fs_read(&scene.arena, path, LASTRUN_MAX, &bytes, &err), 0);
    CHECK_INT(fs_replace(path, str_slice(bytes, 0, bytes.n - FRAME_HEAD - 1), NULL, &err), 0);
    CHECK_INT(lastrun_read(&scene.arena, scene.host.data_dir, &run, &err), 0);
    CHECK_STR(run.id, scene.result.run_id);
    CHECK_INT(lastrun_read_states(&scene.arena, scene.host.data_dir, &states, &err), -1);
    CHECK_HAS(err.text, "checksum");
    scene_done(&scene);
}

TEST(a_file_without_states_has_a_summary)
{
    const struct lastrun stored = { .id = "one", .function = "state.apply", .success = true };
    struct scene scene;
    struct lastrun_states states;
    struct lastrun run;
    struct err err;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n");
    CHECK_INT(fs_mkdirs(scene.host.data_dir, 0700, &err), 0);
    CHECK_INT(record_file_write(
                  &(struct record_file){
                      .path = path_join(&scene.arena, scene.host.data_dir, LASTRUN_FILE),
                      .type = &lastrun_type,
                      .version = 1,
                      .max = LASTRUN_MAX },
                  &stored, &err),
              0);
    CHECK_INT(lastrun_read(&scene.arena, scene.host.data_dir, &run, &err), 0);
    CHECK_STR(run.id, "one");
    CHECK_INT(lastrun_read_states(&scene.arena, scene.host.data_dir, &states, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    scene_done(&scene);
}

TEST(a_dry_run_creates_no_data_folder)
{
    const struct lastrun_request request = { .function = "state.test", .test = true };
    struct scene scene;
    struct fs_info info;
    struct lastrun run;
    struct err err;
    const char *folder;

    scene_init(&scene);
    scene_load(&scene, "a: {cmd.run: [{command: 'true'}]}\n");
    scene_run(&scene, RUN_TEST);
    folder = path_join(&scene.arena, scene.host.data_dir, "not/there");
    CHECK_INT(lastrun_keep(&scene.arena, folder, &request, &scene.result, NULL, &run, &err), 0);
    CHECK_INT(fs_stat(folder, &info, &err), 0);
    CHECK_INT(info.kind, FS_NONE);
    scene_done(&scene);
}

static struct standing_answer find_mark(struct scene *scene, const char *name)
{
    struct standing standing;
    struct err err;

    CHECK_INT(standing_read(&scene->arena, scene->host.data_dir, &standing, &err), 0);
    return standing_find(&standing, name);
}

TEST(the_outcome_of_each_state_outlives_later_runs)
{
    static const char *const refs[] = { "web, db" };
    const struct lastrun_request request = { .function = "state.apply", .refs = { 1, refs } };
    struct scene scene;
    struct lastrun run;
    struct err err;

    scene_init(&scene);
    scene_load(&scene,
               "a: {cmd.run: [{command: 'test ! -e ROOT/bad'}]}\n"
               "b: {cmd.run: [{command: 'true'}, {unless: 'true'}, {require: [{cmd: a}]}]}\n");
    scene_run(&scene, RUN_APPLY);
    CHECK_INT(
        lastrun_keep(&scene.arena, scene.host.data_dir, &request, &scene.result, NULL, &run, &err),
        0);
    CHECK(find_mark(&scene, "a").success && find_mark(&scene, "cmd.run:b").success);
    CHECK(find_mark(&scene, "a").changed.seconds > 0 &&
          find_mark(&scene, "b").changed.seconds == 0);
    CHECK(find_mark(&scene, "web").success && find_mark(&scene, "db").success);
    CHECK(!find_mark(&scene, "highstate").known);

    scene_write(&scene, "bad", "");
    scene_run(&scene, RUN_TEST);
    (void)keep(&scene, true, NULL);
    CHECK(!find_mark(&scene, "highstate").known && find_mark(&scene, "a").success);
    scene_run(&scene, RUN_APPLY);
    (void)keep(&scene, false, NULL);
    CHECK(find_mark(&scene, "highstate").known && !find_mark(&scene, "highstate").success);
    CHECK_HAS(find_mark(&scene, "highstate").error, "cmd.run:a failed");
    CHECK(!find_mark(&scene, "a").success && !find_mark(&scene, "b").success);
    CHECK(find_mark(&scene, "web").success);
    (void)keep(&scene, false, "web.zy:1:1: unknown module 'fiel.managed'");
    CHECK_HAS(find_mark(&scene, "highstate").error, "unknown module");
    scene_done(&scene);
}

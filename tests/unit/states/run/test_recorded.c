#include "scene.h"

#include "states/run/revert.h"

static void revert_scope(struct scene *scene, const struct revert_options *options)
{
    struct err err = { 0 };

    scene->result = (struct run_result){ 0 };
    if (revert_run(&scene->arena, &scene->host, options, scene->sink, &scene->result, &err) < 0)
        CHECK_STR(err.text, "");
}

static void revert(struct scene *scene, const char *target, bool force)
{
    revert_scope(scene, &(struct revert_options){ .target = target, .force = force });
}

static void revert_all(struct scene *scene, const char *target)
{
    revert_scope(scene, &(struct revert_options){ .target = target, .scope = RECORDED_ALL });
}

static const char *refusal(struct scene *scene, const struct revert_options *options)
{
    struct run_result result;
    struct err err;

    CHECK_INT(revert_run(&scene->arena, &scene->host, options, NULL, &result, &err), -1);
    return arena_strdup(&scene->arena, err.text);
}

/* One file, written by a run for each content; returns the IDs of the runs. */
static void apply_contents(struct scene *scene, const char *contents, const char **ret_ids)
{
    for (size_t i = 0; contents[i]; i++) {
        scene_apply(scene, arena_printf(&scene->arena,
                                        "f: {file.managed: [{path: ROOT/f}, {content: '%c'}]}\n",
                                        contents[i]));
        ret_ids[i] = scene->result.run_id;
    }
}

TEST(a_revert_by_reference_reverts_the_last_run_and_all_of_them_if_asked)
{
    struct scene scene;
    const char *ids[3], *more[2];

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    apply_contents(&scene, "123", ids);
    revert(&scene, ids[2], false);
    CHECK_STR(scene_read(&scene, "f"), "2");
    revert(&scene, "case", false);
    CHECK_STR(scene_read(&scene, "f"), "1");
    CHECK_INT(scene.result.reverted.n, 1);
    CHECK_STR(scene.result.reverted.p[0], ids[1]);
    apply_contents(&scene, "45", more);
    revert_all(&scene, "case");
    CHECK_STR(scene_read(&scene, "f"), "0");
    CHECK_INT(scene.result.states.n, 1);
    CHECK_INT(scene.result.reverted.n, 3);
    CHECK_STR(scene_outcome(&scene, "file.managed:f"), "changed");
    scene_done(&scene);
}

TEST(a_revert_to_a_run_leaves_what_that_run_left)
{
    struct scene scene;
    const char *ids[4];

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    apply_contents(&scene, "1234", ids);
    revert_scope(&scene, &(struct revert_options){
                             .target = "", .scope = RECORDED_TO, .to = ids[1], .test = true });
    CHECK_INT(scene.result.reverted.n, 2);
    CHECK_HAS(scene_result(&scene, "file.managed:f")->diff.p, "-4\n");
    CHECK_STR(scene_read(&scene, "f"), "4");
    revert_scope(&scene,
                 &(struct revert_options){ .target = "", .scope = RECORDED_TO, .to = ids[1] });
    CHECK_STR(scene_read(&scene, "f"), "2");
    revert_scope(&scene,
                 &(struct revert_options){ .target = "case", .scope = RECORDED_TO, .to = ids[0] });
    CHECK_STR(scene_read(&scene, "f"), "1");
    CHECK_HAS(refusal(&scene,
                      &(struct revert_options){ .target = "", .scope = RECORDED_TO, .to = ids[1] }),
              "is reverted: there is no state after it");
    scene_done(&scene);
}

TEST(a_revert_since_a_time_stops_at_the_first_older_run)
{
    struct scene scene;
    const char *ids[2];

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    apply_contents(&scene, "12", ids);
    revert_scope(&scene, &(struct revert_options){
                             .target = "case", .scope = RECORDED_SINCE, .since = INT64_MAX });
    CHECK_STR(scene_outcome(&scene, "state.revert:case"), "ok");
    revert_scope(&scene, &(struct revert_options){ .target = "case", .scope = RECORDED_SINCE });
    CHECK_STR(scene_read(&scene, "f"), "0");
    scene_done(&scene);
}

TEST(a_run_that_a_later_one_depends_on_is_reverted_with_force_only)
{
    struct scene scene;
    const char *ids[2], *said;

    scene_init(&scene);
    scene_apply(&scene, "f: {file.managed: [{path: ROOT/f}, {content: '1'}]}\n"
                        "g: {file.managed: [{path: ROOT/g}, {content: '1'}]}\n");
    ids[0] = scene.result.run_id;
    apply_contents(&scene, "2", &ids[1]);
    said = refusal(&scene, &(struct revert_options){ .target = ids[0] });
    CHECK_HAS(said, arena_printf(&scene.arena, "/f' was changed again by run %s", ids[1]));
    CHECK_HAS(said, "nothing was reverted");
    CHECK_STR(scene_read(&scene, "g"), "1"); /* nor what only the older run has made */
    scene_write(&scene, "f", "1"); /* as the older run left it: by somebody else, but it is right */
    revert(&scene, ids[0], false);
    CHECK_STR(scene_read(&scene, "f"), "(none)");
    CHECK_STR(scene_read(&scene, "g"), "(none)");
    scene_done(&scene);
}

TEST(a_thing_that_is_no_file_is_not_reverted_under_a_later_run)
{
    struct scene scene;
    const char *id;

    scene_init(&scene);
    scene_apply(&scene, "n: {note.set: [{path: ROOT/n}, {content: '1'}]}\n");
    id = scene.result.run_id;
    scene_apply(&scene, "n: {note.set: [{path: ROOT/n}, {content: '2'}]}\n");
    CHECK_HAS(refusal(&scene, &(struct revert_options){ .target = id }),
              "'note.set:n' was changed again by run");
    CHECK_STR(scene_read(&scene, "n"), "2");
    revert(&scene, "case", false);
    revert(&scene, id, false);
    CHECK_STR(scene_read(&scene, "n"), "(none)");
    scene_done(&scene);
}

TEST(the_beginning_of_an_id_is_enough_where_one_run_has_it)
{
    struct scene scene;
    const char *ids[2];
    size_t common = 0;

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    apply_contents(&scene, "12", ids);
    while (ids[0][common] == ids[1][common])
        common++;
    CHECK_HAS(refusal(&scene,
                      &(struct revert_options){ .target = arena_strndup(&scene.arena, ids[1], 4) }),
              "the IDs of several runs begin with");
    CHECK_HAS(refusal(&scene,
                      &(struct revert_options){ .target = arena_strndup(&scene.arena, ids[1], 3) }),
              "no run of '");
    revert(&scene, arena_strndup(&scene.arena, ids[1], common + 1), false);
    CHECK_STR(scene_read(&scene, "f"), "1");
    scene_done(&scene);
}

TEST(a_revert_that_was_agreed_to_reverts_no_other_runs)
{
    struct run_result agreed;
    struct scene scene;
    const char *ids[2];

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    apply_contents(&scene, "1", ids);
    revert_scope(&scene, &(struct revert_options){ .target = "case", .test = true });
    agreed = scene.result;
    apply_contents(&scene, "2", ids);
    CHECK_HAS(refusal(&scene, &(struct revert_options){ .target = "case", .agreed = &agreed }),
              "nothing was reverted");
    CHECK_STR(scene_read(&scene, "f"), "2");
    scene_done(&scene);
}

#include "scene.h"

#include <stdio.h>

#include "core/base/diag.h"
#include "core/base/ksuid.h"
#include "states/run/plan_binding.h"
#include "states/run/plan_store.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define STATES(content) "conf: {file.managed: [{path: ROOT/conf}, {content: '" content "'}]}\n"

static const char *new_id(struct scene *scene, int64_t age)
{
    char id[KSUID_SIZE];

    ksuid_new(clock_wall() / CLOCK_SECOND - age, id);
    return arena_strdup(&scene->arena, id);
}

static size_t count_plans(struct scene *scene)
{
    struct fs_names names = { 0 };
    struct err err;

    CHECK_INT(fs_list(&scene->arena, path_join(&scene->arena, scene->host.data_dir, "plans"),
                      &names, &err),
              0);
    return names.list.n;
}

static int keep(struct scene *scene, const char *id, struct err *err)
{
    return plan_store_keep(scene->host.data_dir, id, &scene->result, err);
}

TEST(a_run_may_change_only_what_its_stored_plan_lists)
{
    struct scene scene;
    struct diags diags;
    struct plan_binding plan_binding;
    struct err err;
    const char *id;

    scene_init(&scene);
    diags = (struct diags)DIAGS_INIT(&scene.arena);
    scene_load(&scene, STATES("1"));
    scene.host.plans = true;
    scene_run(&scene, RUN_TEST);
    id = new_id(&scene, 0);
    CHECK_INT(keep(&scene, id, &err), 0);
    CHECK_INT(plan_store_find(&scene.arena, scene.host.data_dir, id, &plan_binding, &err), 0);
    CHECK(plan_binding_has(&plan_binding, "file.managed:conf"));
    CHECK_INT(plan_binding_compare(&plan_binding, &scene.result, &diags), 0);
    scene_write(&scene, "conf", "by hand\n");
    scene_run(&scene, RUN_TEST);
    CHECK_INT(plan_binding_compare(&plan_binding, &scene.result, &diags), -1);
    scene_done(&scene);
}

TEST(a_plan_without_a_hash_is_refused)
{
    struct scene scene;
    struct diags diags;
    struct plan_binding plan_binding;
    struct err err;
    const char *id;

    scene_init(&scene);
    diags = (struct diags)DIAGS_INIT(&scene.arena);
    scene_load(&scene, STATES("1"));
    scene_run(&scene, RUN_TEST);
    id = new_id(&scene, 0);
    CHECK_INT(keep(&scene, id, &err), 0);
    CHECK_INT(plan_store_find(&scene.arena, scene.host.data_dir, id, &plan_binding, &err), 0);
    scene.host.plans = true;
    scene_run(&scene, RUN_TEST);
    CHECK_INT(plan_binding_compare(&plan_binding, &scene.result, &diags), -1);
    scene_done(&scene);
}

TEST(a_damaged_expired_or_unknown_plan_is_refused)
{
    struct scene scene;
    struct plan_binding plan_binding;
    struct err err;
    const char *id;

    scene_init(&scene);
    scene_load(&scene, STATES("1"));
    scene_run(&scene, RUN_TEST);
    id = new_id(&scene, 0);
    CHECK_INT(keep(&scene, id, &err), 0);
    CHECK_INT(fs_replace(path_join(&scene.arena, scene.host.data_dir,
                                   arena_printf(&scene.arena, "plans/%s", id)),
                         STR("garbage"), NULL, &err),
              0);
    CHECK_INT(plan_store_find(&scene.arena, scene.host.data_dir, id, &plan_binding, &err), -1);
    CHECK(strstr(err.text, "the checksum does not match"));
    id = new_id(&scene, PLAN_STORE_AGE + 10);
    CHECK_INT(keep(&scene, id, &err), 0);
    CHECK_INT(plan_store_find(&scene.arena, scene.host.data_dir, id, &plan_binding, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_INT(plan_store_find(&scene.arena, scene.host.data_dir, "../x", &plan_binding, &err), -1);
    CHECK(strstr(err.text, "'../x' is not a valid plan ID"));
    scene_done(&scene);
}

TEST(plans_are_limited_by_number_and_age)
{
    struct scene scene;
    struct err err;

    scene_init(&scene);
    scene_load(&scene, STATES("1"));
    scene_run(&scene, RUN_TEST);
    for (int i = 0; i < PLAN_STORE_MAX + 3; i++)
        CHECK_INT(keep(&scene, new_id(&scene, PLAN_STORE_MAX + 3 - i), &err), 0);
    CHECK_INT(count_plans(&scene), PLAN_STORE_MAX);
    CHECK_INT(keep(&scene, new_id(&scene, PLAN_STORE_AGE + 10), &err), 0);
    CHECK_INT(keep(&scene, new_id(&scene, 0), &err), 0);
    CHECK_INT(count_plans(&scene), PLAN_STORE_MAX);
    scene_done(&scene);
}

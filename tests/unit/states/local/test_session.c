#include "states/local/session.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "test.h"

const struct module *const module_table[] = { NULL };
const size_t module_count = 0;

/* A machine with a file of facts of its administrator. */
struct scene {
    struct arena arena;
    struct session session;
    struct session_options options;
    struct value settings;
    struct diags diags;
};

static void write_facts(struct scene *scene, const char *text)
{
    struct err err;

    CHECK_INT(fs_replace(scene->options.facts_file, str_from(text), NULL, &err), 0);
}

static int open_session(struct scene *scene, const char *facts)
{
    const char *root = test_folder();

    *scene = (struct scene){ .arena = ARENA_INIT };
    scene->diags = (struct diags)DIAGS_INIT(&scene->arena);
    scene->settings = value_map(value_map_new(&scene->arena, 0));
    scene->options = (struct session_options){
        .states_dir = root,
        .settings = &scene->settings,
        .data_dir = root,
        .facts_file = arena_printf(&scene->arena, "%s/facts", root),
    };
    write_facts(scene, facts);
    return session_init(&scene->session, &scene->options, SESSION_TREE, &scene->diags);
}

static void close_session(struct scene *scene)
{
    session_done(&scene->session);
    arena_done(&scene->arena);
}

static const char *get_colour(struct scene *scene)
{
    return value_get_text(host_facts(&scene->session.host), "colour");
}

TEST(facts_are_collected_once)
{
    struct scene scene;

    CHECK_INT(open_session(&scene, "{id: web1, colour: red}\n"), 0);
    CHECK_STR(scene.session.host.peel_id, "web1");
    CHECK_STR(get_colour(&scene), "red");
    CHECK(value_get(host_facts(&scene.session.host), "kernel"));
    CHECK(value_is(value_get(host_grains(&scene.session.host), "os"), VALUE_STR));
    write_facts(&scene, "colour: green\n");
    CHECK_STR(get_colour(&scene), "red");
    close_session(&scene);
}

TEST(given_facts_are_not_extended)
{
    struct scene scene = { .arena = ARENA_INIT };
    struct value given = value_map(value_map_new(&scene.arena, 1));

    scene.diags = (struct diags)DIAGS_INIT(&scene.arena);
    scene.options =
        (struct session_options){ .data_dir = test_folder(), .facts = &given, .settings = &given };
    value_map_set(&scene.arena, given.map, value_text("id"), value_text("db"));
    CHECK_INT(session_init(&scene.session, &scene.options, SESSION_TREELESS, &scene.diags), 0);
    CHECK_STR(scene.session.host.peel_id, "db");
    CHECK(host_facts(&scene.session.host) == &given);
    close_session(&scene);
}

TEST(a_mistake_in_the_custom_facts_is_reported_before_the_run)
{
    struct scene scene;

    CHECK_INT(open_session(&scene, "colour: [red\n"), -1);
    CHECK_INT(scene.diags.list.n, 1);
    close_session(&scene);
}

TEST(custom_facts_broken_later_leave_the_other_facts)
{
    struct scene scene;

    CHECK_INT(open_session(&scene, "colour: red\n"), 0);
    write_facts(&scene, "colour: [red\n");
    CHECK(!get_colour(&scene));
    CHECK(value_get(host_facts(&scene.session.host), "kernel"));
    close_session(&scene);
}

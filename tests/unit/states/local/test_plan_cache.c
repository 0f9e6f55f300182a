#include "states/local/plan_cache.h"

#include "../compile/modules.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/compile.h"
#include "states/compile/plan.h"
#include "states/compile/steady.h"
#include "states/local/session.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

/* An agent with a plan cache. Each run has a session of its own, as a job has. */
struct scene {
    struct arena arena;
    struct plan_cache *plan_cache;
    struct session_options options;
    struct value facts, settings;
};

struct run {
    struct session session;
    struct arena arena;
    const struct plan *plan; /* NULL: it has mistakes */
};

static void write_file(const struct scene *scene, const char *name, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, scene->options.states_dir, name);
    struct err err;

    CHECK_INT(fs_mkdirs(path_dirname(&arena, path), 0755, &err), 0);
    CHECK_INT(fs_replace(path, str_from(text), NULL, &err), 0);
}

static void open_scene_settled(struct scene *scene, int64_t settled)
{
    static int number; /* a folder for each */

    *scene = (struct scene){ .arena = ARENA_INIT, .plan_cache = plan_cache_new(settled) };
    scene->facts = value_map(value_map_new(&scene->arena, 2));
    scene->settings = value_map(value_map_new(&scene->arena, 1));
    value_map_set(&scene->arena, scene->facts.map, value_text("id"), value_text("web-01"));
    value_map_set(&scene->arena, scene->facts.map, value_text("role"), value_text("web"));
    value_map_set(&scene->arena, scene->settings.map, value_text("port"), value_int(80));
    scene->options = (struct session_options){
        .states_dir = arena_printf(&scene->arena, "%s/%d", test_folder(), number++),
        .data_dir = test_folder(),
        .facts = &scene->facts,
        .settings = &scene->settings,
        .plan_cache = scene->plan_cache,
        .facts_version = 1,
        .settings_version = 2,
    };
    write_file(scene, "top.zy", "base: {'*': [work]}\n");
    write_file(scene, "work.zy", "{{ facts.role }}: {cmd.run: [{command: echo}]}\n");
}

/* Files are settled at once. Changed files get another size, since the file system clock may not
 * have moved. */
static void open_scene(struct scene *scene)
{
    open_scene_settled(scene, 0);
}

static void close_scene(struct scene *scene)
{
    plan_cache_free(scene->plan_cache);
    arena_done(&scene->arena);
}

static void begin_run(struct scene *scene, struct run *run, const struct compile_wish *wish)
{
    struct diags diags;

    *run = (struct run){ .arena = ARENA_INIT };
    diags = (struct diags)DIAGS_INIT(&run->arena);
    CHECK_INT(session_init(&run->session, &scene->options, SESSION_TREE, &diags), 0);
    if (session_compile(&run->session, wish, &run->plan, &diags) < 0)
        run->plan = NULL;
}

static void end_run(struct run *run)
{
    session_done(&run->session);
    arena_done(&run->arena);
}

/* Compiles twice, with `change` between; true when the second plan is the first. */
static bool is_used_again(struct scene *scene, void (*change)(struct scene *scene))
{
    static const struct compile_wish highstate;
    struct run first, second;
    bool same;

    begin_run(scene, &first, &highstate);
    if (change)
        change(scene);
    begin_run(scene, &second, &highstate);
    CHECK(first.plan != NULL);
    same = first.plan == second.plan;
    end_run(&second);
    end_run(&first);
    return same;
}

TEST(a_plan_is_reused_while_nothing_has_changed)
{
    struct scene scene;

    open_scene(&scene);
    CHECK(is_used_again(&scene, NULL));
    CHECK(is_used_again(&scene, NULL));
    CHECK(!plan_cache_trim(scene.plan_cache));
    close_scene(&scene);
}

static void change_file(struct scene *scene)
{
    write_file(scene, "work.zy", "{{ facts.role }}-changed: {cmd.run: [{command: echo}]}\n");
}

static void change_top(struct scene *scene)
{
    write_file(scene, "top.zy", "base: {'web-*': [work]}\n");
}

static void change_facts(struct scene *scene)
{
    scene->options.facts_version = 3;
}

static void change_settings(struct scene *scene)
{
    scene->options.settings_version = 3;
}

static void forget_facts_version(struct scene *scene)
{
    scene->options.facts_version = 0;
}

static void change_mode(struct scene *scene)
{
    scene->options.test = true;
}

static void change_strictness(struct scene *scene)
{
    scene->options.lenient = scene->options.loose = true;
}

static void change_map(struct scene *scene)
{
    write_file(scene, "map.jinja", "{% set name = 'another' %}\n");
}

static void change_include(struct scene *scene)
{
    write_file(scene, "more.zy", "another: {cmd.run: [{command: echo}]}\n");
}

static void add_nearer_file(struct scene *scene)
{
    write_file(scene, "deep.zy", "nearer: {cmd.run: [{command: echo}]}\n");
}

/* Another folder under the same name, as a new revision of the tree is. */
static void swap_tree(struct scene *scene)
{
    const char *old = arena_printf(&scene->arena, "%s.old", scene->options.states_dir);
    struct err err;

    CHECK_INT(fs_rename(scene->options.states_dir, old, &err), 0);
    write_file(scene, "top.zy", "base: {'*': [work]}\n");
    write_file(scene, "work.zy", "{{ facts.role }}: {cmd.run: [{command: echo}]}\n");
}

TEST(a_plan_is_compiled_again_when_an_input_has_changed)
{
    static const struct {
        const char *name;
        const char *work; /* NULL: as it is */
        void (*change)(struct scene *scene);
    } cases[] = {
        { "file", NULL, change_file },
        { "top file", NULL, change_top },
        { "facts", NULL, change_facts },
        { "settings", NULL, change_settings },
        { "unknown facts", NULL, forget_facts_version },
        { "dry run", NULL, change_mode },
        { "strictness", NULL, change_strictness },
        { "another folder", NULL, swap_tree },
        { "imported file",
          "{% from 'map.jinja' import name %}{{ name }}: {cmd.run: [{command: echo}]}\n",
          change_map },
        { "included file", "include: [more]\n", change_include },
        { "nearer file", "include: [deep]\n", add_nearer_file },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene;

        open_scene(&scene);
        write_file(&scene, "map.jinja", "{% set name = 'one' %}\n");
        write_file(&scene, "more.zy", "one: {cmd.run: [{command: echo}]}\n");
        write_file(&scene, "deep/init.zy", "one: {cmd.run: [{command: echo}]}\n");
        if (cases[i].work)
            write_file(&scene, "work.zy", cases[i].work);
        CHECK(is_used_again(&scene, NULL));
        CHECK_STR(is_used_again(&scene, cases[i].change) ? cases[i].name : "", "");
        close_scene(&scene);
    }
}

TEST(a_plan_whose_templates_inspect_the_machine_is_not_reused)
{
    static const char *const asks[] = {
        "{{ salt['test.echo']('x') }}",
        "{{ salt_call('test.echo', 'x') }}",
        "{{ salt['file.file_exists']('/etc/passwd') }}",
        "{{ salt['environ.has_value']('HOME') }}",
        "{{ cmd_has_exec('sh') }}",
        "{{ user_info('root').uid }}",
        "{{ ['x', 'y'] | random }}",
        "{{ '/etc/passwd' | file_hashsum }}",
        "{{ salt['jinja.load_map']('asks.jinja', 'name') }}",
        "{% from 'asks.jinja' import name %}{{ name }}",
    };
    struct scene scene;

    open_scene(&scene);
    write_file(&scene, "asks.jinja", "{% set name = salt['test.echo']('x') %}\n");
    for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
        write_file(&scene, "work.zy",
                   arena_printf(&scene.arena, "%s: {cmd.run: [{command: echo}]}\n", asks[i]));
        CHECK_STR(is_used_again(&scene, NULL) ? asks[i] : "", "");
    }
    close_scene(&scene);
}

TEST(a_plan_of_facts_settings_and_tree_files_is_reused)
{
    static const char *const asks[] = {
        "{{ grains['id'] }}",
        "{{ salt['pillar.get']('port') }}",
        "{{ salt['grains.filter_by']({'web': {'a': 'b'}}, grain='role')['a'] }}",
        "{{ salt_call('settings.get', 'port') }}",
        "{{ facts_get('role') }}",
        "{% from 'map.jinja' import name %}{{ name }}",
        "{{ salt['jinja.load_map']('map.jinja', 'name') }}",
    };
    struct scene scene;

    open_scene(&scene);
    write_file(&scene, "map.jinja", "{% set name = 'one' %}\n");
    for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
        write_file(&scene, "work.zy",
                   arena_printf(&scene.arena, "a{{ %zu }}%s: {cmd.run: [{command: echo}]}\n",
                                i + 1000, asks[i]));
        CHECK_STR(is_used_again(&scene, NULL) ? "" : asks[i], "");
    }
    close_scene(&scene);
}

TEST(pattern_matches_and_salt_files_are_read_each_time)
{
    struct scene scene;

    open_scene(&scene);
    write_file(&scene, "top.zy", "base: {'*': ['wor*']}\n");
    CHECK(!is_used_again(&scene, NULL));
    write_file(&scene, "top.zy", "base: {'*': [classic]}\n");
    write_file(&scene, "classic.sls", "echo:\n  cmd.run: []\n");
    CHECK(!is_used_again(&scene, NULL));
    close_scene(&scene);
}

TEST(a_recently_changed_file_is_read_again)
{
    struct scene scene;

    open_scene_settled(&scene, INT64_C(3600) * CLOCK_SECOND);
    CHECK(!is_used_again(&scene, NULL));
    CHECK(plan_cache_trim(scene.plan_cache));
    close_scene(&scene);
}

TEST(requests_do_not_share_plans)
{
    const char *ref = "work", *other = "more";
    const struct compile_wish wishes[] = { { .refs = { 1, &ref } },
                                           { .refs = { 1, &other } },
                                           { .refs = { 1, &ref }, .id = "web" },
                                           { .id = NULL } };
    struct run runs[ARRAY_LEN(wishes)];
    struct scene scene;

    open_scene(&scene);
    write_file(&scene, "more.zy", "one: {cmd.run: [{command: echo}]}\n");
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        begin_run(&scene, &runs[i], &wishes[i]);
        CHECK(runs[i].plan != NULL);
        for (size_t k = 0; k < i; k++)
            CHECK(runs[i].plan != runs[k].plan);
    }
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
        end_run(&runs[i]);
    close_scene(&scene);
}

TEST(each_run_reports_mistakes)
{
    static const struct compile_wish highstate;
    struct scene scene;
    struct run run;

    open_scene(&scene);
    write_file(&scene, "work.zy", "a: {cmd.rum: [{command: echo}]}\n");
    for (int i = 0; i < 2; i++) {
        begin_run(&scene, &run, &highstate);
        CHECK(run.plan == NULL);
        end_run(&run);
    }
    CHECK(plan_cache_trim(scene.plan_cache));
    close_scene(&scene);
}

TEST(a_held_plan_outlives_its_cache)
{
    static const struct compile_wish highstate;
    struct scene scene;
    struct run run;

    open_scene(&scene);
    begin_run(&scene, &run, &highstate);
    close_scene(&scene);
    CHECK(run.plan != NULL);
    CHECK_STR(run.plan->states[0].name, "cmd.run:web");
    end_run(&run);
}

TEST(the_table_of_steady_functions_is_sorted)
{
    CHECK(steady_has("config.backup_mode"));
    CHECK(steady_has("grains.filter_by"));
    CHECK(steady_has("pillar_get"));
    CHECK(steady_has("slsutil.update"));
    CHECK(!steady_has("cmd.run"));
    CHECK(!steady_has("basket"));
}

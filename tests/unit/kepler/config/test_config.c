#include "kepler/config/config.h"
#include "kepler/config/config_dump.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "kepler/config/environment.h"
#include "test.h"

#define PATH "/srv/app/kepler.yaml"

/* The config of a case. */
struct run {
    struct arena arena;
    struct diags diags;
    const struct config *config;
};

static int load(struct run *run, struct str text)
{
    struct environment *cli = environment_copy(&run->arena, NULL);
    const struct config_source source = {
        .path = PATH, .text = text, .cli_env = cli, .owner = { 1000, 1000 }
    };

    run->diags = (struct diags)DIAGS_INIT(&run->arena);
    environment_set(cli, STR("HOME"), STR("/home/me"));
    environment_set(cli, STR("KEPLER_TOKEN"), STR("secret"));
    return config_load(&run->arena, &source, &run->config, &run->diags);
}

static void print_value(struct buf *out, const char *name, const struct value *v)
{
    struct err err;

    buf_printf(out, "%s ", name);
    CHECK(json_print(out, v, JSON_STYLE_PRETTY | JSON_STYLE_SORTED, &err) == 0);
    buf_add_char(out, '\n');
}

/* `v` with those keys only that stand in `keys`; all when that is a NULL view. */
static struct value pick(struct arena *arena, struct value v, struct str keys)
{
    struct value_map *map = value_map_new(arena, 4);

    if (!keys.p)
        return v;
    while (keys.p) {
        struct str key = str_trim(str_cut(&keys, ' '));
        const struct value *found = value_get_str(&v, key);

        if (found)
            value_map_set(arena, map, value_str(arena_str(arena, key)), *found);
    }
    return value_map(map);
}

/* The parts that a case asks for in its section "show": words "services", "kepler", "warnings",
 * "order", "env"; of services the keys in its section "keys". */
static struct value env_list(const struct environment *env, struct arena *arena)
{
    struct value_list *list = value_list_new(arena, 0);

    for (const char *const *pair = environment_array(env, arena); *pair; pair++)
        value_list_push(arena, list, value_text(*pair));
    return value_list(list);
}

static void show(struct run *run, struct str what, struct str keys, struct buf *out)
{
    const struct config *config = run->config;
    struct value v;

    if (str_find(what, STR("warnings"), 0) != STR_NONE)
        VEC_EACH (&config->warnings, warning)
            buf_printf(out, "%s\n", *warning);
    if (str_find(what, STR("order"), 0) != STR_NONE)
        for (uint32_t i = 0; i < config->service_count; i++)
            buf_printf(out, "%u %s\n", config->levels[config->order[i]],
                       config->services[config->order[i]].name);
    if (str_find(what, STR("kepler"), 0) != STR_NONE) {
        v = config_dump_kepler(&run->arena, config);
        print_value(out, "kepler", &v);
    }
    if (str_find(what, STR("env"), 0) != STR_NONE) {
        v = env_list(config->kepler_env, &run->arena);
        print_value(out, "env", &v);
    }
    for (uint32_t i = 0; i < config->service_count; i++)
        if (str_find(what, STR("services"), 0) != STR_NONE) {
            v = config_dump_service(&run->arena, config, &config->services[i]);
            v = pick(&run->arena, v, keys);
            print_value(out, config->services[i].name, &v);
        }
}

static int run_case(const struct golden *golden, struct buf *out)
{
    struct run run = { .arena = ARENA_INIT };
    struct str what = golden_section(golden, "show");
    int failed = load(&run, golden_section(golden, "input"));

    if (failed)
        diags_print(&run.diags, out);
    else
        show(&run, what.p ? what : STR("warnings"), golden_section(golden, "keys"), out);
    arena_done(&run.arena);
    return failed;
}

TEST(files_load_as_the_cases_expect)
{
    test_golden("kepler/kepler/config.txt", run_case);
}

TEST(all_mistakes_are_reported_at_once_with_places)
{
    test_golden("kepler/kepler/config_errors.txt", run_case);
}

/* Every example of the page about dependencies, and what it promises. */
TEST(documented_examples_load)
{
    test_golden("kepler/kepler/examples.txt", run_case);
}

TEST(services_are_found_by_name)
{
    struct run run = { .arena = ARENA_INIT };

    CHECK_INT(load(&run, STR("services: {a: {run: x}, b: {run: y}}")), 0);
    CHECK_INT(config_find(run.config, "a"), 0);
    CHECK_INT(config_find(run.config, "b"), 1);
    CHECK_INT(config_find(run.config, "c"), -1);
    CHECK_STR(run.config->folder, "/srv/app");
    arena_done(&run.arena);
}

TEST(an_empty_file_has_no_services)
{
    struct run run = { .arena = ARENA_INIT };

    CHECK_INT(load(&run, STR("")), 0);
    CHECK_INT(run.config->service_count, 0);
    arena_done(&run.arena);
}

TEST(a_snapshot_restores_its_environment)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct environment *kept = environment_copy(&arena, NULL);
    struct config_source source = {
        .path = PATH,
        .text = STR("kepler: {autostart: {environment: [HOME, A=1]}}"),
        .kepler_env = kept,
    };
    const struct config *config;

    environment_set(kept, STR("A"), STR("of the snapshot"));
    CHECK_INT(config_load(&arena, &source, &config, &diags), 0);
    CHECK_INT(environment_count(config->kepler_env), 1);
    CHECK_STR(environment_find(config->kepler_env, STR("A")), "of the snapshot");
}

TEST(more_services_than_the_limit_are_refused)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct run run = { .arena = ARENA_INIT };

    buf_add_text(&text, "services:\n");
    for (int i = 0; i <= CONFIG_SERVICES_MAX; i++)
        buf_printf(&text, "  s%d: {run: x}\n", i);
    CHECK_INT(load(&run, buf_view(&text)), -1);
    CHECK_HAS(run.diags.list.p[0].text, "more than the limit of 10000 services");
    arena_done(&run.arena);
}

TEST(a_thousand_services_in_a_chain_have_an_order)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct run run = { .arena = ARENA_INIT };

    buf_add_text(&text, "services:\n");
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, i < 999 ? "  s%d: {run: x, depends_on: [s%d]}\n" : "  s%d: {run: x}\n", i,
                   i + 1);
    CHECK_INT(load(&run, buf_view(&text)), 0);
    CHECK_INT(run.config->order[0], 999);
    CHECK_INT(run.config->levels[0], 999);
    arena_done(&run.arena);
}

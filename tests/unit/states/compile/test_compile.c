#include "test.h"

#include <time.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "states/compile/compile.h"
#include "states/state/host.h"
#include "states/compile/output.h"
#include "states/compile/plan.h"
#include "states/compile/tree.h"
#include "core/sys/clock.h"

#include "modules.h"

/* --- golden cases: files -> a plan as text, or every mistake ------------------------- */

/* A section as YAML, or an empty map. */
static struct value *section_value(struct arena *arena, const struct golden *golden,
                                   const char *name)
{
    struct value *v = ARENA_NEW(arena, struct value);
    struct diags diags = DIAGS_INIT(arena);

    *v = value_map(value_map_new(arena, 0));
    if (golden_section(golden, name).p)
        CHECK(yaml_parse(arena, name, golden_section(golden, name), NULL, v, &diags) == 0);
    return v;
}

static void print_guards(const struct plan_guards *guards, const char *name, struct buf *out)
{
    VEC_EACH (guards, guard)
        buf_printf(out, "    %s %s%s%s%s\n", name, guard->function ? "function " : "",
                   guard->command, guard->path ? " at " : "", guard->path ? guard->path : "");
}

static void print_state(const struct plan *plan, const struct plan_state *state, struct buf *out)
{
    struct err err;

    buf_printf(out, "  %s ", state->name);
    CHECK(yaml_print_flow(out, &state->body, &err) == 0);
    buf_printf(out, "%s%s\n", state->deferred ? " deferred" : "", state->secret ? " secret" : "");
    if (!str_starts(str_from(state->name), str_from(state->module->name)))
        buf_printf(out, "    module %s\n", state->module->name);
    for (size_t kind = 0; kind < REQUISITES; kind++)
        VEC_EACH (&state->requisites[kind], target)
            buf_printf(out, "    %s %s\n", requisite_name((enum requisite)kind),
                       plan->states[*target].name);
    print_guards(&state->onlyif, "onlyif", out);
    print_guards(&state->unless, "unless", out);
    print_guards(&state->check_cmd, "check_cmd", out);
    for (size_t i = 0; i < state->creates.n; i++)
        buf_printf(out, "    creates %s\n", state->creates.p[i]);
    if (state->guard_user)
        buf_printf(out, "    guards as %s\n", state->guard_user);
    if (state->has_umask)
        buf_printf(out, "    umask %04o\n", (unsigned)state->umask);
    if (state->dry)
        buf_add_text(out, "    only looked at\n");
    if (state->alone)
        buf_add_text(out, "    alone\n");
    if (state->order != 0)
        buf_printf(out, "    order %lld\n", (long long)state->order);
    if (state->retry.attempts > 0)
        buf_printf(out, "    retry %lld every %lld ms\n", (long long)state->retry.attempts,
                   (long long)(state->retry.interval / CLOCK_MS));
    if (state->retry.splay > 0)
        buf_printf(out, "    and up to %lld ms\n", (long long)(state->retry.splay / CLOCK_MS));
    if (state->failhard)
        buf_add_text(out, "    failhard\n");
}

static void print_plan(const struct plan *plan, struct buf *out)
{
    for (uint32_t level = 0; level < plan->level_count; level++) {
        buf_printf(out, "level %u\n", level);
        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++)
            print_state(plan, &plan->states[plan->order[i]], out);
    }
    diags_print(plan->warnings, out);
}

static struct param_strs read_refs(struct arena *arena, const struct golden *golden)
{
    static const char *const usual[] = { "case" };
    const struct str refs = str_trim(golden_section(golden, "refs"));
    const char **list;

    if (!refs.p)
        return (struct param_strs){ 1, usual };
    list = ARENA_ARRAY(arena, const char *, 1);
    list[0] = arena_strndup(arena, refs.p, refs.n);
    return (struct param_strs){ 1, list };
}

static const char *find_environment(struct arena *arena, const struct golden *golden)
{
    const struct str name = str_trim(golden_section(golden, "environment"));

    return name.n > 0 ? arena_strndup(arena, name.p, name.n) : NULL;
}

static int run_case(const struct golden *golden, struct buf *out, bool top)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree *tree = tree_new_in_memory();
    struct diags diags = DIAGS_INIT(&arena);
    struct state_host host = {
        .peel_id = "web1",
        .package_lists = "tests/golden/states/state/packages",
        .tree = tree,
        .facts = section_value(&arena, golden, "facts"),
        .settings = section_value(&arena, golden, "settings"),
        .strict_params = !golden_section(golden, "lenient").p,
        .environment = find_environment(&arena, golden),
    };
    const struct plan *plan;
    int result;

    for (size_t i = 0; i < golden->count; i++)
        if (strchr(golden->sections[i].name, '.'))
            tree_add(tree, golden->sections[i].name, golden->sections[i].text);
    result = top ? compile_top(&arena, &host, &plan, &diags)
                 : compile_refs(&arena, &host, read_refs(&arena, golden), &plan, &diags);
    if (result == 0)
        print_plan(plan, out);
    else
        diags_print(&diags, out);
    tree_free(tree);
    return result;
}

static int run_golden(const struct golden *golden, struct buf *out)
{
    return run_case(golden, out, false);
}

TEST(bodies_of_states_are_read)
{
    test_golden("states/state/bodies.txt", run_golden);
}

TEST(files_include_extend_and_exclude)
{
    test_golden("states/state/files.txt", run_golden);
}

TEST(requisites_are_resolved)
{
    test_golden("states/state/requisites.txt", run_golden);
}

TEST(attributes_of_all_states_are_read)
{
    test_golden("states/state/generic.txt", run_golden);
}

TEST(salt_files_follow_salt_semantics)
{
    test_golden("states/state/salt.txt", run_golden);
}

TEST(templates_see_facts_and_settings)
{
    test_golden("states/state/templates.txt", run_golden);
}

static int run_top_golden(const struct golden *golden, struct buf *out)
{
    return run_case(golden, out, true);
}

TEST(the_top_file_assigns_states)
{
    test_golden("states/state/top.txt", run_top_golden);
}

TEST(all_mistakes_are_reported)
{
    test_golden("states/state/mistakes.txt", run_golden);
}

/* --- the rest --------------------------------------------------------------------------- */

static const struct value *empty_map(struct arena *arena)
{
    struct value *v = ARENA_NEW(arena, struct value);

    *v = value_map(value_map_new(arena, 0));
    return v;
}

#define SPEED_STATES     5000
#define SPEED_REQUISITES 4
/* CPU time, so that other work on the machine does not count. Even a slow machine needs a hundredth
 * of it. */
#define SPEED_LIMIT (10 * CLOCK_SECOND)

static int64_t processor_time(void)
{
    struct timespec now;

    CHECK_INT(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

TEST(five_thousand_states_with_twenty_thousand_requisites_compile_quickly)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct tree *tree = tree_new_in_memory();
    struct diags diags = DIAGS_INIT(&arena);
    struct state_host host = { .tree = tree, .strict_params = true };
    static const char *const refs[] = { "big" };
    const struct plan *plan;
    size_t edges = 0;

    for (int i = 0; i < SPEED_STATES; i++) {
        buf_printf(&text, "s%d:\n  cmd.run:\n    - command: echo %d\n", i, i);
        if (i >= SPEED_REQUISITES)
            buf_printf(&text,
                       "    - require:\n      - cmd: s%d\n      - s%d\n    - watch:\n"
                       "      - cmd.run:s%d\n    - onchanges:\n      - cmd: s%d\n",
                       i - 1, i - 2, i - 3, i / 2);
    }
    tree_add(tree, "big.zy", buf_view(&text));
    host.facts = host.settings = empty_map(&arena);

    const int64_t start = processor_time();
    CHECK(compile_refs(&arena, &host, (struct param_strs){ 1, refs }, &plan, &diags) == 0);
    CHECK(processor_time() - start < SPEED_LIMIT);
    CHECK_INT(plan->count, SPEED_STATES);
    for (uint32_t i = 0; i < plan->count; i++)
        for (size_t kind = 0; kind < REQUISITES; kind++)
            edges += plan->states[i].requisites[kind].n;
    CHECK_INT(edges, (SPEED_STATES - SPEED_REQUISITES) * SPEED_REQUISITES);
    CHECK_INT(plan_find(plan, "cmd.run:s17"), 17);
    CHECK_INT(plan_find(plan, "cmd.run:s5000"), -1);
    tree_free(tree);
}

TEST(a_single_state_needs_no_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct tree *tree = tree_new_in_memory();
    struct diags diags = DIAGS_INIT(&arena);
    struct state_host host = { .tree = tree, .strict_params = true };
    struct value_map *body = value_map_new(&arena, 2);
    const struct value args = value_map(body);
    const struct plan *plan;

    host.facts = host.settings = empty_map(&arena);
    value_map_set(&arena, body, value_text("content"), value_text("hi"));
    value_map_set(&arena, body, value_text("unless"), value_text("test -e /x"));
    CHECK(compile_single(&arena, &host, "file.managed", "/etc/motd", &args, &plan, &diags) == 0);
    CHECK_INT(plan->count, 1);
    CHECK_STR(plan->states[0].name, "file.managed:/etc/motd");
    CHECK_STR(((const struct any_args *)plan->states[0].args)->name, "/etc/motd");
    CHECK_STR(((const struct any_args *)plan->states[0].args)->content, "hi");
    CHECK_STR(plan->states[0].unless.p[0].command, "test -e /x");

    CHECK(compile_single(&arena, &host, "file.maneged", "/x", &args, &plan, &diags) == -1);
    diags_print(&diags, &shown);
    CHECK_HAS(buf_text(&shown), "state: unknown module \"file.maneged\"");
    CHECK_HAS(buf_text(&shown), "did you mean 'file.managed'?");
    tree_free(tree);
}

static const struct value *details_of(void *user, uint32_t state)
{
    CHECK_INT(state, 0);
    return user;
}

TEST(outputs_are_filled_in_when_the_state_starts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree *tree = tree_new_in_memory();
    struct diags diags = DIAGS_INIT(&arena);
    struct state_host host = { .tree = tree, .strict_params = true };
    static const char *const refs[] = { "case" };
    struct value_map *map = value_map_new(&arena, 2);
    struct value details = value_map(map), body;
    const struct any_args *args;
    const struct plan *plan;
    const void *decoded;
    struct err err;

    host.facts = host.settings = empty_map(&arena);
    tree_add(tree, "case.zy",
             STR("build:\n  cmd.run:\n    - command: make\n"
                 "use:\n  file.managed:\n    - path: /x\n"
                 "    - content: \"v={{ outputs('build').stdout }};\"\n"
                 "    - mode: \"{{ outputs('cmd.run:build')['mode'] }}\"\n"));
    CHECK(compile_refs(&arena, &host, (struct param_strs){ 1, refs }, &plan, &diags) == 0);
    CHECK(plan->states[1].deferred && !plan->states[1].args);

    value_map_set(&arena, map, value_text("stdout"), value_text("1.2"));
    CHECK(output_fill(&arena, plan->outputs, &plan->states[1].body, details_of, &details, &body,
                      &err) == -1);
    CHECK_STR(err.text, "outputs('cmd.run:build') has no 'mode'");

    value_map_set(&arena, map, value_text("mode"), value_int(0600));
    CHECK(output_fill(&arena, plan->outputs, &plan->states[1].body, details_of, &details, &body,
                      &err) == 0);
    CHECK(plan_decode(&arena, &plan->states[1], &body, NULL, &decoded, &diags) == 0);
    args = decoded;
    CHECK_STR(args->content, "v=1.2;");
    CHECK_INT(args->mode, 0600);
    tree_free(tree);
}

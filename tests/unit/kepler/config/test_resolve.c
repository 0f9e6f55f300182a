#include "kepler/config/resolve.h"

#include <sys/resource.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

#define DEPS_MAX 8

struct run {
    struct arena arena;
    struct diags diags;
    const struct config *config;
    struct resolver *resolver;
    struct resolve_facts deps[DEPS_MAX];
    struct resolve_context context;
    struct value world; /* section "context" */
};

/* --- setting up a case ----------------------------------------------------------------------- */

static int load(struct run *run, struct str text, struct config_owner owner)
{
    struct environment *cli = environment_copy(&run->arena, NULL);
    const struct config_source source = {
        .path = path_join(&run->arena, test_folder(), "kepler.yaml"),
        .text = text,
        .cli_env = cli,
        .owner = owner,
    };

    run->diags = (struct diags)DIAGS_INIT(&run->arena);
    environment_set(cli, STR("SHELL"), STR("/bin/sh"));
    environment_set(cli, STR("HOST"), STR("localhost"));
    if (config_load(&run->arena, &source, &run->config, &run->diags) < 0)
        return -1;
    run->resolver = resolver_new(run->config);
    return 0;
}

static void finish(struct run *run)
{
    resolver_free(run->resolver);
    arena_done(&run->arena);
}

static int64_t number_of(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_INT ? found->i : 0;
}

static bool truth_of(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_BOOL && found->b;
}

static void read_facts(struct run *run, const struct value *v, const char *name,
                       struct resolve_facts *facts)
{
    const struct value *status = value_get(v, "status"), *env = value_get(v, "env");
    struct environment *vars = environment_copy(&run->arena, NULL);

    *facts = (struct resolve_facts){
        .name = name,
        .has_exit_code = value_get(v, "exit_code") != NULL,
        .exit_code = (int)number_of(v, "exit_code"),
        .initialized = truth_of(v, "initialized"),
        .restart_count = (uint32_t)number_of(v, "restart_count"),
        .env = vars,
        .outputs = value_get(v, "outputs"),
    };
    if (status)
        CHECK_INT(status_parse(status->s, &facts->status), 0);
    for (size_t i = 0; env && i < env->map->count; i++)
        environment_set(vars, env->map->pairs[i].key.s, env->map->pairs[i].value.s);
}

static void read_context(struct run *run, struct str text)
{
    static const struct yaml_options options = { .dialect = YAML_DIALECT_1_2,
                                                 .tags = yaml_all_tags };
    const struct value *deps, *phase;

    run->world = value_null();
    if (text.p)
        CHECK_INT(yaml_parse(&run->arena, "context", text, &options, &run->world, &run->diags), 0);
    deps = value_get(&run->world, "deps");
    phase = value_get(&run->world, "phase");
    read_facts(run, value_get(&run->world, "self"), "self", &run->context.self);
    for (size_t i = 0; deps && i < deps->map->count && i < DEPS_MAX; i++)
        read_facts(run, &deps->map->pairs[i].value, deps->map->pairs[i].key.s.p, &run->deps[i]);
    run->context.deps = run->deps;
    run->context.dep_count = deps ? deps->map->count : 0;
    run->context.flags = value_get(&run->world, "flags");
    run->context.hooks = value_get(&run->world, "hooks");
    run->context.in_hook = phase != NULL;
    if (phase)
        CHECK_INT(hook_phase_parse(phase->s, &run->context.phase), 0);
    run->context.had_failure = truth_of(&run->world, "had_failure");
}

/* --- showing what came out --------------------------------------------------------------- */

static void show_texts(struct buf *out, const char *name, const char *const *texts)
{
    buf_printf(out, "%s:", name);
    for (; *texts; texts++)
        buf_printf(out, " [%s]", *texts);
    buf_add_char(out, '\n');
}

static void show_program(struct buf *out, const struct launch_program *program)
{
    struct process_spec spec = { 0 };

    launch_program_spec(program, &spec);
    show_texts(out, "argv", spec.argv);
    show_texts(out, "env", spec.env);
    buf_printf(out, "cwd: %s\n", spec.cwd);
    for (size_t i = 0; i < spec.limit_count; i++)
        buf_printf(out, "limit: %s %llu\n",
                   spec.limits[i].resource == RLIMIT_AS    ? "memory"
                   : spec.limits[i].resource == RLIMIT_CPU ? "cpu_time"
                                                           : "max_fds",
                   (unsigned long long)spec.limits[i].hard);
}

static void show_launch(struct buf *out, const struct launch *launch)
{
    if (launch->skipped) {
        buf_printf(out, "skipped: %s\n", launch->reason);
        return;
    }
    show_program(out, &launch->program);
    if (launch->health.given) {
        buf_printf(out, "health: every %lld ms\n", (long long)(launch->health.interval / 1000000));
        show_program(out, &launch->health.program);
    }
    if (launch->policy.flags != POLICY_NO) {
        buf_add_text(out, "restart: ");
        policy_print(launch->policy.flags, out);
        buf_printf(out, " after %lld ms\n", (long long)(launch->policy.delay / 1000000));
    }
    for (size_t i = 0; i < launch->watch.n; i++)
        buf_printf(out, "watch: %s\n", launch->watch.p[i]);
    if (!launch->logs.store_stdout)
        buf_add_text(out, "stdout is not stored\n");
}

static void show_step(struct buf *out, const struct launch_step *step)
{
    if (step->warning)
        buf_printf(out, "warning: %s\n", step->warning);
    buf_printf(out, "%s%s\n", step->run ? "runs" : "skipped",
               step->clears_failure ? ", clears the failure" : "");
    if (step->run)
        show_program(out, &step->program);
}

/* The scratch folder has another name each time. */
static void hide_folder(struct buf *out, const struct buf *text)
{
    struct str all = buf_view(text), folder = str_from(test_folder());
    size_t at = 0, next;

    for (; (next = str_find(all, folder, at)) != STR_NONE; at = next + folder.n) {
        buf_add_str(out, str_slice(all, at, next - at));
        buf_add_text(out, "FOLDER");
    }
    buf_add_str(out, str_from_offset(all, at));
}

/* --- golden cases: the last service, and with a phase in the context its steps ----------- */

static int resolve_steps(struct run *run, const struct config_service *service,
                         const struct launch *launch, struct buf *out)
{
    const struct config_steps *steps = &service->hooks[run->context.phase];
    struct launch_step step;

    for (size_t i = 0; i < steps->n; i++) {
        if (resolve_step(run->resolver, service, &steps->p[i], launch, &run->context, &run->arena,
                         &step, &run->diags) < 0)
            return -1;
        show_step(out, &step);
    }
    return 0;
}

static int resolve_case(struct run *run, struct buf *out)
{
    const struct config_service *service = &run->config->services[run->config->service_count - 1];
    const struct value *process = value_get(&run->world, "process");
    struct resolve_context plain = run->context;
    struct launch launch;
    struct value outputs;

    plain.in_hook = plain.had_failure = false;
    if (resolve_service(run->resolver, service, &plain, &run->arena, &launch, &run->diags) < 0)
        return -1;
    if (run->context.in_hook)
        return resolve_steps(run, service, &launch, out);
    show_launch(out, &launch);
    if (!service->outputs)
        return 0;
    if (resolve_outputs(run->resolver, service, process, &launch, &run->context, &run->arena,
                        &outputs, &run->diags) < 0)
        return -1;
    for (size_t i = 0; i < outputs.map->count; i++)
        buf_printf(out, "output: %s=%s\n", outputs.map->pairs[i].key.s.p,
                   outputs.map->pairs[i].value.s.p);
    return 0;
}

static void write_env_file(struct run *run, struct str text)
{
    const char *path = path_join(&run->arena, test_folder(), "app.env");
    struct err err;

    CHECK_INT(fs_unlink(path, &err), 0);
    if (text.p)
        CHECK_INT(fs_write(path, text, 0644, &err), 0);
}

static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct run run = { .arena = ARENA_INIT };
    int failed = load(&run, golden_section(golden, "input"), (struct config_owner){ 0, 0 });

    if (!failed) {
        read_context(&run, golden_section(golden, "context"));
        write_env_file(&run, golden_section(golden, "app.env"));
        failed = resolve_case(&run, &text);
    }
    if (failed) {
        buf_clear(&text);
        diags_print(&run.diags, &text);
    }
    hide_folder(out, &text);
    finish(&run);
    return failed;
}

TEST(services_and_steps_resolve_as_the_cases_expect)
{
    test_golden("kepler/kepler/resolve.txt", run_case);
}

/* --- what a case cannot say -------------------------------------------------------------- */

TEST(a_resolver_without_expressions_creates_no_lua_state)
{
    struct run run = { .arena = ARENA_INIT };
    struct launch launch;

    CHECK_INT(load(&run, STR("services: {a: {run: x}}"), (struct config_owner){ 0, 0 }), 0);
    read_context(&run, (struct str){ NULL, 0 });
    CHECK_INT(resolve_service(run.resolver, &run.config->services[0], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_STR(launch.program.argv[0], "/bin/sh");
    finish(&run);
}

TEST(services_of_one_resolver_share_global)
{
    struct run run = { .arena = ARENA_INIT };
    struct launch launch;

    CHECK_INT(load(&run,
                   STR("services:\n"
                       "  a: {run: \"${{ (function() global.x = 7 return 'a' end)() }}$\"}\n"
                       "  b: {run: \"echo ${{ global.x }}$\"}\n"),
                   (struct config_owner){ 0, 0 }),
              0);
    read_context(&run, (struct str){ NULL, 0 });
    for (size_t i = 0; i < 2; i++)
        CHECK_INT(resolve_service(run.resolver, &run.config->services[i], &run.context, &run.arena,
                                  &launch, &run.diags),
                  0);
    CHECK_STR(launch.program.argv[2], "echo 7");
    resolver_free(run.resolver);
    run.resolver = resolver_new(run.config);
    CHECK_INT(resolve_service(run.resolver, &run.config->services[1], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_STR(launch.program.argv[2], "echo ");
    finish(&run);
}

TEST(overrides_reach_the_child)
{
    struct run run = { .arena = ARENA_INIT };
    struct environment *env;
    struct launch launch;

    CHECK_INT(load(&run, STR("services: {a: {run: \"${{ kepler.env.HOST }}$\"}}"),
                   (struct config_owner){ 0, 0 }),
              0);
    read_context(&run, (struct str){ NULL, 0 });
    env = environment_copy(&run.arena, run.config->kepler_env);
    environment_set(env, STR("HOST"), STR("elsewhere"));
    run.context.kepler_env = env;
    CHECK_INT(resolve_service(run.resolver, &run.config->services[0], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_STR(launch.program.argv[2], "elsewhere");
    CHECK_STR(environment_find(launch.child_env, STR("HOST")), "elsewhere");
    finish(&run);
}

TEST(a_stored_copy_of_an_env_file_wins)
{
    struct run run = { .arena = ARENA_INIT };
    struct launch launch;
    struct err err;

    CHECK_INT(load(&run, STR("services: {a: {run: x, env_file: app.env}}"),
                   (struct config_owner){ 0, 0 }),
              0);
    read_context(&run, (struct str){ NULL, 0 });
    write_env_file(&run, STR("A=now\n"));
    run.context.env_files = test_folder();
    CHECK_INT(
        fs_write(resolve_env_file_copy(&run.arena, test_folder(), run.config, "a", "x/app.env"),
                 STR("A=then\n"), 0644, &err),
        0);
    CHECK_INT(resolve_service(run.resolver, &run.config->services[0], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_STR(environment_find(launch.child_env, STR("A")), "then");
    finish(&run);
}

TEST(copies_of_env_files_never_share_a_name)
{
    struct run run = { .arena = ARENA_INIT };
    const struct config *config;
    const char *first, *second, *longest;

    CHECK_INT(load(&run, STR("services: {a: {run: x}, a_b: {run: x}, c: {run: x}}"),
                   (struct config_owner){ 0, 0 }),
              0);
    config = run.config;
    CHECK_STR(resolve_env_file_copy(&run.arena, "/f", config, "c", "/x/b_app.env"),
              "/f/c_b_app.env");
    first = resolve_env_file_copy(&run.arena, "/f", config, "a", "/x/b_app.env");
    second = resolve_env_file_copy(&run.arena, "/f", config, "a_b", "/x/app.env");
    CHECK_STR(second, "/f/a_b_app.env");
    CHECK(strcmp(first, second) != 0);
    longest = resolve_env_file_copy(&run.arena, "/f", config, "c",
                                    arena_printf(&run.arena, "/x/%0250d", 1));
    CHECK(strlen(longest) < 200);
    finish(&run);
}

/* The identity of whoever runs the test, as owner of the file. */
TEST(the_owner_determines_user_and_identity)
{
    struct run run = { .arena = ARENA_INIT };
    const struct account *me = NULL, *other = NULL;
    struct config_owner owner = { geteuid(), getegid() };
    struct launch launch;
    struct err err;

    CHECK_INT(account_find(&run.arena, "nobody", &other, &err), 0);
    if (owner.uid == 0 && other)
        owner = (struct config_owner){ other->uid, other->gid };
    CHECK_INT(account_find_uid(&run.arena, owner.uid, &me, &err), 0);
    CHECK_INT(
        load(&run, STR("services: {a: {run: \"${{ owner.uid }}$\", inherit_env: false}}"), owner),
        0);
    read_context(&run, (struct str){ NULL, 0 });
    CHECK_INT(resolve_service(run.resolver, &run.config->services[0], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_INT(launch.program.has_user, geteuid() == 0);
    CHECK_STR(launch.program.argv[2], arena_printf(&run.arena, "%u", (unsigned)owner.uid));
    if (me) {
        CHECK_STR(environment_find(launch.child_env, STR("USER")), me->name);
        CHECK_STR(environment_find(launch.child_env, STR("HOME")), me->home);
        CHECK_INT(environment_count(launch.child_env), 4);
    }
    finish(&run);
}

TEST(root_uses_the_user_in_the_file)
{
    struct run run = { .arena = ARENA_INIT };
    struct launch launch;

    if (geteuid() != 0)
        return; /* another user cannot */
    CHECK_INT(load(&run,
                   STR("services:\n"
                       "  a:\n"
                       "    run: x\n"
                       "    user: \"12345:54321\"\n"
                       "    groups: [7, 8]\n"
                       "    healthcheck: {run: y}\n"
                       "  b:\n"
                       "    run: x\n"
                       "    user: 12345\n"
                       "    healthcheck: {run: y, user: \"4:5\"}\n"),
                   (struct config_owner){ 0, 0 }),
              0);
    read_context(&run, (struct str){ NULL, 0 });
    CHECK_INT(resolve_service(run.resolver, &run.config->services[0], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_INT(launch.program.user.uid, 12345);
    CHECK_INT(launch.program.user.gid, 54321);
    CHECK_INT(launch.program.user.group_count, 2);
    CHECK_INT(launch.program.user.groups[1], 8);
    CHECK_INT(launch.health.program.user.uid, 12345);
    CHECK_INT(launch.health.program.user.group_count, 2);
    CHECK_INT(resolve_service(run.resolver, &run.config->services[1], &run.context, &run.arena,
                              &launch, &run.diags),
              0);
    CHECK_INT(launch.program.user.gid, 12345);
    CHECK_INT(launch.health.program.user.uid, 4);
    CHECK_INT(launch.health.program.user.gid, 5);
    finish(&run);
}

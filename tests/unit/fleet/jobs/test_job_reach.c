#include "fleet/jobs/job_reach.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/base/diag.h"
#include "states/local/functions.h"
#include "states/state/manual.h"
#include "states/state/module.h"
#include "fleet/wire/job.h"
#include "test.h"

static void check_row(struct buf *missing, const char *name)
{
    if (!job_reach_has(name))
        buf_printf(missing, " %s", name);
}

TEST(every_function_that_there_is_has_a_class)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf missing = BUF_INIT(BUF_NO_LIMIT);

    for (const struct module *const *module = module_table; *module; module++)
        check_row(&missing, (*module)->name);
    for (const struct manual_function *one = functions_list_agent(&arena); one->name; one++)
        check_row(&missing, one->name);
    CHECK_STR(buf_text(&missing), ""); /* say in src/fleet/jobs/job_reach.c what these can run */
}

TEST(a_function_that_nobody_knows_can_run_anything)
{
    CHECK_INT(job_reach_find("future.function"), REACH_ANYTHING);
    CHECK_INT(job_reach_find("test"), REACH_ANYTHING);
    CHECK_INT(job_reach_find("test.ping"), REACH_ITSELF);
    CHECK(!job_reach_has("test.pin"));
}

/* "FUNCTION [ID] {ARGS}" */
static struct reached job_reach_line(struct arena *arena, const char *function, const char *id,
                                     const char *args)
{
    struct diags diags = DIAGS_INIT(arena);
    struct job job = { .function = function, .state_id = id };
    struct reached reached;

    CHECK_INT(yaml_parse(arena, "args", str_from(args), NULL, &job.args, &diags), 0);
    job_reach_trace(arena, &job, &reached);
    return reached;
}

TEST(what_needs_a_second_person_is_not_walked_around)
{
    static const char *const cmd_run[] = { "cmd.run" };
    static const struct param_strs globs = { 1, cmd_run };
    static const struct {
        const char *function, *id, *args;
        bool is_met;
    } rows[] = {
        { "cmd.run", "id", "{}", true },
        { "cmd.shell", "id", "{}", true },
        { "cmd.run_all", "id", "{}", true },
        { "cron.present", "id", "{}", true },
        { "state.single", "cmd.run", "{name: id}", true },
        { "state.single", "ad-hoc", "{fun: cmd.shell, name: id}", true },
        { "state.single", "test.nop", "{name: x}", false },
        { "state.single", "test.nop", "{name: x, onlyif: id}", true },
        { "test.nop", "x", "{unless: [id]}", true },
        { "file.managed", "/x", "{contents: x}", false },
        { "file.managed", "/x", "{contents: x, template: jinja}", true },
        { "module.run", "ad-hoc", "{name: cmd.run, cmd: id}", true },
        { "module.run", "ad-hoc", "{cmd.run: [cmd: id]}", true },
        { "module.run", "ad-hoc", "{name: test.ping}", false },
        { "schedule.add", "x", "{function: cmd.run, interval: 1h}", true },
        { "schedule.add", "x", "{function: test.ping, interval: 1h}", false },
        { "schedule.add", "x", "{function: test.nop, args: {onlyif: id}}", true },
        { "schedule.modify", "x", "{args: {command: id}}", true },
        { "schedule.modify", "x", "{function: state.single, args: {fun: cmd.run}}", true },
        { "schedule.run_job", "x", "{}", true },
        { "schedule.list", "x", "{}", false },
        { "state.apply", "web", "{}", true },
        { "state.show", "web", "{}", false },
        { "state.template_str", "x", "{}", true },
        { "slsutil.renderer", "x", "{}", true },
        { "fleet.function", "cmd.run", "{target: x}", true },
        { "schedule.modify", "test.ping", "{args: {command: id}}", true },
        { "schedule.add", "backup.daily", "{function: test.ping, interval: 1h}", false },
        { "state.single", "ad-hoc", "{fun: test.nop, name: python3.11}", false },
        { "state.single", "python3.11", "{fun: test.nop}", false },
        { "module.run", "cmd.run", "{name: test.ping}", true },
        { "module.run", "ad-hoc", "{module.wait: {calls: [{function: cmd.run}]}}", true },
        { "pip.list", "ad-hoc", "{}", false },
        { "pip.list", "/tmp/program", "{}", true },
        { "pip.list", "ad-hoc", "{bin_env: /tmp/program}", true },
        { "pip.installed", "flask", "{}", false },
        { "pip.installed", "flask", "{env_vars: {PYTHONPATH: /tmp}}", true },
        { "state.single", "gem.installed", "{name: x, gem_bin: /tmp/program}", true },
        { "schedule.add", "x", "{function: pip.list, id: /tmp/program}", true },
        { "file.serialize", "/x", "{dataset: {bin: /x, env: prod}}", false },
        { "environ.setenv", "BASH_ENV", "{value: $(id)}", true },
        { "cron.env_present", "SHELL", "{value: /tmp/program}", true },
        { "kepler.running", "/x.yaml", "{contents: x}", true },
        { "state.test", "web", "{}", false },
        { "state.test", "web", "{pillar: {x: 1}}", true },
        { "schedule.add", "x", "{function: state.test, args: {pillar: {x: 1}}}", true },
        { "pkg.install", "x", "{}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct reached reached =
            job_reach_line(&arena, rows[i].function, rows[i].id, rows[i].args);

        if (job_reach_meets(&reached, &globs) != rows[i].is_met)
            fail_msg("%s %s %s", rows[i].function, rows[i].id, rows[i].args);
    }
}

/* clang-format off */
/* "MODULE ARGUMENT" that sound like it, but run nothing of whoever asks. */
static const char *const harmless[] = {
    "alternatives.install path", "alternatives.remove path", "alternatives.set path",
    "cmd.has_exec cmd", "cmd.has_exec name", "cmd.which cmd", "cmd.which name", /* look for a program */
    "cron.absent command", "cron.absent name", /* find an entry */
    "event.send with_env", "event.wait with_env", /* names of variables */
    "git.present template", /* a folder of files */
    "mine.get fun", /* a name of what is shared */
    "pip.installed no_binary", /* names of packages */
    "pkgrepo.managed humanname", /* a description */
    "postgres_database.present template", /* a database */
    "service.dead sig", "service.running sig", "status.pid sig", /* a text in a list of processes */
    "ssh_auth.manage options", "ssh_auth.present options", /* whose key it is may log in anyway */
    "sys.list_functions module", "sys.list_state_functions module", /* names in the manual */
    "user.present shell", /* of an account */
};
/* clang-format on */

/* Does a word of the text begin like one of these? */
static bool speaks_of_programs(const char *text)
{
    static const char *const words[] = { "command",     "program",    "script",
                                         "environment", "executable", "hook" };

    for (size_t i = 0; text && i < ARRAY_LEN(words); i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

static bool names_programs(const char *name)
{
    static const char *const names[] = { "bin",     "cmd",       "command", "commands", "env",
                                         "exec",    "fun",       "func",    "function", "module",
                                         "program", "script",    "shell",   "template", "unless",
                                         "onlyif",  "check_cmd", "calls" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strstr(name, "_bin") || strstr(name, "_cmd") || strstr(name, "env_");
}

static bool is_harmless(const char *module, const char *param)
{
    char line[128];

    (void)snprintf(line, sizeof(line), "%s %s", module, param);
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (strcmp(line, harmless[i]) == 0)
            return true;
    return false;
}

/* Can a job that gives this argument do no more than the function itself? */
static bool is_held_harmless(const char *module, const char *param)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reached reached =
        job_reach_line(&arena, module, "ad-hoc", arena_printf(&arena, "{%s: x}", param));

    return job_reach_find(module) == REACH_ITSELF && !reached.anything;
}

/* A number or a yes runs nothing. */
static bool is_taken(const struct param *param)
{
    return !(param->flags & (PARAM_UNSUPPORTED | PARAM_EFFECTLESS)) && param->kind >= PARAM_STR &&
           param->kind != PARAM_MODE && param->kind != PARAM_DURATION && param->kind != PARAM_SIZE;
}

static void check_param(struct arena *arena, struct buf *missing, const char *module,
                        const struct param *param)
{
    struct str rest = str_from(arena_printf(arena, "%s%s%s", param->name, param->aliases ? "," : "",
                                            param->aliases ? param->aliases : ""));

    if (!is_taken(param) || !(names_programs(param->name) || speaks_of_programs(param->doc)))
        return;
    while (rest.p && rest.n > 0) {
        const char *name = arena_str(arena, str_cut(&rest, ',')).p;

        if (is_held_harmless(module, name) && !is_harmless(module, name))
            buf_printf(missing, "%s %s (%s)\n", module, name, param->doc);
    }
}

TEST(an_argument_that_runs_something_is_in_the_table)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf missing = BUF_INIT(BUF_NO_LIMIT);

    for (const struct module *const *module = module_table; *module; module++)
        for (const struct param *param = (*module)->params; param && param->name; param++)
            check_param(&arena, &missing, (*module)->name, param);
    /* put it into src/fleet/jobs/job_reach.c, or into the list above if it runs nothing */
    CHECK_STR(buf_text(&missing), "");
}

TEST(a_state_that_sends_its_result_as_an_event_needs_the_right_to_send_events)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const char *const event_send[] = { "event.send" };
    const struct param_strs globs = { 1, event_send };
    struct reached reached = job_reach_line(&arena, "test.nop", "x", "{fire_event: a/b}");

    CHECK(job_reach_meets(&reached, &globs));
    reached = job_reach_line(&arena, "schedule.add", "x",
                             "{function: test.nop, args: {fire_event: true}}");
    CHECK(job_reach_meets(&reached, &globs));
    reached = job_reach_line(&arena, "state.apply", "x", "{pillar: {fire_event: true}}");
    CHECK_INT(reached.functions.n, 1);
}

TEST(data_for_published_states_may_have_any_keys)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reached reached =
        job_reach_line(&arena, "state.apply", "web", "{pillar: {template: x, onlyif: y}}");

    CHECK(reached.stored && !reached.anything);
}

TEST(the_gate_of_a_rollout_is_judged_by_its_own_argument)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *notes = value_map_new(&arena, 2);
    struct value_map *args = value_map_new(&arena, 1);
    struct job job = { .function = "state.single", .state_id = "test.nop" };
    static const char *const cmd_run[] = { "cmd.run" };
    struct reached reached;

    value_map_set(&arena, args, value_text("name"), value_text("test.ping"));
    value_map_set(&arena, notes, value_text(JOB_BATCH), value_text("1"));
    value_map_set(&arena, notes, value_text(JOB_GATE), value_text("state.single cmd.run"));
    job.args = value_map(args);
    job.metadata = value_map(notes);
    job_reach_trace(&arena, &job, &reached);
    CHECK(job_reach_meets(&reached, &(struct param_strs){ 1, cmd_run }));
    value_map_set(&arena, notes, value_text(JOB_GATE), value_text("state.single test.nop"));
    job_reach_trace(&arena, &job, &reached);
    CHECK(!job_reach_meets(&reached, &(struct param_strs){ 1, cmd_run }));
}

TEST(nothing_needs_a_second_person_without_a_glob)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reached reached = job_reach_line(&arena, "state.apply", "x", "{}");

    CHECK(!job_reach_meets(&reached, &(struct param_strs){ 0 }));
}

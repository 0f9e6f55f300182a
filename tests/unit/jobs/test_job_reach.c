#include "jobs/job_reach.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "data/params.h"
#include "data/value.h"
#include "data/yaml.h"
#include "base/diag.h"
#include "local/functions.h"
#include "state/manual.h"
#include "state/module.h"
#include "wire/job.h"
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
    CHECK_STR(buf_text(&missing), ""); /* say in src/jobs/job_reach.c what these can run */
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

TEST(nothing_needs_a_second_person_without_a_glob)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reached reached = job_reach_line(&arena, "state.apply", "x", "{}");

    CHECK(!job_reach_meets(&reached, &(struct param_strs){ 0 }));
}

/* local_module - a single module from the command line: a state, or a function. */
#include "commands/cli/local/local.h"

#include <stdio.h>
#include <string.h>

#include "commands/cli/shared/command.h"
#include "states/compile/decl.h"
#include "states/state/call.h"
#include "states/state/module.h"
#include "states/state/outcome.h"

/* An unused argument is a mistake. */
static int refuse_words(struct local *local, const struct module *module)
{
    const bool has_params = module->params->name;

    return cli_usage(local->cli, "%s takes no arguments, got '%s'%s%s%s", module->name,
                     local->words.p[0],
                     has_params ? "; parameters are given as NAME=VALUE: 'zester doc " : "",
                     has_params ? module->name : "", has_params ? "' lists them" : "");
}

int local_call_module(struct local *local, const struct module *module)
{
    const struct param *twice = params_find_twice(module->params, local->words.n, local->given.map);
    struct value answer;

    if (local->session.host.test && (module->flags & MODULE_ACTS))
        return cli_usage(local->cli, "%s has no dry run; nothing was done", module->name);
    if (local->words.n > 0 && !params_find_primary(module->params))
        return refuse_words(local, module);
    if (twice)
        return cli_usage(local->cli, "%s: '%s' is given twice, by position and by name",
                         module->name, twice->name);
    if (params_bind_words(&local->session.arena, module->params, &local->words, local->given.map) <
        local->words.n)
        return cli_usage(local->cli,
                         "%s takes fewer than %zu arguments; 'zester doc %s' lists them",
                         module->name, local->words.n, module->name);
    if (call_function(&local->session.arena, &local->session.host, module, &local->given, NULL,
                      &answer, &local->diags) < 0)
        return local_refuse(local);
    return local_print_answer(local, &answer);
}

static void print_stream(FILE *file, const struct value *text)
{
    if (!text || text->kind != VALUE_STR || text->s.n == 0)
        return;
    (void)fprintf(file, "%s%s", text->s.p, text->s.p[text->s.n - 1] == '\n' ? "" : "\n");
}

/* A command that is called directly shows its output, not a report. */
static bool print_call_streams(struct local *local, const struct run_result *result)
{
    const struct value *out, *answer;
    const struct state_result *state;
    struct value details;

    if (result->states.n != 1 || local_wants_record(local) || result->test)
        return false;
    state = &result->states.p[0];
    if (!state->details)
        return false;
    details = value_map(state->details);
    answer = value_get(&details, "result");
    out = value_get(&details, "stdout");
    if (!out && !answer)
        return false;
    local_set_done(local, result);
    print_stream(stdout, answer);
    print_stream(stdout, out);
    print_stream(stderr, value_get(&details, "stderr"));
    if (state->error)
        (void)fprintf(stderr, "%s: %s\n", state->name, state->error);
    return true;
}

/* By its name or an alias of it. */
static bool is_argument_given(const struct local *local, const struct module *module,
                              const struct param *param)
{
    for (size_t i = 0; i < local->given.map->count; i++)
        if (params_find(module->params, local->given.map->pairs[i].key.s) == param)
            return true;
    return false;
}

/* The ID of a state is the default of its primary parameter; on the command line there is none. */
static const struct param *missing_primary(const struct local *local, const struct module *module)
{
    return local->words.n > 0 ? NULL : module_missing(module, &local->given);
}

/* An argument that is the name of the state and nothing else, where something is required. */
static const struct param *find_unnamed(const struct local *local, const struct module *module)
{
    if (local->words.n == 0 || params_find_primary(module->params))
        return NULL;
    for (const struct param *param = module->params; param->name; param++)
        if ((param->flags & PARAM_REQUIRED) && !is_argument_given(local, module, param))
            return param;
    return NULL;
}

/* The ID of a single state is its argument, unless that is a command line. */
static const char *name_single(struct local *local, const struct module *module)
{
    const struct param *primary = params_find_primary(module->params);

    if (strcmp(module->name, "test.ping") == 0)
        return "ping";
    if (local->words.n > 0 && strcmp(module->name, "cmd.run") != 0)
        return local->words.p[0];
    if (local->words.n > 0)
        value_map_set(&local->session.arena, local->given.map, value_text(primary->name),
                      value_text(local->words.p[0]));
    return "ad-hoc";
}

int local_apply_module(struct local *local, const struct module *module)
{
    const struct param *unnamed = find_unnamed(local, module);
    struct run_result result;
    const struct plan *plan;

    /* for a state the argument is its name; a function without parameters has none */
    if (local->words.n > 0 && module->call && !module->params->name)
        return refuse_words(local, module);
    if (local->words.n > 1)
        return cli_usage(local->cli, "%s takes one argument; give the rest as name=value",
                         module->name);
    if (missing_primary(local, module))
        return cli_usage(local->cli, "%s requires an argument: %s", module->name,
                         missing_primary(local, module)->doc);
    if (unnamed)
        return cli_usage(local->cli, "%s requires '%s' by name: try '%s=%s'", module->name,
                         unnamed->name, unnamed->name, local->words.p[0]);
    if (compile_single(&local->session.arena, &local->session.host, module->name,
                       name_single(local, module), &local->given, &plan, &local->diags) < 0)
        return local_refuse(local);
    if (local_run_plan(local, plan, &result) != CLI_OK)
        return CLI_ERROR;
    if (print_call_streams(local, &result))
        return run_result_is_success(&result) ? CLI_OK : CLI_FAILED;
    return local_print_result(local, &result);
}

/* Salt's longer form: 'state.single pkg.installed name=vim'. */
int local_single(struct local *local)
{
    const struct value key = value_text("fun");
    const struct value *named = value_map_find(local->given.map, &key);
    const char *name = value_is(named, VALUE_STR) ? named->s.p : local_shift(local);
    const struct module *module;

    if (!name)
        return cli_usage(local->cli, "state.single requires the name of a state and its arguments");
    (void)value_map_remove(local->given.map, &key);
    module = decl_module(str_from(name), &key, &local->diags);
    return module ? local_apply_module(local, module) : local_refuse(local);
}

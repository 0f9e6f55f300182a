/* `hooks:` - steps for each turn of a service's life. */
#include "core/base/diag.h"
#include "core/base/suggest.h"
#include "kepler/config/config_read.h"

#define MS          INT64_C(1000000)
#define TIMEOUT_MAX (INT64_C(7) * 86400 * 1000 * MS)

struct step_args {
    struct config_program_args program;
    const struct value *condition;
    const char *output;
    int64_t timeout;
};

#define ARGS struct step_args
const struct param config_step_params[] = {
    PARAM("if", ANY, ARGS, condition, "whether the step runs", .kind_text = "bool"),
    PARAM("command", ANY, ARGS, program.command, "program and arguments",
          .kind_text = "list of strings"),
    PARAM("run", ANY, ARGS, program.run, "text for the shell", .kind_text = "text"),
    PARAM("working_dir", ANY, ARGS, program.working_dir,
          "working directory (default: that of the service)", .kind_text = "path"),
    PARAM("environment", ANY, ARGS, program.environment, "variables", .kind_text = "list or map"),
    PARAM("env_file", ANY, ARGS, program.env_file, "file with variables", .kind_text = "path"),
    PARAM("inherit_env", TRISTATE, ARGS, program.inherit_env, "start with the service's variables"),
    PARAM("user", ANY, ARGS, program.user, "the user that runs the step", .kind_text = "string"),
    PARAM("groups", ANY, ARGS, program.groups, "exactly these groups",
          .kind_text = "list of strings"),
    PARAM("user_identity", TRISTATE, ARGS, program.user_identity, "set HOME, USER, LOGNAME, SHELL"),
    PARAM("no_new_privileges", TRISTATE, ARGS, program.no_new_privileges, "no set-id programs"),
    PARAM("limits", ANY, ARGS, program.limits, "memory, cpu_time, max_fds", .kind_text = "map"),
    PARAM("output", STR, ARGS, output, "name under which ::output:: lines are kept",
          .flags = PARAM_FILLED),
    PARAM("timeout", DURATION, ARGS, timeout, "time after which the step is killed",
          .default_text = "10m", PARAM_RANGE(MS, TIMEOUT_MAX)),
    { 0 },
};
#undef ARGS

/* Kept in files and read as hooks.PHASE.outputs.NAME. */
static int check_output_name(const struct value *v, const char *name, struct diags *diags)
{
    for (const char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p < ' ')
            return value_diag(diags, v, "'output' must be a name without '/', got '%s'", name);
    if (name[0] == '.')
        return value_diag(diags, v, "'output' must not begin with '.'");
    return 0;
}

static int read_step(struct arena *arena, const struct value *v,
                     const struct config_program_defaults *defaults, const char *owner,
                     struct config_step *ret, struct diags *diags)
{
    const struct config_program_defaults own = { .inherit_env = true,
                                                 .no_new_privileges = defaults->no_new_privileges };
    struct params_policy policy = config_policy(owner);
    struct step_args args = { 0 };
    int result;

    if (v->kind != VALUE_MAP) {
        (void)value_diag(diags, v, "a step of %s must be a map, got %s", owner, value_describe(v));
        diag_hint(diags, "write 'run: TEXT' or 'command: [PROGRAM, WORD...]', or remove it");
        return -1;
    }
    result = params_decode(arena, config_step_params, &policy, v, &args, diags);
    ret->at = value_place(v);
    ret->condition = config_condition_read(arena, args.condition, diags);
    ret->timeout = args.timeout;
    ret->output = args.output;
    if (config_given(args.condition) && !ret->condition)
        result = -1;
    if (args.output && check_output_name(value_get(v, "output"), args.output, diags) < 0)
        result = -1;
    if (config_program_read(arena, &args.program, &own, owner, v, &ret->program, diags) < 0)
        result = -1;
    return result;
}

static int read_phase(struct arena *arena, const struct value *v,
                      const struct config_program_defaults *defaults, const char *owner,
                      struct config_steps *ret, struct diags *diags)
{
    const struct value *items = v->kind == VALUE_LIST ? v->list->items : v;
    size_t count = v->kind == VALUE_LIST ? v->list->count : 1;
    int result = 0;

    if (v->kind != VALUE_LIST && v->kind != VALUE_MAP)
        return value_diag(diags, v, "%s must be a step or a list of steps, got %s", owner,
                          value_describe(v));
    if (count > CONFIG_STEPS_MAX)
        return value_diag(diags, v, "%s has more than %d steps", owner, CONFIG_STEPS_MAX);
    ret->p = ARENA_ARRAY(arena, struct config_step, count);
    ret->n = count;
    for (size_t i = 0; i < count; i++)
        if (read_step(arena, &items[i], defaults, owner, &ret->p[i], diags) < 0)
            result = -1;
    return result;
}

static int refuse_phase(const struct value *key, const char *owner, struct diags *diags)
{
    struct suggest suggest;

    if (key->kind != VALUE_STR)
        return value_diag(diags, key, "keys must be text here, not %s", value_describe(key));
    suggest_init(&suggest, key->s);
    for (size_t i = 0; i < HOOK_PHASES; i++)
        suggest_offer(&suggest, str_from(hook_phase_name((enum hook_phase)i)));
    (void)value_diag(diags, key, "'hooks' of %s has no phase '%.*s'", owner, STR_ARG(key->s));
    if (suggest_best(&suggest).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
    return -1;
}

int config_hooks_read(struct arena *arena, const struct value *v,
                      const struct config_program_defaults *defaults, const char *owner,
                      struct config_steps ret[HOOK_PHASES], struct diags *diags)
{
    int result = 0;

    if (!v)
        return 0;
    if (v->kind != VALUE_MAP)
        return value_diag(diags, v, "'hooks' of %s must be a map, got %s", owner,
                          value_describe(v));
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        enum hook_phase phase;

        if (pair->key.kind != VALUE_STR || hook_phase_parse(pair->key.s, &phase) < 0)
            result = refuse_phase(&pair->key, owner, diags);
        else if (pair->value.kind != VALUE_NULL &&
                 read_phase(arena, &pair->value, defaults,
                            arena_printf(arena, "hook '%s' of %s", hook_phase_name(phase), owner),
                            &ret[phase], diags) < 0)
            result = -1;
    }
    return result;
}

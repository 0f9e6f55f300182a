/* One service of an orchestrator file. */
#include <signal.h>

#include "core/base/diag.h"
#include "language/lua/expr.h"
#include "kepler/config/config_read.h"
#include "core/sys/signals.h"

#define MS      INT64_C(1000000)
#define SECOND  (1000 * MS)
#define DAY_MAX (86400 * SECOND)

struct service_args {
    struct config_program_args program;
    const struct value *condition, *depends_on, *restart, *healthcheck, *hooks, *logs, *output,
        *outputs, *permissions, *stop_signal, *reload_signal, *start_limit;
    bool grace_given;
    int64_t stop_grace_period;
};

#define ARGS struct service_args
const struct param config_service_params[] = {
    PARAM("if", ANY, ARGS, condition, "condition for running it", .kind_text = "bool"),
    PARAM("command", ANY, ARGS, program.command, "program and arguments",
          .kind_text = "list of strings"),
    PARAM("run", ANY, ARGS, program.run, "text for the shell", .kind_text = "text"),
    PARAM("working_dir", ANY, ARGS, program.working_dir,
          "working directory (default: that of the file)", .kind_text = "path"),
    PARAM("environment", ANY, ARGS, program.environment, "variables", .kind_text = "list or map"),
    PARAM("env_file", ANY, ARGS, program.env_file, "file with variables", .kind_text = "path"),
    PARAM("inherit_env", TRISTATE, ARGS, program.inherit_env,
          "start with the captured variables (kepler.default_inherit_env)"),
    PARAM("user_identity", TRISTATE, ARGS, program.user_identity,
          "set HOME, USER, LOGNAME, SHELL (true)"),
    PARAM("depends_on", ANY, ARGS, depends_on, "what it waits for", .kind_text = "list or map"),
    PARAM("restart", ANY, ARGS, restart, "restart policy (no)", .kind_text = "policy or map"),
    PARAM("healthcheck", ANY, ARGS, healthcheck, "health check", .kind_text = "map"),
    PARAM("hooks", ANY, ARGS, hooks, "hooks that run on events of its life cycle",
          .kind_text = "map"),
    PARAM("logs", ANY, ARGS, logs, "how its output is stored", .kind_text = "map"),
    PARAM("user", ANY, ARGS, program.user,
          "the user that runs it; only root may use another than the owner", .kind_text = "string"),
    PARAM("groups", ANY, ARGS, program.groups, "exactly these groups",
          .kind_text = "list of strings"),
    PARAM("limits", ANY, ARGS, program.limits, "memory, cpu_time, max_fds", .kind_text = "map"),
    PARAM("no_new_privileges", TRISTATE, ARGS, program.no_new_privileges,
          "no set-id programs (true)"),
    PARAM("output", ANY, ARGS, output, "keep its ::output:: lines (false)", .kind_text = "bool"),
    PARAM("outputs", ANY, ARGS, outputs, "values for its dependents",
          .kind_text = "map of strings"),
    PARAM("stop_signal", ANY, ARGS, stop_signal, "signal that stops it (SIGTERM)",
          .kind_text = "signal"),
    PARAM("reload_signal", ANY, ARGS, reload_signal, "signal of 'kepler reload' (SIGHUP)",
          .kind_text = "signal"),
    PARAM("stop_grace_period", DURATION, ARGS, stop_grace_period,
          "time before it is killed (restart.grace_period, else 10s)",
          PARAM_GIVEN(ARGS, grace_given), PARAM_RANGE(0, DAY_MAX)),
    PARAM("start_limit", ANY, ARGS, start_limit, "limit on restarts", .kind_text = "map"),
    PARAM("permissions", ANY, ARGS, permissions, "rights of its processes towards the daemon",
          .kind_text = "list or map", .aliases = "security"),
    { 0 },
};
#undef ARGS

struct start_limit {
    int64_t count, interval;
};

/* Twenty restarts in ten seconds are a crash loop. With this default limit they are only slowed
 * down: `always` is meant literally. */
#define ARGS struct start_limit
const struct param config_start_limit_params[] = {
    PARAM("count", INT, ARGS, count, "restarts; 0: no limit", .default_text = "20",
          PARAM_RANGE(0, 1000000)),
    PARAM("interval", DURATION, ARGS, interval, "within this time", .default_text = "10s",
          PARAM_RANGE(MS, DAY_MAX)),
    { 0 },
};
#undef ARGS

/* --- keys of our own --------------------------------------------------------------------- */

/* `ret_signo` holds the default. */
static int read_signal(const char *key, const struct value *v, int *ret_signo, struct diags *diags)
{
    int signo = 0;

    if (!v)
        return 0;
    if (v->kind == VALUE_STR)
        signo = signal_parse(v->s);
    else if (v->kind == VALUE_INT && v->i > 0 && v->i <= SIGRTMAX)
        signo = (int)v->i;
    if (signo == 0)
        return value_diag(diags, v, "'%s' must be a signal such as 'SIGINT', got %s", key,
                          v->kind == VALUE_STR ? v->s.p : value_describe(v));
    *ret_signo = signo;
    return 0;
}

static int read_start_limit(struct config_reader *r, const struct value *v, const char *owner,
                            struct config_service *service)
{
    struct params_policy policy =
        config_policy(arena_printf(r->arena, "'start_limit' of %s", owner));
    struct start_limit limit = { 0 };
    int result = params_decode(r->arena, config_start_limit_params, &policy, v, &limit, r->diags);

    service->start_limit_count = limit.count;
    service->start_limit_interval = limit.interval;
    service->start_limit_ends = v != NULL;
    return result;
}

/* --- outputs ----------------------------------------------------------------------------- */

static int check_outputs(const struct value *v, struct diags *diags)
{
    int result = 0;

    if (v->kind != VALUE_MAP || value_tag(v))
        return value_diag(diags, v, "'outputs' must be a map of names and texts, got %s",
                          value_describe(v));
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->key.s.n == 0)
            result = value_diag(diags, &pair->key, "'outputs' must be names as keys");
        else if ((pair->value.kind == VALUE_LIST || pair->value.kind == VALUE_MAP) &&
                 !value_tag(&pair->value))
            result = value_diag(diags, &pair->value, "'outputs' requires text for '%.*s', got %s",
                                STR_ARG(pair->key.s), value_describe(&pair->value));
    }
    return result;
}

/* Only a service that ends has outputs: one that always restarts has none. */
static int check_one_shot(const struct config_service *service, const struct value *v,
                          const char *key, struct diags *diags)
{
    if (service->restart.policy.flags == POLICY_NO)
        return 0;
    (void)value_diag(diags, v, "service '%s': '%s' needs restart policy 'no'", service->name, key);
    diag_hint(diags, "outputs are read once the service has ended for good");
    return -1;
}

static int read_output(const struct value *v, struct config_service *service, struct diags *diags)
{
    if (!v)
        return 0;
    if (expr_is_dynamic(v))
        service->output_computed = v;
    else if (v->kind == VALUE_BOOL)
        service->output = v->b;
    else
        return value_diag(diags, v, "'output' must be true or false, got %s", value_describe(v));
    if (!service->output && !service->output_computed)
        return 0;
    return check_one_shot(service, v, "output", diags);
}

static int read_outputs(struct config_reader *r, const struct service_args *args,
                        struct config_service *service)
{
    int result = read_output(config_given(args->output), service, r->diags);

    service->outputs = config_given(args->outputs);
    if (service->outputs && check_outputs(service->outputs, r->diags) < 0)
        result = -1;
    if (service->outputs && check_one_shot(service, service->outputs, "outputs", r->diags) < 0)
        result = -1;
    return result;
}

/* --- all of it --------------------------------------------------------------------------- */

static int read_service_sections(struct config_reader *r, const struct service_args *args,
                                 const char *owner, struct config_service *service)
{
    const struct config_program_defaults defaults = {
        .inherit_env = r->config->default_inherit_env,
        .no_new_privileges = service->program.no_new_privileges,
    };
    const struct value *logs = config_given(args->logs);
    int result = 0;

    if (config_restart_read(r->arena, config_given(args->restart), owner, &service->restart,
                            r->warned, r->diags) < 0)
        result = -1;
    if (config_health_read(r->arena, config_given(args->healthcheck), &defaults, owner,
                           &service->health, r->diags) < 0)
        result = -1;
    if (config_hooks_read(r->arena, config_given(args->hooks), &defaults, owner, service->hooks,
                          r->diags) < 0)
        result = -1;
    service->logs = r->config->logs;
    service->logs_computed = logs && expr_is_dynamic(logs) ? logs : NULL;
    if (logs && config_logs_read_service(r->arena, logs, owner, &service->logs, r->diags) < 0)
        result = -1;
    return result;
}

static int read_service_fields(struct config_reader *r, const struct service_args *args,
                               const struct value *v, const char *owner,
                               struct config_service *service)
{
    const struct config_program_defaults defaults = {
        .inherit_env = r->config->default_inherit_env,
        .no_new_privileges = true,
    };
    int result = 0;

    service->condition = config_condition_read(r->arena, args->condition, r->diags);
    service->stop_grace_period = args->grace_given ? args->stop_grace_period : -1;
    if (config_given(args->condition) && !service->condition)
        result = -1;
    if (config_program_read(r->arena, &args->program, &defaults, owner, v, &service->program,
                            r->diags) < 0)
        result = -1;
    service->stop_signal = SIGTERM;
    service->reload_signal = SIGHUP;
    if (read_signal("reload_signal", config_given(args->reload_signal), &service->reload_signal,
                    r->diags) < 0)
        result = -1;
    if (read_signal("stop_signal", config_given(args->stop_signal), &service->stop_signal,
                    r->diags) < 0)
        result = -1;
    if (read_start_limit(r, config_given(args->start_limit), owner, service) < 0)
        result = -1;
    if (config_permissions_read(r, config_given(args->permissions), owner, &service->permissions) <
        0)
        result = -1;
    return result;
}

int config_service_read(struct config_reader *r, const struct value *v,
                        struct config_service *service)
{
    const char *owner = arena_printf(r->arena, "service '%s'", service->name);
    struct params_policy policy = config_policy(owner);
    struct service_args args = { 0 };
    int result = params_decode(r->arena, config_service_params, &policy, v, &args, r->diags);

    if (v->kind != VALUE_MAP && v->kind != VALUE_NULL)
        return -1;
    if (read_service_fields(r, &args, v, owner, service) < 0)
        result = -1;
    if (read_service_sections(r, &args, owner, service) < 0)
        result = -1;
    if (read_outputs(r, &args, service) < 0)
        result = -1;
    if (config_edges_read(r, config_given(args.depends_on), service) < 0)
        result = -1;
    return result;
}

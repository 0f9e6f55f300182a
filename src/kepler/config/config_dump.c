#include "kepler/config/config_dump.h"

#include "kepler/access/right.h"
#include "core/base/buf.h"
#include "core/data/words.h"
#include "kepler/config/config_read.h"
#include "kepler/config/environment.h"
#include "core/sys/signals.h"

struct dump {
    struct arena *arena;
    struct value_map *map;
};

static struct dump begin_dump(struct arena *arena)
{
    return (struct dump){ arena, value_map_new(arena, 8) };
}

static void put_dump_value(struct dump *d, const char *key, struct value v)
{
    value_map_set(d->arena, d->map, value_text(key), v);
}

/* Omitted settings are not shown. */
static void put_given(struct dump *d, const char *key, const struct value *v)
{
    if (v)
        put_dump_value(d, key, *v);
}

static void put_dump_text(struct dump *d, const char *key, const struct buf *text)
{
    put_dump_value(d, key, value_str(buf_copy(text, d->arena)));
}

/* In the largest unit that is exact, as the file would have it. */
static void put_duration(struct dump *d, const char *key, int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *unit;
    } units[] = {
        { INT64_C(86400000000000), "d" }, { INT64_C(3600000000000), "h" },
        { INT64_C(60000000000), "m" },    { INT64_C(1000000000), "s" },
        { INT64_C(1000000), "ms" },
    };
    size_t i = 0;

    if (ns == 0) {
        put_dump_value(d, key, value_text("0s"));
        return;
    }
    while (i + 1 < ARRAY_LEN(units) && ns % units[i].ns != 0)
        i++;
    put_dump_value(
        d, key,
        value_text(arena_printf(d->arena, "%lld%s", (long long)(ns / units[i].ns), units[i].unit)));
}

/* --- programs ------------------------------------------------------------------------------- */

static struct value pair_text(struct arena *arena, const struct value_pair *pair)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct words_cursor cursor = { 0 };
    struct str own = words_own(&pair->value, &cursor);

    (void)words_print(&out, &pair->key);
    buf_add_char(&out, '=');
    if (own.p)
        buf_add_str(&out, own); /* 1.10 is not 1.1 */
    else
        (void)words_print(&out, &pair->value); /* null is nothing */
    return value_str(buf_copy(&out, arena));
}

/* Always a list of K=V, however it was written. */
static struct value environment_dump(struct arena *arena, const struct value *v)
{
    struct value_list *list = value_list_new(arena, 8);

    if (v && v->kind == VALUE_LIST)
        return *v;
    if (v && v->kind != VALUE_MAP)
        value_list_push(arena, list, *v);
    for (size_t i = 0; v && v->kind == VALUE_MAP && i < v->map->count; i++)
        value_list_push(arena, list, pair_text(arena, &v->map->pairs[i]));
    return value_list(list);
}

static struct value limits_dump(struct arena *arena, const struct config_limits *limits)
{
    struct dump d = begin_dump(arena);

    if (limits->computed)
        return *limits->computed;
    if (limits->memory > 0)
        put_dump_value(&d, "memory", value_int(limits->memory));
    if (limits->cpu_time > 0)
        put_dump_value(&d, "cpu_time", value_int(limits->cpu_time));
    if (limits->max_fds > 0)
        put_dump_value(&d, "max_fds", value_int(limits->max_fds));
    return value_map(d.map);
}

static bool has_limits(const struct config_limits *limits)
{
    return limits->computed || limits->memory > 0 || limits->cpu_time > 0 || limits->max_fds > 0;
}

static void put_program(struct dump *d, const struct config_program *program)
{
    put_given(d, "command", program->command);
    put_given(d, "run", program->run);
    put_given(d, "user", program->user);
    put_given(d, "groups", program->groups);
    put_dump_value(d, "user_identity", value_bool(program->user_identity));
    put_dump_value(d, "no_new_privileges", value_bool(program->no_new_privileges));
}

/* For services and steps; health checks do not have these. */
static void put_surroundings(struct dump *d, const struct config_program *program)
{
    put_given(d, "working_dir", program->working_dir);
    put_dump_value(d, "environment", environment_dump(d->arena, program->environment));
    put_given(d, "env_file", program->env_file);
    put_dump_value(d, "inherit_env", value_bool(program->inherit_env));
    if (has_limits(&program->limits))
        put_dump_value(d, "limits", limits_dump(d->arena, &program->limits));
}

/* --- sections ---------------------------------------------------------------------------- */

static struct value strs_dump(struct arena *arena, struct param_strs strs)
{
    struct value_list *list = value_list_new(arena, strs.n);

    for (size_t i = 0; i < strs.n; i++)
        value_list_push(arena, list, value_text(strs.p[i]));
    return value_list(list);
}

static struct value restart_dump(struct arena *arena, const struct config_restart *restart)
{
    AUTO_BUF struct buf policy = BUF_INIT(BUF_NO_LIMIT);
    struct dump d = begin_dump(arena);

    if (restart->computed)
        return *restart->computed;
    policy_print(restart->policy.flags, &policy);
    put_dump_text(&d, "policy", &policy);
    put_dump_value(&d, "watch", strs_dump(arena, restart->watch));
    put_duration(&d, "delay", restart->policy.delay);
    put_dump_value(&d, "backoff", value_double(restart->policy.backoff));
    put_duration(&d, "max_delay", restart->policy.max_delay);
    if (restart->policy.grace_period >= 0)
        put_duration(&d, "grace_period", restart->policy.grace_period);
    return value_map(d.map);
}

static struct value health_dump(struct arena *arena, const struct config_health *health)
{
    struct dump d = begin_dump(arena);

    if (health->computed)
        return *health->computed;
    put_program(&d, &health->program);
    put_duration(&d, "interval", health->interval);
    put_duration(&d, "timeout", health->timeout);
    put_dump_value(&d, "retries", value_int(health->retries));
    put_duration(&d, "start_period", health->start_period);
    return value_map(d.map);
}

static struct value step_dump(struct arena *arena, const struct config_step *step)
{
    struct dump d = begin_dump(arena);

    put_given(&d, "if", step->condition);
    put_program(&d, &step->program);
    put_surroundings(&d, &step->program);
    if (step->output)
        put_dump_value(&d, "output", value_text(step->output));
    put_duration(&d, "timeout", step->timeout);
    return value_map(d.map);
}

static struct value hooks_dump(struct arena *arena, const struct config_service *service)
{
    struct dump d = begin_dump(arena);

    for (size_t p = 0; p < HOOK_PHASES; p++) {
        struct value_list *steps = value_list_new(arena, service->hooks[p].n);

        for (size_t i = 0; i < service->hooks[p].n; i++)
            value_list_push(arena, steps, step_dump(arena, &service->hooks[p].p[i]));
        if (service->hooks[p].n > 0)
            put_dump_value(&d, hook_phase_name((enum hook_phase)p), value_list(steps));
    }
    return value_map(d.map);
}

static struct value codes_dump(struct arena *arena, const struct condition_codes *codes)
{
    struct value_list *list = value_list_new(arena, codes->count);

    for (size_t i = 0; i < codes->count; i++) {
        const struct condition_range *range = &codes->ranges[i];
        char *text;

        if (range->first == range->last) {
            value_list_push(arena, list, value_int(range->first));
            continue;
        }
        text = arena_printf(arena, "%lld:%lld", (long long)range->first, (long long)range->last);
        value_list_push(arena, list, value_text(text));
    }
    return value_list(list);
}

static struct value states_dump(struct arena *arena, const struct config_service *service)
{
    struct dump all = begin_dump(arena);

    for (size_t i = 0; i < service->state_count; i++) {
        const struct config_state *state = &service->states[i];
        struct dump d = begin_dump(arena);

        if (state->timeout > 0)
            put_duration(&d, "timeout", state->timeout);
        put_dump_value(&d, "restart", value_bool(state->restart));
        put_dump_value(&all, state->name, value_map(d.map));
    }
    return value_map(all.map);
}

static struct value edges_dump(struct arena *arena, const struct config *config,
                               const struct config_service *service)
{
    struct dump all = begin_dump(arena);

    for (size_t i = 0; i < service->edge_count; i++) {
        const struct config_edge *edge = &service->edges[i];
        struct dump d = begin_dump(arena);

        put_dump_value(&d, "condition", value_text(condition_name(edge->condition)));
        if (edge->timeout > 0)
            put_duration(&d, "timeout", edge->timeout);
        put_dump_value(&d, "restart", value_bool(edge->restart));
        put_dump_value(&d, "allow_skipped", value_bool(edge->allow_skipped));
        put_dump_value(&d, "required", value_bool(!edge->optional));
        if (edge->codes.count > 0)
            put_dump_value(&d, "exit_code", codes_dump(arena, &edge->codes));
        put_dump_value(&all, config->services[edge->service].name, value_map(d.map));
    }
    if (service->state_count > 0)
        put_dump_value(&all, CONFIG_STATE_KEY, states_dump(arena, service));
    return value_map(all.map);
}

static struct value retention_dump(struct arena *arena, const struct config_logs *logs)
{
    static const char *const words[] = { [CONFIG_RETAIN] = "retain", [CONFIG_CLEAR] = "clear" };
    struct dump d = begin_dump(arena);

    put_dump_value(&d, "on_start", value_text(words[logs->on_start]));
    put_dump_value(&d, "on_stop", value_text(words[logs->on_stop]));
    put_dump_value(&d, "on_restart", value_text(words[logs->on_restart]));
    put_dump_value(&d, "on_success", value_text(words[logs->on_success]));
    put_dump_value(&d, "on_failure", value_text(words[logs->on_failure]));
    put_dump_value(&d, "on_skipped", value_text(words[logs->on_skipped]));
    return value_map(d.map);
}

static struct dump logs_dump(struct arena *arena, const struct config_logs *logs)
{
    struct dump d = begin_dump(arena), store = begin_dump(arena);

    put_dump_value(&store, "stdout", value_bool(logs->store_stdout));
    put_dump_value(&store, "stderr", value_bool(logs->store_stderr));
    put_dump_value(&d, "store", value_map(store.map));
    put_dump_value(&d, "retention", retention_dump(arena, logs));
    return d;
}

/* --- all of it --------------------------------------------------------------------------- */

static void put_stopping(struct dump *d, const struct config_service *service)
{
    AUTO_BUF struct buf name = BUF_INIT(BUF_NO_LIMIT), reload = BUF_INIT(BUF_NO_LIMIT);
    struct dump limit = begin_dump(d->arena);

    signal_print(service->stop_signal, &name);
    put_dump_text(d, "stop_signal", &name);
    signal_print(service->reload_signal, &reload);
    put_dump_text(d, "reload_signal", &reload);
    put_duration(d, "stop_grace_period",
                 policy_grace(&service->restart.policy, service->stop_grace_period, false));
    if (!service->start_limit_ends) {
        put_dump_value(d, "start_limit", value_null());
        return;
    }
    put_dump_value(&limit, "count", value_int(service->start_limit_count));
    put_duration(&limit, "interval", service->start_limit_interval);
    put_dump_value(d, "start_limit", value_map(limit.map));
}

/* --- rights ------------------------------------------------------------------------------ */

static struct value rules_dump(struct arena *arena, const struct acl_rules *rules)
{
    struct dump all = begin_dump(arena);

    VEC_EACH (&rules->list, rule) {
        struct dump d = begin_dump(arena);

        put_dump_value(&d, "allow", right_values(arena, rule->rights));
        put_given(&d, "authorize", rule->authorize);
        put_dump_value(&all, rule->who, value_map(d.map));
    }
    return value_map(all.map);
}

static struct value acl_dump(struct arena *arena, const struct acl *acl)
{
    struct dump d = begin_dump(arena);

    put_given(&d, "lua", acl->lua);
    put_dump_value(&d, "users", rules_dump(arena, &acl->users));
    put_dump_value(&d, "groups", rules_dump(arena, &acl->groups));
    return value_map(d.map);
}

static struct value permissions_dump(struct arena *arena, const struct config_permissions *from)
{
    struct dump d = begin_dump(arena);

    put_dump_value(&d, "allow", right_values(arena, from->allow));
    put_dump_value(&d, "hardening", value_text(hardening_name(from->hardening)));
    put_given(&d, "authorize", from->authorize);
    return value_map(d.map);
}

struct value config_dump_service(struct arena *arena, const struct config *config,
                                 const struct config_service *service)
{
    struct dump d = begin_dump(arena);

    put_given(&d, "if", service->condition);
    put_program(&d, &service->program);
    put_surroundings(&d, &service->program);
    put_dump_value(&d, "depends_on", edges_dump(arena, config, service));
    put_dump_value(&d, "restart", restart_dump(arena, &service->restart));
    if (service->health.given)
        put_dump_value(&d, "healthcheck", health_dump(arena, &service->health));
    put_dump_value(&d, "hooks", hooks_dump(arena, service));
    put_dump_value(&d, "logs",
                   service->logs_computed ? *service->logs_computed
                                          : value_map(logs_dump(arena, &service->logs).map));
    put_dump_value(&d, "output",
                   service->output_computed ? *service->output_computed
                                            : value_bool(service->output));
    put_given(&d, "outputs", service->outputs);
    put_stopping(&d, service);
    if (service->permissions.given)
        put_dump_value(&d, "permissions", permissions_dump(arena, &service->permissions));
    return value_map(d.map);
}

static struct value monitor_dump(struct arena *arena, const struct config_monitor *monitor)
{
    struct dump d = begin_dump(arena);

    put_duration(&d, "interval", monitor->interval);
    if (monitor->retention_period > 0)
        put_duration(&d, "retention_period", monitor->retention_period);
    put_duration(&d, "cleanup_interval", monitor->cleanup_interval);
    put_dump_value(&d, "max_size", value_int(monitor->max_size));
    return value_map(d.map);
}

struct value config_dump_kepler(struct arena *arena, const struct config *config)
{
    struct dump d = begin_dump(arena), logs = logs_dump(arena, &config->logs),
                kept = begin_dump(arena);

    put_given(&kept, "environment", config->kept);
    put_duration(&logs, "flush_interval", config->logs.flush_interval);
    put_duration(&logs, "cleanup_interval", config->logs.cleanup_interval);
    put_dump_value(&logs, "batch_size", value_int(config->logs.batch_size));
    if (config->logs.retention_period > 0)
        put_duration(&logs, "retention_period", config->logs.retention_period);
    if (config->logs.max_size > 0)
        put_dump_value(&logs, "max_size", value_int(config->logs.max_size));
    put_dump_value(&d, "default_inherit_env", value_bool(config->default_inherit_env));
    put_dump_value(&d, "autostart",
                   config->kept ? value_map(kept.map) : value_bool(config->autostart));
    if (config->timeout > 0)
        put_duration(&d, "timeout", config->timeout);
    put_dump_value(&d, "output_max_size", value_int(config->output_max_size));
    if (config->zester_data)
        put_dump_value(&d, "zester_data", value_text(config->zester_data));
    put_dump_value(&d, "storage", value_text(config->logs.sync ? "nfs" : "local"));
    put_dump_value(&d, "logs", value_map(logs.map));
    if (config->monitor.interval > 0)
        put_dump_value(&d, "monitor", monitor_dump(arena, &config->monitor));
    if (config->acl)
        put_dump_value(&d, "acl", acl_dump(arena, config->acl));
    return value_map(d.map);
}

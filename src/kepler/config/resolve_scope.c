#include "kepler/config/resolve_scope.h"

#include <math.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/words.h"
#include "language/lua/sandbox.h"
#include "core/sys/account.h"

static const char *const variables[] = {
    "service", "hook", "hooks", "deps", "kepler", "owner", NULL
};

/* --- tables --------------------------------------------------------------------------------- */

static void put_scope_value(struct resolver *r, struct value_map *map, const char *key,
                            struct value v)
{
    value_map_set(&r->tables, map, value_text(key), v);
}

static struct value vars_of(struct resolver *r, const struct environment *env)
{
    return environment_value(env, &r->tables);
}

static struct value_map *facts_table(struct resolver *r, const struct resolve_facts *facts,
                                     const struct environment *env)
{
    struct value_map *map = value_map_new(&r->tables, 10);

    put_scope_value(r, map, "status", value_text(status_name(facts->status)));
    if (facts->has_exit_code)
        put_scope_value(r, map, "exit_code", value_int(facts->exit_code));
    put_scope_value(r, map, "initialized", value_bool(facts->initialized));
    put_scope_value(r, map, "restart_count", value_int(facts->restart_count));
    put_scope_value(r, map, "restart_count_since_healthy",
                    value_int(facts->restart_count_since_healthy));
    put_scope_value(r, map, "env", vars_of(r, env));
    return map;
}

static struct value service_table(struct resolver *r)
{
    struct value_map *map = facts_table(r, &r->context->self, r->env);

    put_scope_value(r, map, "name", value_text(r->service->name));
    put_scope_value(r, map, "env_file", vars_of(r, r->env_file));
    if (r->context->hooks)
        put_scope_value(r, map, "hooks", *r->context->hooks);
    return value_map(map);
}

/* Outside of hooks a stub, so that hook.env.X is nil and no error. */
static struct value hook_table(struct resolver *r)
{
    struct value_map *map = value_map_new(&r->tables, 4);

    put_scope_value(r, map, "env", vars_of(r, r->hook_env));
    put_scope_value(r, map, "env_file", vars_of(r, r->hook_env_file));
    if (r->context->in_hook) {
        put_scope_value(r, map, "name", value_text(hook_phase_name(r->context->phase)));
        put_scope_value(r, map, "had_failure", value_bool(r->context->had_failure));
    }
    return value_map(map);
}

static struct value deps_table(struct resolver *r)
{
    struct value_map *map = value_map_new(&r->tables, r->context->dep_count);

    for (size_t i = 0; i < r->context->dep_count; i++) {
        const struct resolve_facts *dep = &r->context->deps[i];
        struct value_map *one = facts_table(r, dep, dep->env);

        put_scope_value(r, one, "outputs",
                        dep->outputs ? *dep->outputs : value_map(value_map_new(&r->tables, 0)));
        put_scope_value(r, map, dep->name, value_map(one));
    }
    return value_map(map);
}

static struct value kepler_table(struct resolver *r)
{
    struct value_map *map = value_map_new(&r->tables, 2);

    r->kepler_vars = config_vars(r->config, r->kepler_env, &r->tables);
    put_scope_value(r, map, "env", r->kepler_vars);
    put_scope_value(r, map, "flags", r->context->flags ? *r->context->flags : *r->config->flags);
    return value_map(map);
}

static const char *print_owner_name(struct resolver *r)
{
    const struct account *account = NULL;
    struct err err;

    if (!r->owner_known && account_find_uid(&r->own, r->config->owner.uid, &account, &err) == 0 &&
        account)
        r->owner_name = account->name;
    r->owner_known = true;
    return r->owner_name;
}

static struct value owner_table(struct resolver *r)
{
    struct value_map *map = value_map_new(&r->tables, 3);

    put_scope_value(r, map, "uid", value_int(r->config->owner.uid));
    put_scope_value(r, map, "gid", value_int(r->config->owner.gid));
    if (print_owner_name(r))
        put_scope_value(r, map, "user", value_text(print_owner_name(r)));
    return value_map(map);
}

/* Drop the guard with its map: the next map may have the same address. */
static void drop_guard(struct resolver *r)
{
    if (r->script.sandbox && r->kepler_vars.kind == VALUE_MAP)
        sandbox_guard(r->script.sandbox, &r->kepler_vars, NULL);
    r->kepler_vars = value_null();
}

static int provide_scope(void *user, struct sandbox *sandbox, struct err *err)
{
    struct resolver *r = user;

    drop_guard(r);
    arena_clear(&r->tables);

    const struct {
        const char *name;
        struct value v;
    } tables[] = {
        { "service", service_table(r) }, { "hook", hook_table(r) },   { "deps", deps_table(r) },
        { "kepler", kepler_table(r) },   { "owner", owner_table(r) },
    };

    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (sandbox_set(sandbox, tables[i].name, &tables[i].v, err) < 0)
            return -1;
    if (r->config->autostart)
        sandbox_guard(sandbox, &r->kepler_vars, "declare it in 'kepler.autostart.environment'");
    return sandbox_set(sandbox, "hooks", r->context->hooks, err);
}

/* --- status functions -------------------------------------------------------------------- */

/* NULL, and an error, when there is no such dependency. */
static const struct resolve_facts *find_dep(struct resolver *r, const char *function,
                                            const struct value *args, size_t count, struct err *err)
{
    if (count != 1 || args[0].kind != VALUE_STR) {
        (void)err_set(err, ERR_INVALID, "'%s' expects the name of a dependency", function);
        return NULL;
    }
    for (size_t i = 0; i < r->context->dep_count; i++)
        if (str_is(args[0].s, r->context->deps[i].name))
            return &r->context->deps[i];
    (void)err_set(err, ERR_NOT_FOUND, "'%s': '%.*s' is not a dependency of '%s'", function,
                  STR_ARG(args[0].s), r->service->name);
    return NULL;
}

static bool has_service_failed(const struct resolve_facts *facts)
{
    return facts->status == STATUS_FAILED || facts->status == STATUS_KILLED ||
           (facts->status == STATUS_EXITED && !(facts->has_exit_code && facts->exit_code == 0));
}

/* Running counts: it has not failed so far. */
static bool has_succeeded(const struct resolve_facts *facts)
{
    if (status_is_running(facts->status))
        return true;
    return (facts->status == STATUS_EXITED || facts->status == STATUS_STOPPED) &&
           facts->has_exit_code && facts->exit_code == 0;
}

static int fn_always(void *user, const struct value *args, size_t count, struct arena *arena,
                     struct value *ret, struct err *err)
{
    (void)user;
    (void)args;
    (void)arena;
    if (count > 0)
        return err_set(err, ERR_INVALID, "'always' takes no arguments");
    *ret = value_bool(true);
    return 0;
}

static int fn_success(void *user, const struct value *args, size_t count, struct arena *arena,
                      struct value *ret, struct err *err)
{
    struct resolver *r = user;
    const struct resolve_facts *dep;

    (void)arena;
    if (count == 0) {
        *ret = value_bool(!r->context->had_failure);
        return 0;
    }
    dep = find_dep(r, "success", args, count, err);
    if (!dep)
        return -1;
    *ret = value_bool(has_succeeded(dep));
    return 0;
}

static int fn_failure(void *user, const struct value *args, size_t count, struct arena *arena,
                      struct value *ret, struct err *err)
{
    struct resolver *r = user;
    const struct resolve_facts *dep;

    (void)arena;
    if (count == 0) {
        r->failure_asked = true;
        *ret = value_bool(r->context->had_failure);
        return 0;
    }
    dep = find_dep(r, "failure", args, count, err);
    if (!dep)
        return -1;
    *ret = value_bool(has_service_failed(dep));
    return 0;
}

static int fn_skipped(void *user, const struct value *args, size_t count, struct arena *arena,
                      struct value *ret, struct err *err)
{
    const struct resolve_facts *dep;

    (void)arena;
    dep = find_dep(user, "skipped", args, count, err);
    if (!dep)
        return -1;
    *ret = value_bool(dep->status == STATUS_SKIPPED);
    return 0;
}

static int open_functions(void *user, struct sandbox *sandbox, struct err *err)
{
    static const struct {
        const char *name;
        sandbox_fn *fn;
    } functions[] = {
        { "always", fn_always },
        { "success", fn_success },
        { "failure", fn_failure },
        { "skipped", fn_skipped },
    };

    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (sandbox_add_function(sandbox, functions[i].name, functions[i].fn, user, err) < 0)
            return -1;
    return 0;
}

/* --- a resolver, and one call of it ------------------------------------------------------ */

struct resolver *resolver_new(const struct config *config)
{
    struct resolver *r = mem_zalloc(sizeof(*r));

    r->config = config;
    script_init(&r->script, config, provide_scope, r);
    r->script.open = open_functions;
    return r;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    script_done(&r->script);
    arena_done(&r->tables);
    arena_done(&r->own);
    mem_free_auto(&r);
}

void resolver_set_cancel(struct resolver *r, const atomic_bool *canceled)
{
    r->script.canceled = canceled;
}

void resolve_scope_begin(struct resolver *r, const struct config_service *service,
                         const struct resolve_context *context, struct arena *arena,
                         struct diags *diags)
{
    r->service = service;
    r->context = context;
    r->arena = arena;
    r->diags = diags;
    r->kepler_env = context->kepler_env ? context->kepler_env : r->config->kepler_env;
    r->failure_asked = false;
    r->env = r->env_file = r->hook_env = r->hook_env_file = NULL;
    script_touch(&r->script);
}

void resolve_scope_end(struct resolver *r)
{
    drop_guard(r);
    script_forget(&r->script, variables);
    arena_clear(&r->tables);
    r->arena = NULL;
    r->diags = NULL;
    r->context = NULL;
}

int resolve_scope_eval(struct resolver *r, const struct value *v, struct value *ret)
{
    if (r->evaluated) {
        *ret = *v;
        return 0;
    }
    return script_eval(&r->script, v, r->arena, ret, r->diags);
}

int resolve_scope_print(struct resolver *r, const struct value *v, const char *key,
                        const char **ret_text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct words_cursor cursor = { 0 };
    struct str own;

    if (v->kind == VALUE_NULL) {
        *ret_text = NULL;
        return 0;
    }
    own = words_own(v, &cursor);
    if (own.p)
        buf_add_str(&out, own); /* 1.10 stays 1.10 */
    else if (v->kind == VALUE_DOUBLE && floor(v->d) == v->d && fabs(v->d) < 1e15)
        buf_printf(&out, "%.0f", v->d);
    else if (!words_print(&out, v))
        return value_diag(r->diags, v, "'%s' must be text, got %s", key, value_describe(v));
    if (memchr(buf_text(&out), '\0', out.n))
        return value_diag(r->diags, v, "'%s' contains a NUL byte", key);
    *ret_text = buf_copy(&out, r->arena).p;
    return 0;
}

int resolve_scope_text(struct resolver *r, const struct value *v, const char *key,
                       const char **ret_text)
{
    struct value evaluated;

    if (resolve_scope_eval(r, v, &evaluated) < 0)
        return -1;
    return resolve_scope_print(r, &evaluated, key, ret_text);
}

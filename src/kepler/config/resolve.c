#include "kepler/config/resolve.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "language/lua/expr.h"
#include "kepler/config/config_read.h"
#include "kepler/config/resolve_scope.h"

/* --- conditions -------------------------------------------------------------------------- */

/* As Lua has it: nil and false are false. */
static bool is_lua_true(const struct value *v)
{
    return v->kind != VALUE_NULL && !(v->kind == VALUE_BOOL && !v->b);
}

/* The expression without its marks. */
static struct str condition_text(const struct value *v)
{
    struct str text;

    if (v->kind != VALUE_STR)
        return STR("false");
    text = str_trim(v->s);
    if (!value_tag(v) && str_starts(text, STR(EXPR_OPEN)) && str_ends(text, STR(EXPR_CLOSE)))
        text = str_slice(text, strlen(EXPR_OPEN), text.n - strlen(EXPR_OPEN EXPR_CLOSE));
    return str_trim(text);
}

static int resolve_service_if(struct resolver *r, const struct config_service *service,
                              struct launch *launch)
{
    struct value result;

    if (!service->condition)
        return 0;
    if (resolve_scope_eval(r, service->condition, &result) < 0)
        return -1;
    if (is_lua_true(&result))
        return 0;
    launch->skipped = true;
    launch->reason = arena_printf(r->arena, "`if` condition evaluated to false: `%.*s`",
                                  STR_ARG(condition_text(service->condition)));
    return 0;
}

/* --- the environment of a service -------------------------------------------------------- */

/* Where to point when something is wrong with the user. */
static const struct value *user_place(const struct config_program *program)
{
    const struct value *given = program->user ? program->user : program->groups;

    return given ? given : program->command ? program->command : program->run;
}

/* Finds the account before the user is resolved, so that expressions can read HOME and similar: if
 * the file names the user literally, or it is the owner. Errors are reported when the user is
 * needed. */
static void seed_identity(struct resolver *r, const struct config_service *service,
                          struct environment *full)
{
    const struct value *user = service->program.user;
    const char *name = NULL;
    struct resolve_user who;
    struct diags unheard = DIAGS_INIT(r->arena);
    struct diags *heard = r->diags;

    if (!service->program.user_identity || (user && expr_is_dynamic(user)))
        return;
    r->diags = &unheard;
    if ((!user || resolve_scope_print(r, user, "user", &name) == 0) &&
        resolve_program_user(r, name, NULL, user_place(&service->program), &who) == 0 &&
        who.identity)
        environment_set_identity(full, who.identity);
    r->diags = heard;
}

struct building {
    struct environment *full, *child, *file;
};

static int build_environment(struct resolver *r, const struct config_service *service,
                             struct building *b)
{
    const struct config_program *program = &service->program;

    b->full = environment_copy(r->arena, r->kepler_env);
    b->child = program->inherit_env ? environment_share(r->arena, b->full)
                                    : environment_copy(r->arena, NULL);
    b->file = environment_copy(r->arena, NULL);
    r->env = b->full;
    r->env_file = b->file;
    seed_identity(r, service, b->full);
    return resolve_program_env(r, program, b->full, b->child, b->file);
}

/* --- users, with what a step or check inherits from its service -------------------------- */

struct inherited {
    const char *user;
    const struct value *groups;
};

/* Own user, else that of the service with its groups, else the owner. */
static int find_program_user(struct resolver *r, const struct config_program *program,
                             const struct inherited *from, struct inherited *ret_own,
                             struct resolve_user *ret)
{
    struct value *groups = NULL;
    const char *user = NULL;

    if (program->user && resolve_scope_text(r, program->user, "user", &user) < 0)
        return -1;
    if (program->groups) {
        groups = ARENA_NEW(r->arena, struct value);
        if (resolve_scope_eval(r, program->groups, groups) < 0)
            return -1;
        if (groups->kind == VALUE_NULL)
            groups = NULL;
    }
    ret_own->user = user && *user ? user : from->user;
    ret_own->groups = groups ? groups : user && *user ? NULL : from->groups;
    return resolve_program_user(r, ret_own->user, ret_own->groups, user_place(program), ret);
}

static void set_user(const struct resolve_user *who, struct launch_program *ret)
{
    ret->has_user = who->has_user;
    ret->user = who->user;
}

/* --- sections ---------------------------------------------------------------------------- */

/* The section as evaluated for this start. */
static int read_health(struct resolver *r, const struct config_service *service,
                       struct config_health *ret)
{
    const struct config_program_defaults defaults = { .inherit_env = true,
                                                      .no_new_privileges =
                                                          service->program.no_new_privileges };
    const char *owner = arena_printf(r->arena, "service '%s'", service->name);
    struct value evaluated;

    *ret = service->health;
    if (!ret->computed)
        return 0;
    if (resolve_scope_eval(r, service->health.computed, &evaluated) < 0)
        return -1;
    return config_health_read(r->arena, config_given(&evaluated), &defaults, owner, ret, r->diags);
}

static int resolve_check(struct resolver *r, const struct config_program *program,
                         const struct launch *launch, struct launch_program *ret)
{
    const struct inherited from = { launch->user, launch->groups };
    struct environment *env = environment_copy(r->arena, launch->child_env);
    struct inherited own;
    struct resolve_user who;

    if (find_program_user(r, program, &from, &own, &who) < 0 ||
        resolve_program_rest(r, program, launch->program.cwd, ret) < 0)
        return -1;
    if (program->user_identity && who.identity)
        environment_set_identity(env, who.identity);
    set_user(&who, ret);
    ret->env = environment_array(env, r->arena);
    return 0;
}

static int resolve_health(struct resolver *r, const struct config_service *service,
                          struct launch *launch)
{
    struct launch_health *ret = &launch->health;
    struct config_health health;
    int result;

    if (!service->health.given)
        return 0;
    if (read_health(r, service, &health) < 0)
        return -1;
    if (!health.given)
        return 0;
    r->evaluated = service->health.computed != NULL; /* evaluated as a whole: the result is data */
    result = resolve_check(r, &health.program, launch, &ret->program);
    r->evaluated = false;
    ret->given = true;
    ret->interval = health.interval;
    ret->timeout = health.timeout;
    ret->start_period = health.start_period;
    ret->retries = health.retries;
    return result;
}

static int resolve_restart(struct resolver *r, const struct config_service *service,
                           struct launch *launch)
{
    const char *owner = arena_printf(r->arena, "service '%s'", service->name);
    struct config_restart restart = service->restart;
    struct diags told = DIAGS_INIT(r->arena); /* when the file was loaded */
    struct value evaluated;

    if (restart.computed &&
        (resolve_scope_eval(r, restart.computed, &evaluated) < 0 ||
         config_restart_read(r->arena, &evaluated, owner, &restart, &told, r->diags) < 0))
        return -1;
    launch->policy = restart.policy;
    launch->watch = restart.watch;
    return 0;
}

static int resolve_logs(struct resolver *r, const struct config_service *service,
                        struct launch *launch)
{
    const char *owner = arena_printf(r->arena, "service '%s'", service->name);
    struct value evaluated;

    launch->logs = service->logs;
    if (!service->logs_computed)
        return 0;
    launch->logs = r->config->logs;
    if (resolve_scope_eval(r, service->logs_computed, &evaluated) < 0)
        return -1;
    return config_logs_read_service(r->arena, &evaluated, owner, &launch->logs, r->diags);
}

static int resolve_output(struct resolver *r, const struct config_service *service,
                          struct launch *launch)
{
    struct value evaluated;

    launch->output = service->output;
    if (!service->output_computed)
        return 0;
    if (resolve_scope_eval(r, service->output_computed, &evaluated) < 0)
        return -1;
    if (evaluated.kind != VALUE_BOOL && evaluated.kind != VALUE_NULL)
        return value_diag(r->diags, service->output_computed,
                          "'output' must be true or false, got %s", value_describe(&evaluated));
    launch->output = value_is_true(&evaluated);
    return 0;
}

/* --- a service --------------------------------------------------------------------------- */

static int resolve_program(struct resolver *r, const struct config_service *service,
                           struct building *b, struct launch *launch)
{
    static const struct inherited nothing = { 0 };
    struct inherited own;
    struct resolve_user who;
    int result = resolve_program_rest(r, &service->program, r->config->folder, &launch->program);

    if (find_program_user(r, &service->program, &nothing, &own, &who) < 0)
        return -1;
    if (service->program.user_identity && who.identity) {
        environment_set_identity(b->full, who.identity);
        environment_set_identity(b->child, who.identity);
        script_touch(&r->script);
    }
    set_user(&who, &launch->program);
    launch->user = own.user;
    launch->groups = own.groups;
    launch->program.env = environment_array(b->child, r->arena);
    launch->full_env = b->full;
    launch->child_env = b->child;
    launch->env_file = b->file;
    return result;
}

static int resolve_all(struct resolver *r, const struct config_service *service,
                       struct launch *launch)
{
    struct building b;
    int result = 0;

    if (build_environment(r, service, &b) < 0 || resolve_service_if(r, service, launch) < 0)
        return -1;
    if (launch->skipped)
        return 0;
    if (resolve_program(r, service, &b, launch) < 0)
        return -1;
    if (resolve_health(r, service, launch) < 0)
        result = -1;
    if (resolve_restart(r, service, launch) < 0)
        result = -1;
    if (resolve_logs(r, service, launch) < 0)
        result = -1;
    if (resolve_output(r, service, launch) < 0)
        result = -1;
    return result;
}

int resolve_service(struct resolver *r, const struct config_service *service,
                    const struct resolve_context *context, struct arena *arena,
                    struct launch *ret_launch, struct diags *diags)
{
    struct launch launch = { 0 };
    int result;

    resolve_scope_begin(r, service, context, arena, diags);
    result = resolve_all(r, service, &launch);
    resolve_scope_end(r);
    if (result == 0)
        *ret_launch = launch;
    return result;
}

/* --- a step ------------------------------------------------------------------------------ */

/* Decides whether the step runs. A condition that cannot be evaluated skips it, with a warning. */
static void resolve_step_if(struct resolver *r, const struct config_step *step,
                            struct launch_step *ret)
{
    struct diags own = DIAGS_INIT(r->arena);
    struct diags *diags = r->diags;
    struct value result;
    struct err err;

    if (!step->condition) {
        ret->run = !r->context->had_failure;
        return;
    }
    r->diags = &own;
    r->failure_asked = false; /* elsewhere in the step it has no meaning */
    if (resolve_scope_eval(r, step->condition, &result) == 0) {
        ret->run = is_lua_true(&result);
        ret->clears_failure = r->context->had_failure && r->failure_asked;
    } else {
        (void)diags_to_err(&own, &err);
        ret->warning = arena_strdup(r->arena, err.text);
    }
    r->diags = diags;
}

/* User and variables of the step, which its condition may refer to. */
static int resolve_step_env(struct resolver *r, const struct config_program *program,
                            const struct launch *launch, struct launch_program *ret)
{
    const struct inherited from = { launch->user, launch->groups };
    struct environment *env =
        environment_copy(r->arena, program->inherit_env ? launch->child_env : NULL);
    struct environment *file = environment_copy(r->arena, NULL);
    struct inherited own;
    struct resolve_user who;

    r->hook_env = env;
    r->hook_env_file = file;
    script_touch(&r->script);
    if (find_program_user(r, program, &from, &own, &who) < 0)
        return -1;
    if (program->user_identity && who.identity)
        environment_set_identity(env, who.identity);
    script_touch(&r->script);
    if (resolve_program_env(r, program, env, env, file) < 0)
        return -1;
    set_user(&who, ret);
    ret->env = environment_array(env, r->arena);
    return 0;
}

/* Mistakes in what a step needs count only when it runs. */
static int resolve_step_all(struct resolver *r, const struct config_step *step,
                            const struct launch *launch, struct launch_step *ret)
{
    struct diags own = DIAGS_INIT(r->arena);
    struct diags *diags = r->diags;
    int result;

    r->diags = &own;
    result = resolve_step_env(r, &step->program, launch, &ret->program);
    r->diags = diags;
    resolve_step_if(r, step, ret);
    if (!ret->run)
        return 0;
    VEC_EACH (&own.list, one)
        VEC_PUSH_IN(diags->arena, &diags->list, *one);
    if (result < 0)
        return -1;
    return resolve_program_rest(r, &step->program, launch->program.cwd, &ret->program);
}

int resolve_step(struct resolver *r, const struct config_service *service,
                 const struct config_step *step, const struct launch *launch,
                 const struct resolve_context *context, struct arena *arena,
                 struct launch_step *ret_step, struct diags *diags)
{
    struct launch_step made = { .output = step->output, .timeout = step->timeout };
    int result;

    resolve_scope_begin(r, service, context, arena, diags);
    r->env = launch->full_env;
    r->env_file = launch->env_file;
    result = resolve_step_all(r, step, launch, &made);
    resolve_scope_end(r);
    if (result == 0)
        *ret_step = made;
    return result;
}

/* --- outputs ----------------------------------------------------------------------------- */

static int declare_output(struct resolver *r, const struct value_pair *pair, struct value_map *map)
{
    const char *text;

    if (resolve_scope_text(r, &pair->value, "outputs", &text) < 0)
        return -1;
    if (!text)
        return 0;
    if ((int64_t)strlen(text) > r->config->output_max_size)
        return value_diag(r->diags, &pair->value,
                          "output '%.*s' is longer than 'output_max_size' (%lld bytes)",
                          STR_ARG(pair->key.s), (long long)r->config->output_max_size);
    value_map_set(r->arena, map, pair->key, value_text(text));
    return 0;
}

int resolve_outputs(struct resolver *r, const struct config_service *service,
                    const struct value *process, const struct launch *launch,
                    const struct resolve_context *context, struct arena *arena,
                    struct value *ret_outputs, struct diags *diags)
{
    struct value_map *map = value_map_new(arena, 8);
    int result = 0;

    for (size_t i = 0; process && i < process->map->count; i++)
        value_map_set(arena, map, process->map->pairs[i].key, process->map->pairs[i].value);
    resolve_scope_begin(r, service, context, arena, diags);
    r->env = launch->full_env;
    r->env_file = launch->env_file;
    for (size_t i = 0; service->outputs && i < service->outputs->map->count; i++)
        if (declare_output(r, &service->outputs->map->pairs[i], map) < 0)
            result = -1;
    resolve_scope_end(r);
    if (result == 0)
        *ret_outputs = value_map(map);
    return result;
}

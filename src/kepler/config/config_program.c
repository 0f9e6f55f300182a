/* Command, folder and user: shapes of values that may be computed, and limits. */
#include <string.h>

#include "core/base/diag.h"
#include "core/data/scalar.h"
#include "language/lua/expr.h"
#include "kepler/config/compose.h"
#include "kepler/config/config_read.h"
#include "kepler/config/environment.h"

/* --- shared by all sections ----------------------------------------------------------------- */

const struct value *config_given(const struct value *v)
{
    return v && v->kind != VALUE_NULL ? v : NULL;
}

/* Recurses as deep as YAML allows. */
const struct value *config_static(struct arena *arena, const struct value *v)
{
    struct value_map *map;
    struct value *made;

    if (v->kind != VALUE_MAP || !expr_is_dynamic(v))
        return v;
    map = value_map_new(arena, v->map->count);
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];

        if (pair->value.kind == VALUE_MAP && !value_tag(&pair->value))
            value_map_set(arena, map, pair->key, *config_static(arena, &pair->value));
        else if (!expr_is_dynamic(&pair->value))
            value_map_set(arena, map, pair->key, pair->value);
        else /* still check the key */
            value_map_set(arena, map, pair->key, value_at(value_null(), &pair->value));
    }
    made = ARENA_NEW(arena, struct value);
    *made = value_at(value_map(map), v);
    return made;
}

struct params_policy config_policy(const char *owner)
{
    return (struct params_policy){
        .strict = true, .foreign = compose_keys, .owner = owner, .noun = "key"
    };
}

/* --- shapes ----------------------------------------------------------------------------------- */

static bool is_config_computed(const struct value *v)
{
    return expr_is_dynamic(v) && (v->kind == VALUE_STR || value_tag(v));
}

static int check_program_text(const struct value *v, const char *key, struct diags *diags)
{
    if (is_config_computed(v))
        return 0;
    if (v->kind != VALUE_STR) {
        (void)value_diag(diags, v, "'%s' must be text, got %s", key, value_describe(v));
        if (v->kind == VALUE_INT || v->kind == VALUE_BOOL || v->kind == VALUE_DOUBLE)
            diag_hint(diags, "put it in quotes");
        return -1;
    }
    if (v->s.n == 0)
        return value_diag(diags, v, "'%s' must not be empty", key);
    if (memchr(v->s.p, '\0', v->s.n))
        return value_diag(diags, v, "'%s' must not contain a NUL byte", key);
    return 0;
}

/* Users and groups are names or numbers. */
static int check_account(const struct value *v, const char *key, struct diags *diags)
{
    if (v->kind == VALUE_INT)
        return v->i >= 0 ? 0
                         : value_diag(diags, v, "'%s' must be a name or number, got %lld", key,
                                      (long long)v->i);
    return check_program_text(v, key, diags);
}

typedef int check_fn(const struct value *v, const char *key, struct diags *diags);

static int check_items(const struct value *v, const char *key, check_fn *check, struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < v->list->count; i++)
        if (check(&v->list->items[i], key, diags) < 0)
            result = -1;
    return result;
}

/* Arguments may be empty texts. */
static int check_argument(const struct value *v, const char *key, struct diags *diags)
{
    if (v->kind == VALUE_STR && v->s.n == 0)
        return 0;
    return check_program_text(v, key, diags);
}

static int check_program_command(const struct value *v, const char *key, struct diags *diags)
{
    if (is_config_computed(v))
        return 0;
    if (v->kind != VALUE_LIST) {
        (void)value_diag(diags, v, "'%s' must be a list of strings, got %s", key,
                         value_describe(v));
        if (v->kind == VALUE_STR)
            diag_hint(diags, "use 'run' for a shell command");
        return -1;
    }
    return check_items(v, key, check_argument, diags);
}

static int check_program_groups(const struct value *v, const char *key, struct diags *diags)
{
    if (is_config_computed(v))
        return 0;
    if (v->kind != VALUE_LIST)
        return value_diag(diags, v, "'%s' must be a list of groups, got %s", key,
                          value_describe(v));
    return check_items(v, key, check_account, diags);
}

/* "NAME=value"; a dynamic part after the name does not matter. */
static int check_environment_pair(const struct value *v, const char *key, struct diags *diags)
{
    struct str name, value;

    if (is_config_computed(v) && str_starts(str_trim(v->s), STR(EXPR_OPEN)))
        return 0;
    if (value_tag(v))
        return 0;
    if (v->kind != VALUE_STR)
        return value_diag(diags, v, "'%s' must be NAME=value, got %s", key, value_describe(v));
    value = v->s;
    name = str_cut(&value, '=');
    if (value.p && environment_is_name(name))
        return 0;
    (void)value_diag(diags, v, "'%s' must be NAME=value, got '%.*s'", key,
                     STR_ARG(str_slice(v->s, 0, 100)));
    if (!value.p && environment_is_name(name))
        diag_hint(diags, "write '%.*s=${{ kepler.env.%.*s }}$' to pass it on", STR_ARG(name),
                  STR_ARG(name));
    return -1;
}

static int check_environment_entry(const struct value_pair *pair, const char *key,
                                   struct diags *diags)
{
    if (pair->key.kind != VALUE_STR || !environment_is_name(pair->key.s))
        return value_diag(diags, &pair->key, "'%s' must be names of variables as keys", key);
    if ((pair->value.kind == VALUE_LIST || pair->value.kind == VALUE_MAP) &&
        !value_tag(&pair->value))
        return value_diag(diags, &pair->value, "'%s' requires text for '%.*s', got %s", key,
                          STR_ARG(pair->key.s), value_describe(&pair->value));
    return 0;
}

static int check_program_environment(const struct value *v, const char *key, struct diags *diags)
{
    int result = 0;

    if (is_config_computed(v))
        return 0;
    if (v->kind == VALUE_LIST)
        return check_items(v, key, check_environment_pair, diags);
    if (v->kind != VALUE_MAP)
        return value_diag(diags, v, "'%s' must be a list of NAME=value or a map, got %s", key,
                          value_describe(v));
    for (size_t i = 0; i < v->map->count; i++)
        if (check_environment_entry(&v->map->pairs[i], key, diags) < 0)
            result = -1;
    return result;
}

/* The expression with its marks. */
static const struct value *mark_condition(struct arena *arena, const struct value *v)
{
    struct value *made = ARENA_NEW(arena, struct value);

    *made =
        value_at(value_text(arena_printf(arena, EXPR_OPEN " %.*s " EXPR_CLOSE, STR_ARG(v->s))), v);
    return made;
}

/* A word such as 'yes' would be an undefined name, and therefore nil. */
static bool is_lua_expression(struct str text)
{
    return str_is(text, "true") || str_is(text, "false") || (text.n > 0 && scalar_is_text(text));
}

const struct value *config_condition_read(struct arena *arena, const struct value *v,
                                          struct diags *diags)
{
    if (!config_given(v) || v->kind == VALUE_BOOL || expr_is_whole(v))
        return config_given(v);
    if (v->kind == VALUE_STR && !expr_is_dynamic(v) && is_lua_expression(str_trim(v->s)))
        return mark_condition(arena, v);
    (void)value_diag(diags, v, "'if' must be true, false or an expression, got %s",
                     v->kind != VALUE_STR ? value_describe(v)
                     : expr_is_dynamic(v) ? "text with expressions in it"
                                          : arena_printf(arena, "'%.*s'", STR_ARG(v->s)));
    if (v->kind == VALUE_STR && expr_is_dynamic(v))
        diag_hint(diags, "put all of it into one '" EXPR_OPEN "' and '" EXPR_CLOSE "'");
    return NULL;
}

/* --- limits ------------------------------------------------------------------------------ */

#define ARGS struct config_limits
const struct param config_limit_params[] = {
    PARAM("memory", SIZE, ARGS, memory, "address space of a process", PARAM_RANGE(4096, INT64_MAX)),
    PARAM("cpu_time", INT, ARGS, cpu_time, "seconds of CPU time", PARAM_RANGE(1, INT32_MAX)),
    PARAM("max_fds", INT, ARGS, max_fds, "open files", PARAM_RANGE(3, INT32_MAX)),
    { 0 },
};
#undef ARGS

int config_limits_read(struct arena *arena, const struct value *v, const char *owner,
                       struct config_limits *ret, struct diags *diags)
{
    struct params_policy policy = config_policy(arena_printf(arena, "'limits' of %s", owner));

    *ret = (struct config_limits){ .computed = expr_is_dynamic(v) ? v : NULL };
    if (is_config_computed(v))
        return value_diag(diags, v, "'limits' cannot be computed as a whole, but 'memory' can");
    return params_decode(arena, config_limit_params, &policy, config_static(arena, v), ret, diags);
}

/* --- all of it --------------------------------------------------------------------------- */

static int check_one_program(const struct config_program *program, const char *owner,
                             const struct value *where, struct diags *diags)
{
    if (program->command && program->run) {
        (void)value_diag(diags, program->run, "%s: 'command' and 'run' are mutually exclusive",
                         owner);
        diag_note(diags, value_place(program->command), "'command' is here");
        return -1;
    }
    if (!program->command && !program->run)
        return value_diag(diags, where, "%s needs 'command' or 'run'", owner);
    if (!program->may_be_empty && program->command && program->command->kind == VALUE_LIST &&
        program->command->list->count == 0)
        return value_diag(diags, program->command, "'command' must not be empty");
    return 0;
}

static int check_fields(const struct config_program *program, struct diags *diags)
{
    const struct {
        const struct value *v;
        const char *key;
        check_fn *check;
    } fields[] = {
        { program->command, "command", check_program_command },
        { program->run, "run", check_program_text },
        { program->user, "user", check_account },
        { program->groups, "groups", check_program_groups },
        { program->working_dir, "working_dir", check_program_text },
        { program->environment, "environment", check_program_environment },
        { program->env_file, "env_file", check_program_text },
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].v && fields[i].check(fields[i].v, fields[i].key, diags) < 0)
            result = -1;
    return result;
}

int config_program_read(struct arena *arena, const struct config_program_args *args,
                        const struct config_program_defaults *defaults, const char *owner,
                        const struct value *where, struct config_program *ret, struct diags *diags)
{
    const struct value *limits = config_given(args->limits);
    int result = 0;

    *ret = (struct config_program){
        .command = config_given(args->command),
        .run = config_given(args->run),
        .user = config_given(args->user),
        .groups = config_given(args->groups),
        .working_dir = config_given(args->working_dir),
        .environment = config_given(args->environment),
        .env_file = config_given(args->env_file),
        .inherit_env = param_choose(args->inherit_env, defaults->inherit_env),
        .user_identity = param_choose(args->user_identity, true),
        .no_new_privileges = param_choose(args->no_new_privileges, defaults->no_new_privileges),
        .may_be_empty = defaults->may_be_empty,
    };
    if (check_one_program(ret, owner, where, diags) < 0)
        result = -1;
    if (check_fields(ret, diags) < 0)
        result = -1;
    if (limits && config_limits_read(arena, limits, owner, &ret->limits, diags) < 0)
        result = -1;
    return result;
}

#include "kepler/config/environment.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "core/sys/account.h"

/* Variables that most copies get on top. */
enum { COPY_ROOM = 8 };

void environment_init(struct environment *env, struct arena *arena)
{
    *env = (struct environment){ .arena = arena, .vars = MAP_INIT_IN(arena) };
}

struct environment *environment_copy(struct arena *arena, const struct environment *env)
{
    struct environment *copy = ARENA_NEW(arena, struct environment);

    environment_init(copy, arena);
    if (env) {
        map_reserve(&copy->vars, map_count(&env->vars) + COPY_ROOM);
        environment_merge(copy, env);
    }
    return copy;
}

struct environment *environment_share(struct arena *arena, const struct environment *env)
{
    struct environment *shared = ARENA_NEW(arena, struct environment);

    environment_init(shared, arena);
    map_reserve(&shared->vars, map_count(&env->vars) + COPY_ROOM);
    MAP_EACH (&env->vars, entry)
        (void)map_set(&shared->vars, entry->key, entry->value);
    return shared;
}

bool environment_is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '=' || (unsigned char)name.p[i] <= ' ')
            return false;
    return name.n > 0;
}

void environment_set(struct environment *env, struct str name, struct str value)
{
    char *text = arena_strndup(env->arena, value.p ? value.p : "", value.n);

    if (!map_has(&env->vars, name))
        name = arena_str(env->arena, name);
    (void)map_set(&env->vars, name, text);
}

int environment_add(struct environment *env, struct str pair, struct err *err)
{
    struct str value = pair;
    struct str name = str_cut(&value, '=');

    if (!value.p)
        return err_set(err, ERR_INVALID, "must be NAME=value, got '%.*s'",
                       STR_ARG(str_slice(pair, 0, 100)));
    if (!environment_is_name(name))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid variable name",
                       STR_ARG(str_slice(name, 0, 100)));
    if (memchr(pair.p, '\0', pair.n))
        return err_set(err, ERR_INVALID, "the value of '%.*s' contains a NUL byte", STR_ARG(name));
    if (pair.n >= ENVIRONMENT_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "the value of '%.*s' is longer than %zu KiB",
                       STR_ARG(str_slice(name, 0, 100)), ENVIRONMENT_TEXT_MAX >> 10);
    environment_set(env, name, value);
    return 0;
}

void environment_merge(struct environment *env, const struct environment *over)
{
    MAP_EACH (&over->vars, entry)
        environment_set(env, entry->key, str_from(entry->value));
}

void environment_merge_array(struct environment *env, const char *const *pairs)
{
    struct err err;

    for (; pairs && *pairs; pairs++)
        (void)environment_add(env, str_from(*pairs), &err); /* skip invalid entries of the caller */
}

void environment_capture(struct environment *env, const struct environment *caller)
{
    MAP_EACH (&caller->vars, entry)
        if (!str_is(entry->key, "KEPLER_TOKEN") && !str_is(entry->key, "KEPLER_SOCKET_PATH"))
            environment_set(env, entry->key, str_from(entry->value));
}

void environment_set_identity(struct environment *env, const struct account *account)
{
    const struct {
        struct str name;
        const char *value;
    } identity[] = {
        { STR("HOME"), account->home },
        { STR("USER"), account->name },
        { STR("LOGNAME"), account->name },
        { STR("SHELL"), account->shell },
    };

    for (size_t i = 0; i < ARRAY_LEN(identity); i++)
        if (identity[i].value)
            environment_set(env, identity[i].name, str_from(identity[i].value));
}

const char *environment_find(const struct environment *env, struct str name)
{
    return map_find(&env->vars, name);
}

size_t environment_count(const struct environment *env)
{
    return map_count(&env->vars);
}

const char *const *environment_array(const struct environment *env, struct arena *arena)
{
    const char **array = ARENA_ARRAY(arena, const char *, map_count(&env->vars) + 1);
    size_t n = 0;

    MAP_EACH (&env->vars, entry)
        array[n++] = arena_printf(arena, "%.*s=%s", STR_ARG(entry->key), (char *)entry->value);
    return array;
}

const char *const *environment_array_with(struct arena *arena, const char *const *pairs,
                                          const char *name, const char *value)
{
    const size_t length = strlen(name);
    VEC(const char *) list = VEC_INIT;

    for (; *pairs; pairs++)
        if (strncmp(*pairs, name, length) != 0 || (*pairs)[length] != '=')
            VEC_PUSH_IN(arena, &list, *pairs);
    VEC_PUSH_IN(arena, &list, arena_printf(arena, "%s=%s", name, value));
    VEC_PUSH_IN(arena, &list, NULL);
    return list.p;
}

struct value environment_value(const struct environment *env, struct arena *arena)
{
    struct value_map *map = value_map_new(arena, env ? map_count(&env->vars) : 0);

    if (env)
        MAP_EACH (&env->vars, entry)
            value_map_set(arena, map, value_str(entry->key), value_text(entry->value));
    return value_map(map);
}

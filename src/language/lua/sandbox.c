#include "language/lua/sandbox.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "language/lua/convert.h"
#include "language/lua/frozen.h"
#include "language/lua/lib.h"
#include "language/lua/proxy.h"
#include "language/lua/state.h"

/* Maximum size of texts put together outside of Lua: JSON, paths. */
#define TEXT_MAX ((size_t)64 << 20)

/* Keys of the registry. */
static const char user_key, base_key, cache_key, env_key, cell_key;

/* A function whose one upvalue is new at each call. A compiled chunk takes it over as its
 * environment, so that functions made by an earlier run keep theirs. */
static const char cell_code[] = "local env = ... return function() return env end";

struct sandbox *state_of(lua_State *L)
{
    return container_of(limits_of(L), struct sandbox, limits);
}

void state_push_user(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &user_key);
}

void state_push_base(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &base_key);
}

void state_push_cache(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cache_key);
}

void state_clear_cache(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cache_key);
}

/* --- names ------------------------------------------------------------------------- */

void state_missed(lua_State *L, const struct lua_variable *variable, const struct value *parent,
                  int key)
{
    struct miss *miss = &state_of(L)->miss;
    struct str name = { "", 0 };

    if (lua_type(L, key) == LUA_TSTRING)
        name.p = lua_tolstring(L, key, &name.n);
    name = str_slice(name, 0, sizeof(miss->key) - 1);
    miss->variable = variable;
    miss->parent = parent;
    memcpy(miss->key, name.p, name.n);
    miss->key[name.n] = '\0';
}

/* Rarely used libraries: opened when their name is first used. */
static const struct {
    const char *name;
    void (*open)(lua_State *L);
} later[] = {
    { "coroutine", lib_open_coroutine }, { "utf8", lib_open_utf8 }, { "math", lib_open_math },
    { "bit32", lib_open_bit32 },         { "os", lib_open_os },     { "json", lib_open_data },
    { "yaml", lib_open_data },
};

const char *state_later_name(size_t i)
{
    return i < ARRAY_LEN(later) ? later[i].name : NULL;
}

/* __index of base: an unknown bare name is nil. */
static int on_unknown_name(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";

    for (size_t i = 0; i < ARRAY_LEN(later); i++) {
        if (strcmp(later[i].name, name) != 0)
            continue;
        lua_settop(L, 2);
        lua_pushvalue(L, 1);
        later[i].open(L);
        lua_pushvalue(L, 2);
        lua_rawget(L, 1);
        return 1;
    }
    state_missed(L, NULL, NULL, 2);
    return 0;
}

/* __newindex of environments: names of the library and of the caller cannot be changed. */
static int on_global_write(lua_State *L)
{
    state_push_base(L);
    lua_pushvalue(L, 2);
    if (lua_gettable(L, -2) != LUA_TNIL)
        return luaL_error(L, "'%s' is read-only", luaL_tolstring(L, 2, NULL));
    if (state_of(L)->sealed)
        return luaL_error(L, "the global '%s' cannot be set here: use 'local'",
                          luaL_tolstring(L, 2, NULL));
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

void state_give_env(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cell_key);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &env_key);
    lua_setmetatable(L, -2);
    lua_call(L, 1, 1);
    lua_upvaluejoin(L, -2, 1, -1, 1);
    lua_pop(L, 1);
}

void state_give_user(lua_State *L)
{
    state_push_user(L);
    (void)lua_setupvalue(L, -2, 1);
}

/* --- setting up ---------------------------------------------------------------------- */

static void open_tables(lua_State *L)
{
    lua_createtable(L, 0, 64); /* base */
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, on_unknown_name);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &base_key);

    lua_newtable(L); /* user */
    lua_pushvalue(L, -2);
    frozen_push_env(L, on_global_write);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &user_key);
    frozen_push_env(L, on_global_write);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &env_key);
    if (luaL_loadbufferx(L, cell_code, sizeof(cell_code) - 1, "=cell", "t") != LUA_OK)
        lua_error(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cell_key);

    state_clear_cache(L);
}

static int open_sandbox_libraries(lua_State *L)
{
    open_tables(L); /* leaves base on top */
    proxy_open(L);
    lib_open_base(L);
    lib_open_string(L);
    lib_open_table(L);
    if (!state_of(L)->options.strict) {
        lua_newtable(L);
        lua_setfield(L, -2, "global");
    }
    return 0;
}

/* The globals of the top-level chunk move behind the table that its functions know, which stays
 * empty: so every assignment is a new name, and refused. */
static int seal_user(lua_State *L)
{
    lua_settop(L, 0);
    state_push_user(L);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pushvalue(L, -2);
        lua_rotate(L, -2, 1);
        lua_rawset(L, 2);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, 1); /* a field may be cleared during a walk */
    }
    lua_getmetatable(L, 1);
    lua_setmetatable(L, 2);
    frozen_push_env(L, on_global_write);
    lua_setmetatable(L, 1);
    return 0;
}

/* Outside of a script nothing may raise: run `fn` protected. It fails only by the memory limit,
 * which then applies to memory allocated by scripts. */
static int run_protected(struct sandbox *sandbox, lua_CFunction fn, void *argument)
{
    int failed;

    limits_begin(&sandbox->limits, sandbox->L);
    lua_pushcfunction(sandbox->L, fn);
    lua_pushlightuserdata(sandbox->L, argument);
    failed = lua_pcall(sandbox->L, 1, 0, 0);
    lua_settop(sandbox->L, 0);
    return failed;
}

struct sandbox *sandbox_new(const struct sandbox_options *options)
{
    struct sandbox *sandbox = mem_zalloc(sizeof(*sandbox));
    struct limits *limits = &sandbox->limits;

    if (options)
        sandbox->options = *options;
    options = &sandbox->options;
    sandbox->text = (struct buf)BUF_INIT(TEXT_MAX);
    limits->steps = limits->steps_max = INT64_MAX; /* while it is set up */
    limits->memory_max = options->memory_max ? options->memory_max : SANDBOX_MEMORY_DEFAULT;
    if (limits->memory_max < SANDBOX_MEMORY_MIN)
        limits->memory_max = SANDBOX_MEMORY_MIN;
    sandbox->L = lua_newstate(limits_alloc, limits);
    *(struct limits **)lua_getextraspace(sandbox->L) = limits;
    lua_gc(sandbox->L, LUA_GCSTOP); /* there is no garbage yet */
    if (run_protected(sandbox, open_sandbox_libraries, NULL) != LUA_OK)
        abort(); /* SANDBOX_MEMORY_MIN is too small: a bug */
    lua_gc(sandbox->L, LUA_GCRESTART);
    limits->steps_max = options->steps_max > 0 ? options->steps_max : SANDBOX_STEPS_DEFAULT;
    limits->nanoseconds_max =
        options->nanoseconds_max > 0 ? options->nanoseconds_max : SANDBOX_TIME_DEFAULT;
    limits->clock = options->clock;
    limits->clock_user = options->user;
    return sandbox;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    lua_close(sandbox->L);
    vec_done(&sandbox->variables);
    vec_done(&sandbox->guards);
    vec_done(&sandbox->chunks);
    buf_done(&sandbox->text);
    arena_done(&sandbox->scratch);
    arena_done(&sandbox->arena);
    free(sandbox);
}

int sandbox_seal(struct sandbox *sandbox, struct err *err)
{
    if (run_protected(sandbox, seal_user, NULL) != LUA_OK)
        return limits_error(&sandbox->limits, err);
    sandbox->sealed = true;
    return 0;
}

size_t sandbox_memory(const struct sandbox *sandbox)
{
    return sandbox->limits.memory;
}

/* --- variables ------------------------------------------------------------------------ */

static struct lua_variable *get_variable(struct sandbox *sandbox, const char *name)
{
    struct lua_variable *variable;

    VEC_EACH (&sandbox->variables, known)
        if (strcmp((*known)->name, name) == 0)
            return *known;
    variable = ARENA_NEW(&sandbox->arena, struct lua_variable);
    variable->name = arena_strdup(&sandbox->arena, name);
    VEC_PUSH(&sandbox->variables, variable);
    return variable;
}

static int show_variable(lua_State *L)
{
    struct lua_variable *variable = lua_touserdata(L, 1);

    state_push_base(L);
    proxy_push(L, variable, &variable->value);
    lua_setfield(L, -2, variable->name);
    return 0;
}

static int hide_variable(lua_State *L)
{
    const struct lua_variable *variable = lua_touserdata(L, 1);

    state_push_base(L);
    lua_pushnil(L);
    lua_setfield(L, -2, variable->name);
    return 0;
}

int sandbox_set(struct sandbox *sandbox, const char *name, const struct value *v, struct err *err)
{
    struct lua_variable *variable = get_variable(sandbox, name);

    variable->generation++;
    variable->value = v ? *v : value_null();
    if (run_protected(sandbox, v ? show_variable : hide_variable, variable) == LUA_OK)
        return 0;
    variable->value = value_null(); /* older values of this name are out of date */
    (void)limits_error(&sandbox->limits, err);
    return err_wrap(err, "set '%s'", name);
}

void sandbox_guard(struct sandbox *sandbox, const struct value *map, const char *why)
{
    struct guard guard = { map->map, why ? arena_strdup(&sandbox->arena, why) : NULL };

    VEC_EACH (&sandbox->guards, known)
        if (known->map == map->map) {
            *known = guard;
            return;
        }
    VEC_PUSH(&sandbox->guards, guard);
}

/* --- functions ------------------------------------------------------------------------- */

static int call_back(lua_State *L)
{
    struct sandbox *sandbox = state_of(L);
    const struct callback *callback = lua_touserdata(L, lua_upvalueindex(1));
    size_t count = (size_t)lua_gettop(L);
    struct value result = value_null();
    struct value *args;
    struct err err;

    limits_charge(L, 100); /* a call out of Lua is always charged */
    luaL_argcheck(L, count <= SANDBOX_ARGUMENTS_MAX, SANDBOX_ARGUMENTS_MAX, "too many arguments");
    arena_clear(&sandbox->scratch);
    args = ARENA_ARRAY(&sandbox->scratch, struct value, count);
    for (size_t i = 0; i < count; i++)
        if (convert_pull(L, (int)i + 1, &sandbox->scratch, &args[i], &err) < 0)
            return luaL_error(L, "argument %d of '%s': %s", (int)i + 1, callback->name, err.text);
    if (callback->fn(callback->user, args, count, &sandbox->scratch, &result, &err) < 0)
        return luaL_error(L, "%s", err.text);
    convert_push(L, &result);
    return 1;
}

/* "os.getgroups" goes into the content of the frozen table 'os', "always" into base. */
static int add_sandbox_function(lua_State *L)
{
    struct callback *callback = lua_touserdata(L, 1);
    struct str name = str_from(callback->name);
    size_t dot = str_find_char(name, '.', 0);

    state_push_base(L);
    if (dot != STR_NONE) {
        lua_pushlstring(L, name.p, dot);
        lua_gettable(L, -2);
        if (!frozen_push(L, -1))
            return luaL_error(L, "no such library");
        name = str_from_offset(name, dot + 1);
    }
    lua_pushlstring(L, name.p, name.n);
    lua_pushlightuserdata(L, callback);
    lua_pushcclosure(L, call_back, 1);
    lua_rawset(L, -3);
    return 0;
}

int sandbox_add_function(struct sandbox *sandbox, const char *name, sandbox_fn *fn, void *user,
                         struct err *err)
{
    struct callback *callback = ARENA_NEW(&sandbox->arena, struct callback);

    *callback = (struct callback){ arena_strdup(&sandbox->arena, name), fn, user };
    if (run_protected(sandbox, add_sandbox_function, callback) == LUA_OK)
        return 0;
    return err_set(err, ERR_INVALID, "add the Lua function '%s'", name);
}

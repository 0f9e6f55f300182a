/* Functions without a table, and coroutines. */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <string.h>

#include "language/lua/frozen.h"
#include "language/lua/proxy.h"
#include "language/lua/state.h"

/* Larger numbers are written with an exponent. */
#define WHOLE_MAX 1e15

void lib_publish(lua_State *L, const char *name)
{
    frozen_wrap(L, name);
    lua_setfield(L, -2, name);
}

bool lib_is_whole(lua_State *L, int index, lua_Integer *ret)
{
    lua_Number d;

    if (lua_type(L, index) != LUA_TNUMBER || lua_isinteger(L, index))
        return false;
    d = lua_tonumber(L, index);
    if (!(fabs(d) < WHOLE_MAX) || floor(d) != d)
        return false;
    *ret = (lua_Integer)d;
    return true;
}

void lib_push_text(lua_State *L, int index)
{
    lua_Integer i;

    if (lib_is_whole(L, index, &i))
        lua_pushfstring(L, "%I", (LUAI_UACINT)i);
    else
        (void)luaL_tolstring(L, index, NULL);
}

static int base_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    lib_push_text(L, 1);
    return 1;
}

static int base_type(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushstring(L, proxy_is(L, 1) ? "table" : luaL_typename(L, 1));
    return 1;
}

static int base_next(lua_State *L)
{
    bool found;

    lua_settop(L, 2);
    if (proxy_is(L, 1)) {
        found = proxy_next(L, 1);
    } else {
        luaL_checktype(L, 1, LUA_TTABLE);
        if (frozen_push(L, 1))
            lua_replace(L, 1);
        found = lua_next(L, 1) != 0;
    }
    if (found)
        return 2;
    lua_pushnil(L);
    return 1;
}

static int base_rawget(lua_State *L)
{
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    if (proxy_is(L, 1)) {
        proxy_get(L, 1);
        return 1;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    if (frozen_push(L, 1))
        lua_replace(L, 1);
    lua_rawget(L, 1);
    return 1;
}

static int base_rawset(lua_State *L)
{
    if (proxy_is(L, 1) || frozen_is(L, 1))
        return luaL_error(L, "the table is read-only");
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 1;
}

static int base_rawlen(lua_State *L)
{
    if (proxy_is(L, 1) || frozen_is(L, 1)) {
        lua_pushinteger(L, luaL_len(L, 1));
        return 1;
    }
    luaL_argexpected(L, lua_istable(L, 1) || lua_type(L, 1) == LUA_TSTRING, 1, "table or string");
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
    return 1;
}

/* Finalizers run outside of all limits, so there are none. */
static int base_setmetatable(lua_State *L)
{
    int kind = lua_type(L, 2);

    if (proxy_is(L, 1) || frozen_is(L, 1))
        return luaL_error(L, "the table is read-only");
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    if (frozen_is(L, 2) || proxy_is(L, 2))
        return luaL_error(L, "a frozen table cannot be a metatable");
    if (kind == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "'__gc' is not available");
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* The error is on top; the handler at 2 turns it into the second result. */
static int call_handler(lua_State *L)
{
    lua_pushboolean(L, 0);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    (void)lua_pcall(L, 1, 1, 0); /* when the handler fails, its error is the result */
    return 2;
}

static int finish_xpcall(lua_State *L, int status, lua_KContext context)
{
    (void)context;
    if (status != LUA_OK && status != LUA_YIELD)
        return call_handler(L);
    lua_pushboolean(L, 1);
    lua_replace(L, 2);
    return lua_gettop(L) - 1;
}

/* The original calls the handler at the place of the error: if that is our hook, hooks are off, and
 * a handler that loops could not be stopped. This one calls it afterwards. */
static int base_xpcall(lua_State *L)
{
    int count = lua_gettop(L) - 2;

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    lua_insert(L, 3);
    return finish_xpcall(L, lua_pcallk(L, count, LUA_MULTRET, 0, 0, finish_xpcall), 0);
}

static int base_collectgarbage(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "count");

    if (strcmp(what, "count") != 0)
        return luaL_error(L, "collectgarbage knows only 'count' here");
    lua_pushnumber(L, (lua_Number)state_of(L)->limits.memory / 1024.0);
    return 1;
}

static int base_print(lua_State *L)
{
    struct sandbox *sandbox = state_of(L);
    int count = lua_gettop(L);
    luaL_Buffer line;

    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addchar(&line, '\t');
        lib_push_text(L, i);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    if (sandbox->options.print) {
        struct str text = { NULL, 0 };

        text.p = lua_tolstring(L, -1, &text.n);
        limits_charge(L, text.n); /* it is kept somewhere */
        sandbox->options.print(sandbox->options.user, text);
    }
    return 0;
}

void lib_open_base(lua_State *L)
{
    static const char *const kept[] = {
        "assert", "error",    "getmetatable", "ipairs",   "pairs",
        "pcall",  "rawequal", "select",       "tonumber", "_VERSION"
    };
    static const luaL_Reg own[] = {
        { "tostring", base_tostring },
        { "type", base_type },
        { "typeof", base_type },
        { "next", base_next },
        { "rawget", base_rawget },
        { "rawset", base_rawset },
        { "rawlen", base_rawlen },
        { "setmetatable", base_setmetatable },
        { "collectgarbage", base_collectgarbage },
        { "print", base_print },
        { "xpcall", base_xpcall },
        { NULL, NULL },
    };

    luaL_setfuncs(L, own, 0);
    lua_pushcfunction(L, luaopen_base); /* fills the table of globals, which scripts cannot see */
    lua_call(L, 0, 1);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        lua_getfield(L, -1, kept[i]);
        lua_setfield(L, -3, kept[i]);
    }
    lua_pop(L, 1);
}

/* --- coroutines ------------------------------------------------------------------- */

/* A coroutine counts its own instructions from zero, so each resume is charged: else nested
 * coroutines could multiply the little that is left after a limit was reached. */
static int call_charged_base(lua_State *L)
{
    limits_charge(L, 10);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int call_wrapped(lua_State *L)
{
    limits_charge(L, 10);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int coroutine_wrap(lua_State *L)
{
    limits_charge(L, 10);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    lua_pushcclosure(L, call_wrapped, 1);
    return 1;
}

void lib_open_coroutine(lua_State *L)
{
    static const struct {
        const char *name;
        lua_CFunction by; /* takes the original as its upvalue */
    } replaced[] = {
        { "create", call_charged_base },
        { "resume", call_charged_base },
        { "close", call_charged_base },
        { "wrap", coroutine_wrap },
    };

    luaopen_coroutine(L);
    for (size_t i = 0; i < ARRAY_LEN(replaced); i++) {
        lua_getfield(L, -1, replaced[i].name);
        lua_pushcclosure(L, replaced[i].by, 1);
        lua_setfield(L, -2, replaced[i].name);
    }
    lib_publish(L, "coroutine");
}

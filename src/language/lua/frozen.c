#include "language/lua/frozen.h"

#include <lauxlib.h>

/* The key of the content in the metatable of a frozen table: the address of this. */
static const char content_key;

bool frozen_push(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
        return false;
    if (lua_rawgetp(L, -1, &content_key) != LUA_TTABLE) {
        lua_pop(L, 2);
        return false;
    }
    lua_remove(L, -2);
    return true;
}

bool frozen_is(lua_State *L, int index)
{
    if (!frozen_push(L, index))
        return false;
    lua_pop(L, 1);
    return true;
}

static int on_frozen_write(lua_State *L)
{
    const char *name = "a frozen table";

    if (luaL_getmetafield(L, 1, "__title") == LUA_TSTRING)
        name = lua_pushfstring(L, "'%s'", lua_tostring(L, -1));
    return luaL_error(L, "%s is read-only", name);
}

static int on_frozen_length(lua_State *L)
{
    (void)frozen_push(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

/* next() over the content, however the table is accessed. */
static int on_frozen_next(lua_State *L)
{
    lua_settop(L, 2);
    if (frozen_push(L, 1))
        lua_replace(L, 1);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

static int on_frozen_pairs(lua_State *L)
{
    lua_pushcfunction(L, on_frozen_next);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static void set_function(lua_State *L, const char *name, lua_CFunction fn)
{
    lua_pushcfunction(L, fn);
    lua_setfield(L, -2, name);
}

/* The content is on top: replace it by its metatable. */
static void push_meta(lua_State *L, const char *name)
{
    lua_createtable(L, 0, 7);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, &content_key);
    lua_rotate(L, -2, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    set_function(L, "__newindex", on_frozen_write);
    set_function(L, "__len", on_frozen_length);
    set_function(L, "__pairs", on_frozen_pairs);
    if (name) {
        lua_pushstring(L, name);
        lua_setfield(L, -2, "__title");
    }
}

void frozen_wrap(lua_State *L, const char *name)
{
    lua_newtable(L);
    lua_rotate(L, -2, 1);
    push_meta(L, name);
    lua_setmetatable(L, -2);
}

void frozen_seal(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, index); /* a field may be cleared during a walk */
        lua_rotate(L, -2, 1);
        lua_rawset(L, -4);
    }
    push_meta(L, NULL);
    lua_setmetatable(L, index);
}

void frozen_push_env(lua_State *L, lua_CFunction on_write)
{
    lua_createtable(L, 0, 3);
    lua_rotate(L, -2, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    set_function(L, "__newindex", on_write);
}

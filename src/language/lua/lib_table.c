/*
 * table - written here because the originals trust the length that a script's __len returns.
 * Reading goes through metamethods, so frozen tables and values of the caller work as well.
 */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <lualib.h>

#include "language/lua/frozen.h"
#include "language/lua/limits.h"
#include "language/lua/proxy.h"

/* Maximum results of a function. */
#define UNPACK_MAX 100000
/* table.create reserves at most this much at once. */
#define CREATE_MAX 1000000

static void check_readable_table(lua_State *L, int arg)
{
    if (!proxy_is(L, arg))
        luaL_checktype(L, arg, LUA_TTABLE);
}

static void check_writable(lua_State *L, int arg)
{
    if (proxy_is(L, arg) || frozen_is(L, arg))
        luaL_error(L, "the table is read-only");
    luaL_checktype(L, arg, LUA_TTABLE);
}

/* Move the elements from..to by one place; step is 1 or -1, the direction. */
static void shift_elements(lua_State *L, lua_Integer from, lua_Integer to, int step)
{
    for (lua_Integer i = from; step > 0 ? i >= to : i <= to; i -= step) {
        limits_charge(L, 1);
        lua_geti(L, 1, i);
        lua_seti(L, 1, i + step);
    }
}

static int table_insert(lua_State *L)
{
    lua_Integer n, at;

    check_writable(L, 1);
    n = luaL_len(L, 1);
    luaL_argcheck(L, n >= 0 && n < LUA_MAXINTEGER, 1, "length out of range");
    if (lua_gettop(L) == 2) {
        lua_seti(L, 1, n + 1);
        return 0;
    }
    if (lua_gettop(L) != 3)
        return luaL_error(L, "wrong number of arguments to 'insert'");
    at = luaL_checkinteger(L, 2);
    luaL_argcheck(L, at >= 1 && at <= n + 1, 2, "position out of bounds");
    shift_elements(L, n, at, 1);
    lua_seti(L, 1, at);
    return 0;
}

static int table_remove(lua_State *L)
{
    lua_Integer n, at;

    check_writable(L, 1);
    n = luaL_len(L, 1);
    at = luaL_optinteger(L, 2, n);
    if (lua_gettop(L) > 1)
        luaL_argcheck(L, (at >= 1 && at - 1 <= n) || (n == 0 && at == 0), 2,
                      "position out of bounds");
    lua_geti(L, 1, at);
    if (at < n)
        shift_elements(L, at + 1, n, -1);
    lua_pushnil(L);
    lua_seti(L, 1, at < n ? n : at);
    return 1;
}

static int table_move(lua_State *L)
{
    lua_Integer from = luaL_checkinteger(L, 2);
    lua_Integer end = luaL_checkinteger(L, 3);
    lua_Integer to = luaL_checkinteger(L, 4);
    int target = lua_isnoneornil(L, 5) ? 1 : 5;
    lua_Integer count;

    check_readable_table(L, 1);
    check_writable(L, target);
    if (end >= from) {
        luaL_argcheck(L, from > 0 || end < LUA_MAXINTEGER + from, 3, "too many elements to move");
        count = end - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
        for (lua_Integer i = 0; i < count; i++) {
            bool forward = to > end || to <= from || target != 1;
            lua_Integer k = forward ? i : count - 1 - i;

            limits_charge(L, 1);
            lua_geti(L, 1, from + k);
            lua_seti(L, target, to + k);
        }
    }
    lua_pushvalue(L, target);
    return 1;
}

static int table_concat(lua_State *L)
{
    size_t separator_size;
    const char *separator = luaL_optlstring(L, 2, "", &separator_size);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    lua_Integer end;
    luaL_Buffer out;

    check_readable_table(L, 1);
    end = lua_isnoneornil(L, 4) ? luaL_len(L, 1) : luaL_checkinteger(L, 4);
    luaL_buffinit(L, &out);
    while (i <= end) {
        limits_charge(L, 1 + separator_size / 64);
        if (lua_geti(L, 1, i) != LUA_TSTRING && lua_type(L, -1) != LUA_TNUMBER)
            return luaL_error(L, "invalid value (a %s) at index %I in table for 'concat'",
                              luaL_typename(L, -1), (LUAI_UACINT)i);
        lib_push_text(L, -1);
        lua_remove(L, -2);
        luaL_addvalue(&out);
        if (i == end)
            break;
        luaL_addlstring(&out, separator, separator_size);
        i++;
    }
    luaL_pushresult(&out);
    return 1;
}

static int table_pack(lua_State *L)
{
    int n = lua_gettop(L);

    lua_createtable(L, n, 1);
    lua_insert(L, 1);
    for (int i = n; i >= 1; i--)
        lua_rawseti(L, 1, i);
    lua_pushinteger(L, n);
    lua_setfield(L, 1, "n");
    return 1;
}

static int table_unpack(lua_State *L)
{
    lua_Integer from = luaL_optinteger(L, 2, 1);
    lua_Integer end;
    lua_Unsigned count;

    check_readable_table(L, 1);
    end = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (from > end)
        return 0;
    count = (lua_Unsigned)end - (lua_Unsigned)from;
    if (count >= UNPACK_MAX || !lua_checkstack(L, (int)count + 1))
        return luaL_error(L, "too many results to unpack (limit %d)", UNPACK_MAX);
    limits_charge(L, (size_t)count);
    for (lua_Unsigned i = 0; i <= count; i++)
        lua_geti(L, 1, from + (lua_Integer)i);
    return (int)count + 1;
}

/* The original, once the work is charged. The __len of a table could return another length to it
 * than to us. */
static int table_sort(lua_State *L)
{
    size_t n, bits = 1;

    check_writable(L, 1);
    if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
        return luaL_error(L, "a table with '__len' cannot be sorted");
    n = lua_rawlen(L, 1);
    while (n >> bits > 0)
        bits++;
    limits_charge(L, n * bits);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* --- from Luau ---------------------------------------------------------------------- */

static int find_in_table(lua_State *L)
{
    lua_Integer i = luaL_optinteger(L, 3, 1);

    check_readable_table(L, 1);
    luaL_checkany(L, 2);
    luaL_argcheck(L, i >= 1, 3, "index out of range");
    for (; lua_geti(L, 1, i) != LUA_TNIL; i++) {
        limits_charge(L, 1);
        if (lua_compare(L, 2, -1, LUA_OPEQ)) {
            lua_pushinteger(L, i);
            return 1;
        }
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    return 1;
}

static int table_create(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);

    luaL_argcheck(L, n >= 0 && n <= CREATE_MAX, 1, "size out of range");
    limits_charge(L, (size_t)n);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n && !lua_isnoneornil(L, 2); i++) {
        lua_pushvalue(L, 2);
        lua_rawseti(L, -2, i);
    }
    return 1;
}

/* The first table as a plain one, one level deep. */
static int table_clone(lua_State *L)
{
    bool is_proxy = proxy_is(L, 1);

    check_readable_table(L, 1);
    lua_settop(L, 1);
    lua_newtable(L);
    if (frozen_push(L, 1))
        lua_replace(L, 1);
    lua_pushnil(L);
    while (is_proxy ? proxy_next(L, 1) : lua_next(L, 1) != 0) {
        limits_charge(L, 1);
        lua_pushvalue(L, -2);
        lua_rotate(L, -2, 1);
        lua_rawset(L, 2);
    }
    lua_settop(L, 2);
    return 1;
}

static int table_clear(lua_State *L)
{
    check_writable(L, 1);
    lua_settop(L, 1);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        limits_charge(L, 1);
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, 1);
    }
    return 0;
}

static int table_freeze(lua_State *L)
{
    check_readable_table(L, 1);
    lua_settop(L, 1);
    if (proxy_is(L, 1) || frozen_is(L, 1))
        return 1;
    if (lua_getmetatable(L, 1))
        return luaL_error(L, "a table with a metatable cannot be frozen");
    limits_charge(L, lua_rawlen(L, 1));
    frozen_seal(L, 1);
    return 1;
}

static int table_isfrozen(lua_State *L)
{
    check_readable_table(L, 1);
    lua_pushboolean(L, proxy_is(L, 1) || frozen_is(L, 1));
    return 1;
}

void lib_open_table(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "insert", table_insert },
        { "remove", table_remove },
        { "move", table_move },
        { "concat", table_concat },
        { "pack", table_pack },
        { "unpack", table_unpack },
        { "find", find_in_table },
        { "create", table_create },
        { "clone", table_clone },
        { "clear", table_clear },
        { "freeze", table_freeze },
        { "isfrozen", table_isfrozen },
        { NULL, NULL },
    };

    luaL_newlib(L, functions);
    luaopen_table(L);
    lua_getfield(L, -1, "sort");
    lua_remove(L, -2);
    lua_pushcclosure(L, table_sort, 1);
    lua_setfield(L, -2, "sort");
    lua_getfield(L, -1, "unpack");
    lua_setfield(L, -3, "unpack");
    lib_publish(L, "table");
}

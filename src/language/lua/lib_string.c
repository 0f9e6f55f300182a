/* string and utf8: simple functions are Lua's; those that could run too long are ours. */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "language/lua/limits.h"

/* Reading strings is fast: this many bytes for a step. */
#define STEP_BYTES 256

/* The original in the upvalue reads its strings from end to end. */
static int call_charged_string(lua_State *L)
{
    size_t bytes = 0;

    for (int i = 1; i <= lua_gettop(L); i++)
        if (lua_type(L, i) == LUA_TSTRING)
            bytes += lua_rawlen(L, i);
    limits_charge(L, bytes / STEP_BYTES);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static void charge_for(lua_State *L, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lua_getfield(L, -1, names[i]);
        lua_pushcclosure(L, call_charged_string, 1);
        lua_setfield(L, -2, names[i]);
    }
}

/* The original in the upvalue, with numbers converted by our tostring(). */
static int string_format(lua_State *L)
{
    lua_Integer i;

    for (int arg = 2; arg <= lua_gettop(L); arg++)
        if (lib_is_whole(L, arg, &i)) {
            lua_pushinteger(L, i);
            lua_replace(L, arg);
        }
    return call_charged_string(L);
}

/* The original would repeat an empty string without limit. */
static int string_rep(lua_State *L)
{
    struct str s, separator;
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_Buffer out;
    size_t total;
    char *p;

    s.p = luaL_checklstring(L, 1, &s.n);
    separator.p = luaL_optlstring(L, 3, "", &separator.n);
    if (n <= 0 || s.n + separator.n == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if ((lua_Unsigned)n > limits_of(L)->memory_max / (s.n + separator.n))
        return luaL_error(L, "the text would exceed the memory limit of %d KiB",
                          (int)(limits_of(L)->memory_max >> 10));
    total = (size_t)n * (s.n + separator.n) - separator.n;
    limits_charge(L, (size_t)n / 16 + total / STEP_BYTES);
    p = luaL_buffinitsize(L, &out, total);
    for (lua_Integer i = 0; i < n; i++) {
        if (i > 0 && separator.n > 0)
            p = (char *)memcpy(p, separator.p, separator.n) + separator.n;
        p = (char *)memcpy(p, s.p, s.n) + s.n;
    }
    luaL_pushresultsize(&out, total);
    return 1;
}

/* As in Luau: a list of the parts; an empty separator gives single characters. */
static int string_split(lua_State *L)
{
    struct str s, separator, part;
    size_t at = 0, end;
    lua_Integer count = 0;

    s.p = luaL_checklstring(L, 1, &s.n);
    separator.p = luaL_optlstring(L, 2, ",", &separator.n);
    lua_settop(L, 2);
    lua_newtable(L);
    limits_charge(L, s.n / STEP_BYTES);
    do {
        end = separator.n > 0 ? str_find(s, separator, at) : at + 1;
        if (separator.n == 0 && (s.n == 0 || end >= s.n))
            end = STR_NONE;
        if (s.n == 0 && separator.n == 0)
            break;
        part = str_slice(s, at, end == STR_NONE ? s.n - at : end - at);
        limits_charge(L, 1);
        lua_pushlstring(L, part.p, part.n);
        lua_rawseti(L, 3, ++count);
        at = end + separator.n;
    } while (end != STR_NONE);
    return 1;
}

/* Scripts cannot reach the metatable of strings, nor its __index. */
static void lock_metatable(lua_State *L)
{
    lua_pushliteral(L, "");
    (void)lua_getmetatable(L, -1);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

void lib_open_string(lua_State *L)
{
    static const char *const paid[] = { "pack", "unpack" };
    static const luaL_Reg own[] = {
        { "rep", string_rep },
        { "split", string_split },
        { NULL, NULL },
    };

    luaopen_string(L);
    charge_for(L, paid, ARRAY_LEN(paid));
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, string_format, 1);
    lua_setfield(L, -2, "format");
    luaL_setfuncs(L, own, 0);
    lib_add_patterns(L);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lock_metatable(L);
    lib_publish(L, "string");
}

void lib_open_utf8(lua_State *L)
{
    static const char *const paid[] = { "len", "offset", "codepoint" };

    luaopen_utf8(L);
    charge_for(L, paid, ARRAY_LEN(paid));
    lib_publish(L, "utf8");
}

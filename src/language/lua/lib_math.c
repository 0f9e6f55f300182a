/* math with Luau's additions, and bit32. */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>

#include "language/lua/state.h"

static int math_clamp(lua_State *L)
{
    luaL_checknumber(L, 1);
    luaL_checknumber(L, 2);
    luaL_checknumber(L, 3);
    luaL_argcheck(L, lua_compare(L, 2, 3, LUA_OPLE), 3, "max must not be less than min");
    if (lua_compare(L, 1, 2, LUA_OPLT))
        lua_pushvalue(L, 2);
    else
        lua_pushvalue(L, lua_compare(L, 3, 1, LUA_OPLT) ? 3 : 1);
    return 1;
}

/* Half away from zero; an integer when it fits one. */
static int math_round(lua_State *L)
{
    lua_Number d = round(luaL_checknumber(L, 1));
    lua_Integer i;

    if (lua_isinteger(L, 1))
        lua_pushvalue(L, 1);
    else if (lua_numbertointeger(d, &i))
        lua_pushinteger(L, i);
    else
        lua_pushnumber(L, d);
    return 1;
}

static int math_sign(lua_State *L)
{
    lua_Number d = luaL_checknumber(L, 1);

    lua_pushinteger(L, (d > 0) - (d < 0));
    return 1;
}

/* Without a number the original would use the time and an address. */
static int math_randomseed(lua_State *L)
{
    luaL_checknumber(L, 1);
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_isnil(L, 3) ? 1 : 2, 0);
    return 0;
}

/* The original keeps its state in an upvalue, so it is called, not copied. */
static void seed_random(lua_State *L)
{
    uint64_t from = state_of(L)->options.random_seed;

    lua_getfield(L, -1, "randomseed");
    lua_pushvalue(L, -1);
    lua_pushinteger(L, (lua_Integer)from);
    lua_call(L, 1, 0);
    lua_pushcclosure(L, math_randomseed, 1);
    lua_setfield(L, -2, "randomseed");
}

void lib_open_math(lua_State *L)
{
    static const luaL_Reg own[] = {
        { "clamp", math_clamp },
        { "round", math_round },
        { "sign", math_sign },
        { NULL, NULL },
    };

    luaopen_math(L);
    luaL_setfuncs(L, own, 0);
    seed_random(L);
    lib_publish(L, "math");
}

/* --- bit32 ---------------------------------------------------------------------------- */

#define BITS 32

static uint32_t bits_arg(lua_State *L, int arg)
{
    lua_Number d;
    int is_integer;
    lua_Integer i = lua_tointegerx(L, arg, &is_integer);

    if (is_integer)
        return (uint32_t)(lua_Unsigned)i;
    d = floor(luaL_checknumber(L, arg));
    luaL_argcheck(L, isfinite(d), arg, "number has no integer representation");
    d = fmod(d, 4294967296.0);
    return (uint32_t)(int64_t)d;
}

static int push_bits(lua_State *L, uint32_t bits)
{
    lua_pushinteger(L, (lua_Integer)bits);
    return 1;
}

static uint32_t all_and(lua_State *L)
{
    uint32_t bits = UINT32_MAX;

    for (int i = lua_gettop(L); i >= 1; i--)
        bits &= bits_arg(L, i);
    return bits;
}

static int bit32_band(lua_State *L)
{
    return push_bits(L, all_and(L));
}

static int bit32_btest(lua_State *L)
{
    lua_pushboolean(L, all_and(L) != 0);
    return 1;
}

static int bit32_bor(lua_State *L)
{
    uint32_t bits = 0;

    for (int i = lua_gettop(L); i >= 1; i--)
        bits |= bits_arg(L, i);
    return push_bits(L, bits);
}

static int bit32_bxor(lua_State *L)
{
    uint32_t bits = 0;

    for (int i = lua_gettop(L); i >= 1; i--)
        bits ^= bits_arg(L, i);
    return push_bits(L, bits);
}

static int bit32_bnot(lua_State *L)
{
    return push_bits(L, ~bits_arg(L, 1));
}

/* Left for positive distances; 0 from 32 on. */
static uint32_t shift_bits(uint32_t bits, lua_Integer by)
{
    if (by <= -BITS || by >= BITS)
        return 0;
    return by >= 0 ? bits << by : bits >> -by;
}

static int bit32_lshift(lua_State *L)
{
    return push_bits(L, shift_bits(bits_arg(L, 1), luaL_checkinteger(L, 2)));
}

static int bit32_rshift(lua_State *L)
{
    lua_Integer by = luaL_checkinteger(L, 2);

    return push_bits(L, shift_bits(bits_arg(L, 1), by == LUA_MININTEGER ? BITS : -by));
}

static int bit32_arshift(lua_State *L)
{
    uint32_t bits = bits_arg(L, 1);
    lua_Integer by = luaL_checkinteger(L, 2);

    if (by < 0)
        return push_bits(L, shift_bits(bits, by == LUA_MININTEGER ? BITS : -by));
    if (by >= BITS)
        by = BITS - 1;
    return push_bits(L, (uint32_t)((int64_t)(int32_t)bits >> by));
}

static uint32_t rotate_bits(uint32_t bits, lua_Integer by)
{
    unsigned left = (unsigned)((lua_Unsigned)by & (BITS - 1));

    return left == 0 ? bits : bits << left | bits >> (BITS - left);
}

static int bit32_lrotate(lua_State *L)
{
    return push_bits(L, rotate_bits(bits_arg(L, 1), luaL_checkinteger(L, 2)));
}

static int bit32_rrotate(lua_State *L)
{
    lua_Unsigned by = (lua_Unsigned)luaL_checkinteger(L, 2);

    return push_bits(L, rotate_bits(bits_arg(L, 1), (lua_Integer)((0 - by) & (BITS - 1))));
}

static int bit32_countlz(lua_State *L)
{
    uint32_t bits = bits_arg(L, 1);

    return push_bits(L, bits ? (uint32_t)__builtin_clz(bits) : BITS);
}

static int bit32_countrz(lua_State *L)
{
    uint32_t bits = bits_arg(L, 1);

    return push_bits(L, bits ? (uint32_t)__builtin_ctz(bits) : BITS);
}

static int bit32_byteswap(lua_State *L)
{
    return push_bits(L, __builtin_bswap32(bits_arg(L, 1)));
}

/* Arguments `arg` and `arg + 1`: the first bit of a field and its width. Returns its mask. */
static uint32_t field_arg(lua_State *L, int arg, lua_Integer *ret_first)
{
    lua_Integer first = luaL_checkinteger(L, arg);
    lua_Integer width = luaL_optinteger(L, arg + 1, 1);

    luaL_argcheck(L, first >= 0 && first < BITS, arg, "field out of range");
    luaL_argcheck(L, width >= 1 && width <= BITS - first, arg + 1, "width out of range");
    *ret_first = first;
    return width == BITS ? UINT32_MAX : (UINT32_C(1) << width) - 1;
}

static int bit32_extract(lua_State *L)
{
    lua_Integer first;
    uint32_t mask = field_arg(L, 2, &first);

    return push_bits(L, bits_arg(L, 1) >> first & mask);
}

static int bit32_replace(lua_State *L)
{
    lua_Integer first;
    uint32_t mask = field_arg(L, 3, &first);
    uint32_t bits = bits_arg(L, 1) & ~(mask << first);

    return push_bits(L, bits | (bits_arg(L, 2) & mask) << first);
}

void lib_open_bit32(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "band", bit32_band },         { "btest", bit32_btest },
        { "bor", bit32_bor },           { "bxor", bit32_bxor },
        { "bnot", bit32_bnot },         { "lshift", bit32_lshift },
        { "rshift", bit32_rshift },     { "arshift", bit32_arshift },
        { "lrotate", bit32_lrotate },   { "rrotate", bit32_rrotate },
        { "countlz", bit32_countlz },   { "countrz", bit32_countrz },
        { "byteswap", bit32_byteswap }, { "extract", bit32_extract },
        { "replace", bit32_replace },   { NULL, NULL },
    };

    luaL_newlib(L, functions);
    lib_publish(L, "bit32");
}

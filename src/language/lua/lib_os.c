/* os: time and dates by the caller's clock, and nothing else of the system. */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <string.h>
#include <time.h>

#include "language/lua/state.h"

/* Result of one conversion of os.date; the longest is %c. */
#define DATE_PIECE_MAX 128
/* The cost of one conversion. */
#define DATE_STEPS 50
/* Years beyond this do not fit struct tm on the way back. */
#define SECONDS_MAX (INT64_C(1) << 40)

/* The conversions of strftime in the C locale; the other letters are undefined there. */
static const char date_letters[] = "aAbBcdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";

static const struct {
    const char *name;
    size_t offset;
    int add; /* struct tm counts months from 0 and years from 1900 */
    bool required;
    int otherwise;
} date_fields[] = {
    { "year", offsetof(struct tm, tm_year), 1900, true, 0 },
    { "month", offsetof(struct tm, tm_mon), 1, true, 0 },
    { "day", offsetof(struct tm, tm_mday), 0, true, 0 },
    { "hour", offsetof(struct tm, tm_hour), 0, false, 12 },
    { "min", offsetof(struct tm, tm_min), 0, false, 0 },
    { "sec", offsetof(struct tm, tm_sec), 0, false, 0 },
};

static int *get_time_field(struct tm *tm, size_t i)
{
    return (int *)(void *)((char *)tm + date_fields[i].offset);
}

static int64_t get_current_time(lua_State *L)
{
    const struct sandbox_options *options = &state_of(L)->options;

    if (!options->now)
        luaL_error(L, "the time is not available here");
    return options->now(options->user);
}

static int32_t get_utc_offset(lua_State *L, int64_t seconds)
{
    const struct sandbox_options *options = &state_of(L)->options;

    return options->utc_offset ? options->utc_offset(options->user, seconds) : 0;
}

static int os_clock(lua_State *L)
{
    const struct limits *limits = limits_of(L);

    lua_pushnumber(L, limits->clock ? (lua_Number)limits->clock(limits->clock_user) / 1e9 : 0.0);
    return 1;
}

static int os_difftime(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)luaL_checkinteger(L, 1) - (lua_Number)luaL_checkinteger(L, 2));
    return 1;
}

/* A field of the table at 1. */
static void take_field(lua_State *L, struct tm *tm, size_t i)
{
    const char *name = date_fields[i].name;
    lua_Integer n = date_fields[i].otherwise;
    int is_integer = 1;

    if (lua_getfield(L, 1, name) != LUA_TNIL)
        n = lua_tointegerx(L, -1, &is_integer);
    else if (date_fields[i].required)
        luaL_error(L, "field '%s' missing in date table", name);
    if (!is_integer || n < -1000000 || n > 1000000)
        luaL_error(L, "field '%s' is not a number in range", name);
    *get_time_field(tm, i) = (int)n - date_fields[i].add;
    lua_pop(L, 1);
}

static int os_time(lua_State *L)
{
    struct tm tm = { 0 };
    int64_t seconds;

    if (lua_isnoneornil(L, 1)) {
        lua_pushinteger(L, get_current_time(L));
        return 1;
    }
    if (lua_type(L, 1) != LUA_TUSERDATA)
        luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    for (size_t i = 0; i < ARRAY_LEN(date_fields); i++)
        take_field(L, &tm, i);
    seconds = (int64_t)timegm(&tm);
    /* the offset at a local time: right except in the hour of a change */
    lua_pushinteger(L, seconds - get_utc_offset(L, seconds - get_utc_offset(L, seconds)));
    return 1;
}

static void push_table(lua_State *L, struct tm *tm)
{
    lua_createtable(L, 0, 9);
    for (size_t i = 0; i < ARRAY_LEN(date_fields); i++) {
        lua_pushinteger(L, *get_time_field(tm, i) + date_fields[i].add);
        lua_setfield(L, -2, date_fields[i].name);
    }
    lua_pushinteger(L, tm->tm_wday + 1);
    lua_setfield(L, -2, "wday");
    lua_pushinteger(L, tm->tm_yday + 1);
    lua_setfield(L, -2, "yday");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "isdst");
}

/* Conversions were checked against date_letters, which a compiler cannot see. */
static size_t (*const print_date)(char *out, size_t max, const char *format,
                                  const struct tm *tm) = strftime;

static void push_time_text(lua_State *L, const char *format, struct tm *tm)
{
    luaL_Buffer out;

    luaL_buffinit(L, &out);
    for (; *format; format++) {
        char conversion[3] = { '%', 0, 0 };
        char piece[DATE_PIECE_MAX];

        if (*format != '%') {
            luaL_addchar(&out, *format);
            continue;
        }
        limits_charge(L, DATE_STEPS);
        conversion[1] = *++format;
        if (!conversion[1] || !strchr(date_letters, conversion[1]))
            luaL_error(L, "invalid conversion specifier '%s' in a date", conversion);
        luaL_addlstring(&out, piece, print_date(piece, sizeof(piece), conversion, tm));
    }
    luaL_pushresult(&out);
}

static int os_date(lua_State *L)
{
    const char *format = luaL_optstring(L, 1, "%c");
    int64_t seconds = lua_isnoneornil(L, 2) ? get_current_time(L) : luaL_checkinteger(L, 2);
    struct tm tm;
    time_t shown;

    luaL_argcheck(L, seconds > -SECONDS_MAX && seconds < SECONDS_MAX, 2, "time out of range");
    shown = (time_t)seconds;
    if (*format == '!')
        format++;
    else
        shown += get_utc_offset(L, seconds);
    if (!gmtime_r(&shown, &tm))
        return luaL_error(L, "date result cannot be represented");
    if (strncmp(format, "*t", 2) == 0)
        push_table(L, &tm);
    else
        push_time_text(L, format, &tm);
    return 1;
}

void lib_open_os(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "clock", os_clock },       { "date", os_date }, { "time", os_time },
        { "difftime", os_difftime }, { NULL, NULL },
    };

    static const luaL_Reg strict[] = { { "clock", os_clock }, { "time", os_time }, { NULL, NULL } };

    lua_newtable(L);
    luaL_setfuncs(L, state_of(L)->options.strict ? strict : functions, 0);
    lib_publish(L, "os");
}

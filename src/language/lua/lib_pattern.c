/* string.find, match, gmatch and gsub over language/lua/pattern.h. */
#include "language/lua/lib.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/err.h"
#include "language/lua/limits.h"
#include "language/lua/pattern.h"

/* Patterns with up to this many items live on the C stack. */
#define FEW_ITEMS 24
/* Bytes of a plain search for a step. */
#define PLAIN_BYTES 64

struct matching {
    struct str text;
    struct pattern pattern;
    struct pattern_match match;
    struct pattern_item few[FEW_ITEMS];
};

static struct str string_arg(lua_State *L, int arg)
{
    struct str s;

    s.p = luaL_checklstring(L, arg, &s.n);
    return s;
}

/* The start position, from 0; false when it is past the end. */
static bool start_arg(lua_State *L, int arg, size_t size, size_t *ret_at)
{
    lua_Integer at = luaL_optinteger(L, arg, 1);

    if (at > 0)
        *ret_at = (size_t)at - 1;
    else if (at == 0 || at < -(lua_Integer)size)
        *ret_at = 0;
    else
        *ret_at = size - (size_t)-at;
    return *ret_at <= size;
}

/* Room for the items comes from Lua, so that it is freed when an error is raised. Pushes one value.
 */
static void parse_lua_pattern(lua_State *L, struct matching *job, struct str text, bool anchors)
{
    struct pattern_item *items = job->few;
    struct err err;

    lua_pushnil(L);
    if (text.n > PATTERN_TEXT_MAX)
        luaL_error(L, "the pattern is longer than %d KiB", (int)(PATTERN_TEXT_MAX >> 10));
    if (pattern_items_max(text) > FEW_ITEMS) {
        items = lua_newuserdatauv(L, pattern_items_max(text) * sizeof(*items), 0);
        lua_replace(L, -2);
    }
    limits_charge(L, text.n);
    if (pattern_parse(text, anchors, items, &job->pattern, &err) < 0)
        luaL_error(L, "%s", err.text);
}

static bool match_lua_pattern(lua_State *L, struct matching *job, size_t from)
{
    enum pattern_result result =
        pattern_match(&job->pattern, job->text, from, limits_spend, limits_of(L), &job->match);

    if (result == PATTERN_STOPPED)
        limits_raise(L);
    return result == PATTERN_MATCHED;
}

/* Capture `i`; the whole match when there are no captures. */
static void push_capture(lua_State *L, const struct matching *job, size_t i)
{
    const struct pattern_capture *capture = &job->match.captures[i];

    if (i >= job->pattern.captures && i == 0)
        lua_pushlstring(L, job->text.p + job->match.from, job->match.end - job->match.from);
    else if (i >= job->pattern.captures)
        luaL_error(L, "invalid capture index %%%d", (int)i + 1);
    else if (capture->is_position)
        lua_pushinteger(L, (lua_Integer)capture->from + 1);
    else
        lua_pushlstring(L, job->text.p + capture->from, capture->n);
}

static int push_captures(lua_State *L, const struct matching *job, bool whole)
{
    size_t count = job->pattern.captures;

    if (count == 0 && whole)
        count = 1;
    luaL_checkstack(L, (int)count, "too many captures");
    for (size_t i = 0; i < count; i++)
        push_capture(L, job, i);
    return (int)count;
}

static int not_found(lua_State *L)
{
    luaL_pushfail(L);
    return 1;
}

static int find_plain(lua_State *L, struct str text, struct str part, size_t from)
{
    size_t at;

    limits_charge(L, (text.n - from) / PLAIN_BYTES);
    at = str_find(text, part, from);
    if (at == STR_NONE)
        return not_found(L);
    lua_pushinteger(L, (lua_Integer)at + 1);
    lua_pushinteger(L, (lua_Integer)(at + part.n));
    return 2;
}

static int string_find(lua_State *L)
{
    struct str text = string_arg(L, 1);
    struct str pattern = string_arg(L, 2);
    struct matching job;
    size_t from;

    if (!start_arg(L, 3, text.n, &from))
        return not_found(L);
    if (lua_toboolean(L, 4) || pattern_is_plain(pattern))
        return find_plain(L, text, pattern, from);
    job.text = text;
    parse_lua_pattern(L, &job, pattern, true);
    if (!match_lua_pattern(L, &job, from))
        return not_found(L);
    lua_pushinteger(L, (lua_Integer)job.match.from + 1);
    lua_pushinteger(L, (lua_Integer)job.match.end);
    return 2 + push_captures(L, &job, false);
}

static int string_match(lua_State *L)
{
    struct matching job;
    struct str pattern = string_arg(L, 2);
    size_t from;

    job.text = string_arg(L, 1);
    if (!start_arg(L, 3, job.text.n, &from))
        return not_found(L);
    parse_lua_pattern(L, &job, pattern, true);
    if (!match_lua_pattern(L, &job, from))
        return not_found(L);
    return push_captures(L, &job, true);
}

/* Upvalues: the text, the pattern, where to continue, where the last match ended (-1: nowhere). */
static int next_match(lua_State *L)
{
    struct matching job;
    struct str pattern = string_arg(L, lua_upvalueindex(2));
    size_t from = (size_t)lua_tointeger(L, lua_upvalueindex(3));
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));

    job.text = string_arg(L, lua_upvalueindex(1));
    parse_lua_pattern(L, &job, pattern, false);
    for (; from <= job.text.n && match_lua_pattern(L, &job, from); from = job.match.from + 1) {
        if ((lua_Integer)job.match.end == last)
            continue; /* an empty match right after the last one */
        lua_pushinteger(L, (lua_Integer)job.match.end);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(L, &job, true);
    }
    return 0;
}

static int string_gmatch(lua_State *L)
{
    struct str text = string_arg(L, 1);
    size_t from;

    (void)string_arg(L, 2);
    if (!start_arg(L, 3, text.n, &from))
        from = text.n + 1;
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)from);
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* --- gsub --------------------------------------------------------------------------- */

/* Append the replacement text at argument 3 with its %0..%9 filled in. */
static void add_template(lua_State *L, const struct matching *job, luaL_Buffer *out)
{
    struct str s = string_arg(L, 3);

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        limits_charge(L, 1);
        if (c != '%') {
            luaL_addchar(out, c);
            continue;
        }
        c = ++i < s.n ? s.p[i] : '\0';
        if (c == '%') {
            luaL_addchar(out, '%');
        } else if (c == '0') {
            luaL_addlstring(out, job->text.p + job->match.from, job->match.end - job->match.from);
        } else if (c >= '1' && c <= '9') {
            push_capture(L, job, (size_t)(c - '1'));
            luaL_addvalue(out);
        } else {
            luaL_error(L, "invalid use of '%%' in replacement string");
        }
    }
}

/* Push the result of a table or a function for the first capture, or for all. */
static void push_answer(lua_State *L, const struct matching *job)
{
    if (lua_type(L, 3) == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(L, job, true), 1);
    } else {
        push_capture(L, job, 0);
        lua_gettable(L, 3);
    }
}

static void add_pattern_replacement(lua_State *L, const struct matching *job, luaL_Buffer *out)
{
    if (lua_type(L, 3) == LUA_TSTRING || lua_type(L, 3) == LUA_TNUMBER) {
        add_template(L, job, out);
        return;
    }
    push_answer(L, job);
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, job->text.p + job->match.from, job->match.end - job->match.from);
    } else if (lua_isstring(L, -1)) {
        luaL_addvalue(out);
    } else {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
}

static int string_gsub(lua_State *L)
{
    struct matching job;
    struct str pattern = string_arg(L, 2);
    int kind = lua_type(L, 3);
    size_t at = 0, last = STR_NONE;
    lua_Integer count = 0, most;
    luaL_Buffer out;

    job.text = string_arg(L, 1);
    luaL_argexpected(L,
                     kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION ||
                         kind == LUA_TTABLE || kind == LUA_TUSERDATA,
                     3, "string/function/table");
    most = luaL_optinteger(L, 4, (lua_Integer)job.text.n + 1);
    parse_lua_pattern(L, &job, pattern, true);
    luaL_buffinit(L, &out);
    for (size_t from = 0; count < most && from <= job.text.n;) {
        if (!match_lua_pattern(L, &job, from))
            break;
        from = job.match.from;
        if (job.match.end != last) {
            count++;
            luaL_addlstring(&out, job.text.p + at, from - at);
            add_pattern_replacement(L, &job, &out);
            at = last = job.match.end;
            from = last;
        } else {
            from++;
        }
        if (job.pattern.anchored)
            break;
    }
    luaL_addlstring(&out, job.text.p + at, job.text.n - at);
    luaL_pushresult(&out);
    lua_pushinteger(L, count);
    return 2;
}

void lib_add_patterns(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "find", string_find },
        { "match", string_match },
        { "gmatch", string_gmatch },
        { "gsub", string_gsub },
        { NULL, NULL },
    };

    luaL_setfuncs(L, functions, 0);
}

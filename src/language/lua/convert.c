#include "language/lua/convert.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/time_text.h"
#include "language/lua/frozen.h"
#include "language/lua/limits.h"
#include "language/lua/proxy.h"
#include "language/lua/state.h"

/* Beyond this a double does not hold every integer. */
#define EXACT_MAX 9007199254740992.0
/* Trees of the caller are not deeper than this. */
#define VALUE_TREE_DEPTH 256

/* --- to Lua ------------------------------------------------------------------- */

static void push_time(lua_State *L, const struct value *v)
{
    struct buf *text = &state_of(L)->text;

    buf_clear(text);
    time_print(text, v->t);
    lua_pushlstring(L, buf_text(text), text->n);
}

static void push_tree(lua_State *L, const struct value *v, int depth);

static void push_list(lua_State *L, const struct value_list *list, int depth)
{
    lua_createtable(L, str_int(list->count), 0);
    for (size_t i = 0; i < list->count; i++) {
        push_tree(L, &list->items[i], depth + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_map(lua_State *L, const struct value_map *map, int depth)
{
    lua_createtable(L, 0, str_int(map->count));
    for (size_t i = 0; i < map->count; i++) {
        const struct value *key = &map->pairs[i].key;

        if (key->kind == VALUE_NULL || (key->kind == VALUE_DOUBLE && isnan(key->d)))
            continue; /* Lua has no such keys */
        push_tree(L, key, depth + 1);
        push_tree(L, &map->pairs[i].value, depth + 1);
        lua_rawset(L, -3);
    }
}

static void push_tree(lua_State *L, const struct value *v, int depth)
{
    if (depth > CONVERT_DEPTH_MAX)
        luaL_error(L, "the value is nested deeper than %d levels", CONVERT_DEPTH_MAX);
    luaL_checkstack(L, 4, NULL);
    limits_charge(L, 1);
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: lua_pushnil(L); break;
    case VALUE_BOOL: lua_pushboolean(L, v->b); break;
    case VALUE_INT: lua_pushinteger(L, v->i); break;
    case VALUE_DOUBLE: lua_pushnumber(L, v->d); break;
    case VALUE_STR:
    case VALUE_BYTES: lua_pushlstring(L, v->s.p, v->s.n); break;
    case VALUE_TIME: push_time(L, v); break;
    case VALUE_LIST: push_list(L, v->list, depth); break;
    case VALUE_MAP: push_map(L, v->map, depth); break;
    case VALUE_OBJECT: luaL_error(L, "a value of another interpreter has no meaning in Lua"); break;
    }
}

void convert_push(lua_State *L, const struct value *v)
{
    push_tree(L, v, 0);
}

/* --- from Lua ------------------------------------------------------------------- */

struct pull {
    lua_State *L;
    struct arena *arena;
    size_t nodes, bytes;
    struct err *err;
};

static struct value get_number_at(lua_State *L, int index)
{
    double d;

    if (lua_isinteger(L, index))
        return value_int(lua_tointeger(L, index));
    d = lua_tonumber(L, index);
    if (floor(d) == d && fabs(d) <= EXACT_MAX)
        return value_int((int64_t)d);
    return value_double(d);
}

static struct str get_string_at(lua_State *L, int index)
{
    struct str s;

    s.p = lua_tolstring(L, index, &s.n);
    return s;
}

bool convert_key(lua_State *L, int index, struct value *ret_key)
{
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN: *ret_key = value_bool(lua_toboolean(L, index)); return true;
    case LUA_TNUMBER: *ret_key = get_number_at(L, index); return true;
    case LUA_TSTRING: *ret_key = value_str(get_string_at(L, index)); return true;
    default: return false;
    }
}

static int check_pulled_size(struct pull *pull)
{
    if (pull->nodes > CONVERT_NODES_MAX)
        return err_set(pull->err, ERR_LIMIT, "the value has more than %d parts", CONVERT_NODES_MAX);
    if (pull->bytes > CONVERT_BYTES_MAX)
        return err_set(pull->err, ERR_LIMIT, "the value has more than %zu MiB of text",
                       CONVERT_BYTES_MAX >> 20);
    return 0;
}

static int take_string(struct pull *pull, int index, struct value *ret)
{
    struct str s = get_string_at(pull->L, index);

    pull->bytes += s.n;
    if (check_pulled_size(pull) < 0)
        return -1;
    *ret = utf8_is_valid(s) ? value_str(arena_str(pull->arena, s))
                            : value_bytes(arena_str(pull->arena, s));
    return 0;
}

static int take_value(struct pull *pull, int index, int depth, struct value *ret);

/* Booleans, numbers, texts; within a kind by value. */
static int key_rank(const struct value *v)
{
    if (v->kind == VALUE_BOOL)
        return 0;
    return v->kind == VALUE_STR || v->kind == VALUE_BYTES ? 2 : 1;
}

static int compare_pulled_pairs(const void *a, const void *b)
{
    const struct value *x = &((const struct value_pair *)a)->key;
    const struct value *y = &((const struct value_pair *)b)->key;
    int order = key_rank(x) - key_rank(y);

    if (order != 0)
        return order;
    if (key_rank(x) == 2)
        return str_compare(x->s, y->s);
    (void)value_compare(x, y, &order); /* numbers always have an order */
    return order;
}

/* Count the pairs, and check whether the keys are 1..n. */
static size_t count_pairs(lua_State *L, int table, bool *ret_is_list)
{
    size_t count = 0, numbered = 0;
    lua_Integer highest = 0;

    lua_pushnil(L);
    while (lua_next(L, table)) {
        count++;
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > 0) {
            numbered++;
            if (lua_tointeger(L, -2) > highest)
                highest = lua_tointeger(L, -2);
        }
        lua_pop(L, 1);
    }
    *ret_is_list = numbered == count && (lua_Unsigned)highest == count;
    return count;
}

static int take_lua_list(struct pull *pull, int table, size_t count, int depth, struct value *ret)
{
    struct value_list *list = value_list_new(pull->arena, count);

    for (size_t i = 1; i <= count; i++) {
        struct value item;
        int failed;

        lua_rawgeti(pull->L, table, (lua_Integer)i);
        failed = take_value(pull, lua_gettop(pull->L), depth + 1, &item);
        lua_pop(pull->L, 1);
        if (failed)
            return -1;
        value_list_push(pull->arena, list, item);
    }
    *ret = value_list(list);
    return 0;
}

static int take_lua_pair(struct pull *pull, int depth, struct value_pair *ret)
{
    int top = lua_gettop(pull->L);

    if (!convert_key(pull->L, top - 1, &ret->key))
        return err_set(pull->err, ERR_INVALID, "a %s cannot be the key of a map",
                       luaL_typename(pull->L, top - 1));
    if (ret->key.kind == VALUE_STR && take_string(pull, top - 1, &ret->key) < 0)
        return -1;
    return take_value(pull, top, depth + 1, &ret->value);
}

static int take_map(struct pull *pull, int table, size_t count, int depth, struct value *ret)
{
    struct value_pair *pairs = ARENA_ARRAY(pull->arena, struct value_pair, count);
    struct value_map *map = value_map_new(pull->arena, count);
    size_t n = 0;

    lua_pushnil(pull->L);
    while (lua_next(pull->L, table)) {
        if (take_lua_pair(pull, depth, &pairs[n++]) < 0) {
            lua_pop(pull->L, 2);
            return -1;
        }
        lua_pop(pull->L, 1);
    }
    qsort(pairs, n, sizeof(*pairs), compare_pulled_pairs);
    for (size_t i = 0; i < n; i++)
        value_map_set(pull->arena, map, pairs[i].key, pairs[i].value);
    *ret = value_map(map);
    return 0;
}

static int take_table(struct pull *pull, int index, int depth, struct value *ret)
{
    lua_State *L = pull->L;
    bool is_list;
    size_t count;
    int table, failed;

    if (depth >= CONVERT_DEPTH_MAX)
        return err_set(pull->err, ERR_LIMIT,
                       "the value is nested deeper than %d levels (a table inside itself?)",
                       CONVERT_DEPTH_MAX);
    if (!lua_checkstack(L, 8))
        return err_set(pull->err, ERR_LIMIT, "no room on the Lua stack");
    if (!frozen_push(L, index))
        lua_pushvalue(L, index);
    table = lua_gettop(L);
    count = count_pairs(L, table, &is_list);
    if (count > CONVERT_NODES_MAX - pull->nodes)
        failed =
            err_set(pull->err, ERR_LIMIT, "the value has more than %d parts", CONVERT_NODES_MAX);
    else
        failed = is_list ? take_lua_list(pull, table, count, depth, ret)
                         : take_map(pull, table, count, depth, ret);
    lua_settop(L, table - 1);
    return failed;
}

/* Count the nodes of a caller's tree before copying it. */
static void count_tree(struct pull *pull, const struct value *v, int depth)
{
    pull->nodes++;
    if (v->flags & VALUE_SECRET)
        state_of(pull->L)->secret = true;
    if (pull->nodes > CONVERT_NODES_MAX || depth > VALUE_TREE_DEPTH)
        return;
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        pull->bytes += v->s.n;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        count_tree(pull, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        count_tree(pull, &v->map->pairs[i].value, depth + 1);
}

static int take_object(struct pull *pull, int index, struct value *ret)
{
    const struct value *v;

    if (!proxy_peek(pull->L, index, &v))
        return err_set(pull->err, ERR_INVALID, "the value holds a table of an earlier evaluation");
    if (!v)
        return err_set(pull->err, ERR_INVALID, "a %s is not a value",
                       luaL_typename(pull->L, index));
    count_tree(pull, v, 0);
    if (check_pulled_size(pull) < 0)
        return -1;
    *ret = value_copy(pull->arena, v);
    return 0;
}

static int take_value(struct pull *pull, int index, int depth, struct value *ret)
{
    pull->nodes++;
    if (check_pulled_size(pull) < 0)
        return -1;
    switch (lua_type(pull->L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: *ret = value_null(); return 0;
    case LUA_TBOOLEAN: *ret = value_bool(lua_toboolean(pull->L, index)); return 0;
    case LUA_TNUMBER: *ret = get_number_at(pull->L, index); return 0;
    case LUA_TSTRING: return take_string(pull, index, ret);
    case LUA_TTABLE: return take_table(pull, index, depth, ret);
    default: return take_object(pull, index, ret);
    }
}

int convert_pull(lua_State *L, int index, struct arena *arena, struct value *ret, struct err *err)
{
    struct pull pull = { L, arena, 0, 0, err };
    struct value v;
    int failed;

    index = lua_absindex(L, index);
    failed = lua_checkstack(L, 8) ? take_value(&pull, index, 0, &v)
                                  : err_set(err, ERR_LIMIT, "no room on the Lua stack");
    if (failed)
        return -1;
    *ret = v;
    return 0;
}

#include "language/lua/proxy.h"

#include <lauxlib.h>

#include "core/base/buf.h"
#include "language/lua/convert.h"
#include "language/lua/state.h"

/* Limits of the search for a path, which is for messages only. */
#define PATH_DEPTH_MAX 32
#define PATH_NODES_MAX 100000

struct proxy {
    struct lua_variable *variable;
    const struct value *value;
    uint32_t generation;
};

static const char meta_key;

/* --- the value of a proxy ------------------------------------------------- */

static struct proxy *find_proxy(lua_State *L, int index)
{
    struct proxy *proxy = lua_touserdata(L, index);
    bool ours;

    if (!proxy || lua_islightuserdata(L, index) || !lua_getmetatable(L, index))
        return NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
    ours = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return ours ? proxy : NULL;
}

static bool is_proxy_current(const struct proxy *proxy)
{
    return proxy->generation == proxy->variable->generation;
}

bool proxy_is(lua_State *L, int index)
{
    return find_proxy(L, index) != NULL;
}

bool proxy_peek(lua_State *L, int index, const struct value **ret_value)
{
    const struct proxy *proxy = find_proxy(L, index);

    *ret_value = proxy ? proxy->value : NULL;
    return !proxy || is_proxy_current(proxy);
}

static struct proxy *get_proxy(lua_State *L, int index)
{
    struct proxy *proxy = find_proxy(L, index);

    if (proxy && !is_proxy_current(proxy))
        luaL_error(L,
                   "this table belongs to an earlier '%s'; keep the values you need, not the "
                   "table",
                   proxy->variable->name);
    return proxy;
}

const struct value *proxy_value(lua_State *L, int index)
{
    const struct proxy *proxy = get_proxy(L, index);

    return proxy ? proxy->value : NULL;
}

/* --- paths ------------------------------------------------------------------ */

struct path_search {
    const void *tree; /* scripts see two values of one tree as the same place */
    size_t nodes;
};

static const void *get_tree_address(const struct value *v)
{
    return v->kind == VALUE_LIST ? (const void *)v->list : (const void *)v->map;
}

static bool is_list_or_map(const struct value *v)
{
    return v->kind == VALUE_LIST || v->kind == VALUE_MAP;
}

static bool is_lua_name(struct str s)
{
    if (s.n == 0 || (s.p[0] >= '0' && s.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c != '_' && !(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return false;
    }
    return true;
}

static void print_path_key(const struct value *key, struct buf *out)
{
    if (key->kind == VALUE_STR && is_lua_name(key->s))
        buf_printf(out, ".%.*s", STR_ARG(key->s));
    else if (key->kind == VALUE_STR)
        buf_printf(out, "[\"%.*s\"]", STR_ARG(key->s));
    else if (key->kind == VALUE_INT)
        buf_printf(out, "[%lld]", (long long)key->i);
    else
        buf_add_text(out, "[?]");
}

/* Depth first; the text of a dead end is cut again. */
static bool search_path(struct path_search *s, const struct value *at, int depth, struct buf *out)
{
    size_t before = out->n;
    size_t count;

    if (!is_list_or_map(at) || s->nodes++ > PATH_NODES_MAX || depth > PATH_DEPTH_MAX)
        return false;
    if (get_tree_address(at) == s->tree)
        return true;
    count = at->kind == VALUE_LIST ? at->list->count : at->map->count;
    for (size_t i = 0; i < count; i++) {
        struct value number = value_int((int64_t)i + 1);
        const struct value *key = at->kind == VALUE_LIST ? &number : &at->map->pairs[i].key;
        const struct value *next =
            at->kind == VALUE_LIST ? &at->list->items[i] : &at->map->pairs[i].value;

        if (!is_list_or_map(next))
            continue;
        print_path_key(key, out);
        if (search_path(s, next, depth + 1, out))
            return true;
        buf_cut(out, before);
    }
    return false;
}

size_t proxy_print_path(const struct lua_variable *variable, const struct value *v, struct buf *out)
{
    struct path_search s = { get_tree_address(v), 0 };

    buf_add_text(out, variable->name);
    (void)search_path(&s, &variable->value, 0, out);
    return s.nodes;
}

/* The path in the sandbox's buffer, charged: a script may catch the error and continue. */
static const char *get_proxy_path(lua_State *L, const struct proxy *proxy)
{
    struct sandbox *sandbox = state_of(L);

    buf_clear(&sandbox->text);
    limits_charge(L, proxy_print_path(proxy->variable, proxy->value, &sandbox->text));
    return buf_text(&sandbox->text);
}

/* --- reading ------------------------------------------------------------------ */

void proxy_push(lua_State *L, struct lua_variable *variable, const struct value *v)
{
    struct proxy *proxy;

    if (v->flags & VALUE_SECRET)
        state_of(L)->secret = true;
    if (!is_list_or_map(v)) {
        convert_push(L, v);
        return;
    }
    proxy = lua_newuserdatauv(L, sizeof(*proxy), 0);
    *proxy = (struct proxy){ variable, v, variable->generation };
    lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
    lua_setmetatable(L, -2);
}

static const struct value *get_list_element(const struct value *list, lua_Integer i)
{
    if (i < 1 || (lua_Unsigned)i > list->list->count)
        return NULL;
    return &list->list->items[i - 1];
}

/* The pair under the Lua key at `index`; NULL when there is none. */
static const struct value_pair *find_proxy_pair(lua_State *L, const struct value *map, int index)
{
    struct value key;

    if (!convert_key(L, index, &key))
        return NULL;
    return value_map_find_pair(map->map, &key);
}

static const struct value *look_up_element(lua_State *L, const struct value *v, int index)
{
    const struct value_pair *pair;
    int is_integer;
    lua_Integer i;

    if (v->kind == VALUE_MAP) {
        pair = find_proxy_pair(L, v, index);
        return pair ? &pair->value : NULL;
    }
    i = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_integer) : 0;
    return get_list_element(v, i);
}

/* The key on top is missing: raise when the map is guarded. */
static void check_guard(lua_State *L, const struct proxy *proxy)
{
    struct sandbox *sandbox = state_of(L);

    VEC_EACH (&sandbox->guards, guard) {
        if (proxy->value->kind != VALUE_MAP || guard->map != proxy->value->map || !guard->why)
            continue;
        luaL_error(L, "'%s.%s' does not exist: %s", get_proxy_path(L, proxy),
                   lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?", guard->why);
    }
}

void proxy_get(lua_State *L, int index)
{
    struct proxy *proxy = get_proxy(L, index);
    const struct value *found = look_up_element(L, proxy->value, -1);

    if (!found) {
        check_guard(L, proxy);
        state_missed(L, proxy->variable, proxy->value, -1);
    }
    lua_pop(L, 1);
    if (found)
        proxy_push(L, proxy->variable, found);
    else
        lua_pushnil(L);
}

/* The position after the key on top. */
static size_t next_position(lua_State *L, const struct value *v)
{
    const struct value_pair *pair;
    int is_integer;
    lua_Integer i;

    if (lua_isnil(L, -1))
        return 0;
    if (v->kind == VALUE_MAP) {
        pair = find_proxy_pair(L, v, -1);
        if (pair)
            return (size_t)(pair - v->map->pairs) + 1;
    } else {
        i = lua_tointegerx(L, -1, &is_integer);
        if (is_integer && get_list_element(v, i))
            return (size_t)i;
    }
    return (size_t)luaL_error(L, "invalid key to 'next'");
}

bool proxy_next(lua_State *L, int index)
{
    struct proxy *proxy = get_proxy(L, index);
    const struct value *v = proxy->value;
    size_t count = v->kind == VALUE_MAP ? v->map->count : v->list->count;
    size_t i = next_position(L, v);

    lua_pop(L, 1);
    for (; i < count; i++) {
        const struct value *item =
            v->kind == VALUE_MAP ? &v->map->pairs[i].value : &v->list->items[i];

        if (item->kind == VALUE_NULL)
            continue;
        if (v->kind == VALUE_MAP)
            convert_push(L, &v->map->pairs[i].key);
        else
            lua_pushinteger(L, (lua_Integer)i + 1);
        proxy_push(L, proxy->variable, item);
        return true;
    }
    return false;
}

lua_Integer proxy_length(const struct value *v)
{
    struct value key = value_int(1);

    if (v->kind == VALUE_LIST)
        return (lua_Integer)v->list->count;
    while (value_map_find(v->map, &key))
        key.i++;
    return key.i - 1;
}

/* --- metamethods ---------------------------------------------------------------- */

static int on_index(lua_State *L)
{
    lua_settop(L, 2);
    proxy_get(L, 1);
    return 1;
}

static int on_write(lua_State *L)
{
    return luaL_error(L, "'%s' is read-only", get_proxy_path(L, get_proxy(L, 1)));
}

static int on_proxy_length(lua_State *L)
{
    lua_pushinteger(L, proxy_length(proxy_value(L, 1)));
    return 1;
}

static int on_proxy_next(lua_State *L)
{
    lua_settop(L, 2);
    if (!proxy_is(L, 1))
        return luaL_typeerror(L, 1, "table");
    if (proxy_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

/* `for key, value in deps do`, as in Luau: the object is called with a state, which is nil, and the
 * previous key. */
static int on_call(lua_State *L)
{
    if (!lua_isnil(L, 2))
        return luaL_error(L, "'%s' is not a function", get_proxy_path(L, get_proxy(L, 1)));
    lua_settop(L, 3);
    lua_remove(L, 2);
    return on_proxy_next(L);
}

static int on_proxy_pairs(lua_State *L)
{
    (void)get_proxy(L, 1);
    lua_pushcfunction(L, on_proxy_next);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static int on_equal(lua_State *L)
{
    const struct value *a = proxy_value(L, 1);
    const struct value *b = proxy_value(L, 2);

    lua_pushboolean(L, a && b && a->kind == b->kind && get_tree_address(a) == get_tree_address(b));
    return 1;
}

void proxy_open(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "__index", on_index },
        { "__newindex", on_write },
        { "__len", on_proxy_length },
        { "__pairs", on_proxy_pairs },
        { "__eq", on_equal },
        { "__call", on_call },
        { NULL, NULL },
    };

    lua_createtable(L, 0, 8);
    luaL_setfuncs(L, methods, 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushliteral(L, "table"); /* its name in messages */
    lua_setfield(L, -2, "__name");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
}

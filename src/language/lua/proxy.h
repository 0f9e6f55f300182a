/*
 * proxy - a value of the caller, as a script sees it: a table that cannot change.
 *
 * Scalars become Lua scalars. Lists and maps become a small object that reads
 * the tree on access, so a large context costs nothing. Indexing, '#',
 * pairs, ipairs and next work as on tables; a null counts as nil. type() says
 * "table". Two proxies of the same part of a tree are equal.
 *
 * A proxy may outlive its tree: once its variable was set again, every use raises.
 *
 * Inside src/language/lua/ only; functions may raise.
 */
#ifndef LANGUAGE_LUA_PROXY_H
#define LANGUAGE_LUA_PROXY_H

#include <lua.h>
#include <stdbool.h>

struct buf;
struct sandbox;
struct value;
struct lua_variable;

/* Make the metatable. */
void proxy_open(lua_State *L);

/* Push `v`, which is the value of `variable` or a part of it. */
void proxy_push(lua_State *L, struct lua_variable *variable, const struct value *v);

bool proxy_is(lua_State *L, int index);
/* The value behind the proxy at `index`; NULL when it is not a proxy. Raises when it is out of
 * date.
 */
const struct value *proxy_value(lua_State *L, int index);
/* The same without raising: false when it is out of date. `ret` is NULL when it is not a proxy. */
bool proxy_peek(lua_State *L, int index, const struct value **ret_value);

/* Index without metamethods: pop the key on top, push its value. */
void proxy_get(lua_State *L, int index);
/* The pair after the key on top, which is popped: pushes two values, or nothing and returns false.
 */
bool proxy_next(lua_State *L, int index);
lua_Integer proxy_length(const struct value *v);

/* The path of `v` as a script would write it: "deps.db.outputs". Returns the number of values
 * searched. */
size_t proxy_print_path(const struct lua_variable *variable, const struct value *v,
                        struct buf *out);

#endif

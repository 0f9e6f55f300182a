/*
 * frozen - Lua tables that are read-only.
 *
 * Lua 5.4 cannot freeze a table, so its content moves to a hidden one, and the table itself stays
 * empty behind a locked metatable. Functions that bypass metatables (next, rawget, rawset, rawlen)
 * must check here first.
 *
 * Inside src/language/lua/ only; functions may raise.
 */
#ifndef LANGUAGE_LUA_FROZEN_H
#define LANGUAGE_LUA_FROZEN_H

#include <lua.h>
#include <stdbool.h>

/* Replace the table on top by a frozen one with its content. `name` is for messages. */
void frozen_wrap(lua_State *L, const char *name);
/* Freeze the table at `index` in place. It must have no metatable. */
void frozen_seal(lua_State *L, int index);
/* Push the hidden content when the value at `index` is frozen; else push nothing. */
bool frozen_push(lua_State *L, int index);
bool frozen_is(lua_State *L, int index);
/* Push a locked metatable for an environment that falls back on the table on top, which is popped;
 * `on_write` is its __newindex. */
void frozen_push_env(lua_State *L, lua_CFunction on_write);

#endif

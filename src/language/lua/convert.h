/*
 * convert - values to Lua and back, by copy.
 *
 * To Lua: maps and lists become tables that a script may change, texts and bytes
 * strings, a time its RFC 3339 text, null nil.
 *
 * From Lua: nil becomes null; a table whose keys are exactly 1..n a list, an empty
 * one too; any other a map with scalar keys, in a fixed order: booleans, numbers,
 * then texts by bytes. Numbers without a fraction are integers, since the author
 * of a script sees one kind of number. A string that is not UTF-8 becomes bytes.
 * Functions, coroutines and foreign objects are refused, as are tables that are too
 * deep (or contain themselves) or too large. Metamethods are not called.
 *
 * Inside src/language/lua/ only.
 */
#ifndef LANGUAGE_LUA_CONVERT_H
#define LANGUAGE_LUA_CONVERT_H

#include <lua.h>
#include <stdbool.h>

#include "core/data/value.h"

struct arena;
struct err;

#define CONVERT_DEPTH_MAX 64
#define CONVERT_NODES_MAX 1000000
#define CONVERT_BYTES_MAX ((size_t)64 << 20) /* total of all texts */

/* Push a copy. May raise. */
void convert_push(lua_State *L, const struct value *v);

/* The scalar at `index` as a key that borrows its text; false when it cannot be a key. */
bool convert_key(lua_State *L, int index, struct value *ret_key);

/* The value at `index`, in the arena. Never raises; the stack stays the same. */
int convert_pull(lua_State *L, int index, struct arena *arena, struct value *ret, struct err *err);

#endif

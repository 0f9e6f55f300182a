/*
 * lib - the functions of scripts, one file for each table.
 *
 * Each opener expects the table of globals on top of the stack, adds to it and
 * leaves the stack as it was. Loops in C are charged with limits_charge, and
 * nothing trusts the length that a script's __len returns.
 *
 * Inside src/language/lua/ only; may raise.
 */
#ifndef LANGUAGE_LUA_LIB_H
#define LANGUAGE_LUA_LIB_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

void lib_open_base(lua_State *L);
void lib_open_coroutine(lua_State *L);
void lib_open_string(lua_State *L);
void lib_open_utf8(lua_State *L);
void lib_open_table(lua_State *L);
void lib_open_math(lua_State *L);
void lib_open_bit32(lua_State *L);
void lib_open_os(lua_State *L);
/* json and yaml */
void lib_open_data(lua_State *L);

/* find, match, gmatch, gsub: added to the string library by its opener. */
void lib_add_patterns(lua_State *L);

/* A float without a fraction, which is shown as an integer: authors see one kind of number. */
bool lib_is_whole(lua_State *L, int index, lua_Integer *ret);
/* Push the value at `index` as tostring() prints it. */
void lib_push_text(lua_State *L, int index);

/* The table on top becomes the frozen global `name`; it is popped. */
void lib_publish(lua_State *L, const char *name);

#endif

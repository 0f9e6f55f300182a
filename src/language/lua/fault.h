/*
 * fault - Lua's errors, with our wording and places.
 *
 * Inside, chunks are called "#17", so Lua's messages begin with "#17:3: ". Here that becomes the
 * line in the document; a nil name gets its whole path and the nearest existing name; Luau-only
 * syntax is named.
 */
#ifndef LANGUAGE_LUA_FAULT_H
#define LANGUAGE_LUA_FAULT_H

#include <lua.h>

struct chunk_code;
struct diags;
struct sandbox;

/* Message handler: turns any error into a text with its place. */
int fault_on_error(lua_State *L);

/* Add the error on top of the stack to `diags`. */
void fault_report(struct sandbox *sandbox, const struct chunk_code *code, int status,
                  struct diags *diags);

#endif

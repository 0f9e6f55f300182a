/*
 * state - the inside of a sandbox, for the files of src/language/lua/ only.
 *
 * Names are looked up in three tables, each the __index of the one before:
 *
 *     env of one block -> user: names of the top-level chunk -> base: library, variables
 *
 * so the globals of a block are dropped with it, and only the caller changes base.
 */
#ifndef LANGUAGE_LUA_STATE_H
#define LANGUAGE_LUA_STATE_H

#include <lua.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/vec.h"
#include "language/lua/limits.h"
#include "language/lua/sandbox.h"

#define STATE_KEY_MAX 64

/* A variable of the caller. It lives as long as the sandbox: proxies point here and compare
 * generations. */
struct lua_variable {
    const char *name;
    struct value value;
    uint32_t generation;
};

/* The last name that was not found: the likely cause of an error about nil. */
struct miss {
    const struct lua_variable *variable; /* NULL: a global */
    const struct value *parent;
    char key[STATE_KEY_MAX];
};

/* A map in which every name read must exist. */
struct guard {
    const struct value_map *map;
    const char *why;
};

struct callback {
    const char *name;
    sandbox_fn *fn;
    void *user;
};

/* A compiled text and its lines, for messages about functions that outlive it. */
struct chunk {
    struct place at;
    bool is_block; /* each line of it is one of the file */
};

struct sandbox {
    struct limits limits; /* the extra space of every Lua thread points here */
    lua_State *L;
    struct sandbox_options options;
    struct arena arena;   /* as long as the sandbox */
    struct arena scratch; /* one call of a C function; survives a raised error */
    struct buf text;      /* the same for text */
    VEC(struct lua_variable *) variables;
    VEC(struct guard) guards;
    VEC(struct chunk) chunks;
    size_t chunks_before; /* the number of the first one */
    size_t running;       /* the number of the running one */
    struct miss miss;
    bool sealed;     /* globals are read-only */
    bool secret;     /* a secret was read in this evaluation */
    bool unreadable; /* the code is not valid Lua */
};

struct sandbox *state_of(lua_State *L);

/* Push user, base, or the table of compiled chunks. */
void state_push_user(lua_State *L);
void state_push_base(lua_State *L);
void state_push_cache(lua_State *L);
void state_clear_cache(lua_State *L);

/* The libraries that are opened on first use; NULL after the last. */
const char *state_later_name(size_t i);

/* Remember that `key` (on the stack) was not in `parent`. */
void state_missed(lua_State *L, const struct lua_variable *variable, const struct value *parent,
                  int key);

/* The function on top gets a new environment. */
void state_give_env(lua_State *L);
/* Give the function on top the names of the top-level chunk. */
void state_give_user(lua_State *L);

#endif

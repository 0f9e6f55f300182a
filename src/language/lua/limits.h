/*
 * limits - the budget of a script: memory, instructions, time.
 *
 * One budget holds for everything that runs in a Lua state. The count hook
 * takes from it for instructions; C functions take from it by limits_charge for
 * their loops; the allocator takes from it for bytes, so that library functions that only copy are
 * charged as well. Once a limit is reached every further step raises again: pcall cannot swallow
 * it, and coroutines share it.
 *
 * Inside src/language/lua/ only. Threads: those of the state.
 */
#ifndef LANGUAGE_LUA_LIMITS_H
#define LANGUAGE_LUA_LIMITS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sandbox;

enum limits_reached {
    LIMITS_NONE,
    LIMITS_MEMORY,
    LIMITS_INSTRUCTIONS,
    LIMITS_TIME,
};

/* A monotonic clock of the caller. */
typedef int64_t limits_clock_fn(void *user);

struct limits {
    size_t memory, memory_max;
    int64_t steps, steps_max; /* steps: what is left */
    int64_t nanoseconds_max, deadline;
    int64_t next_look; /* value of `steps` at which the clock is checked again */
    limits_clock_fn *clock;
    void *clock_user;
    enum limits_reached reached;
    lua_State *L; /* the main thread of the run */
    bool large;   /* memory may hold a large text */
};

/* Begin a run with a full budget. */
void limits_begin(struct limits *limits, lua_State *L);

/* A lua_Alloc; `user` is the struct limits. */
void *limits_alloc(void *user, void *p, size_t old_size, size_t new_size);

/* The limits of the state of `L`. */
struct limits *limits_of(lua_State *L);
/* Take `steps` from the budget; raises when a limit is reached. */
void limits_charge(lua_State *L, size_t steps);
/* The same without raising: false when a limit is reached. `user` is the struct limits. */
bool limits_spend(void *user, size_t steps);
/* Raise the limit that limits_spend has reached. */
int limits_raise(lua_State *L);

/* Report the limit that was reached; returns -1. */
int limits_error(const struct limits *limits, struct err *err);

#endif

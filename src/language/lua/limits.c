#include "language/lua/limits.h"

#include <lauxlib.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Instructions between two calls of the hook, each of which checks the clock; and steps of C
 * functions between two checks. */
#define HOOK_COUNT 250
#define LOOK_STEPS 2000
/* With texts this large in memory, one instruction may take milliseconds: then the hook runs more
 * often. */
#define LARGE_BYTES ((size_t)1 << 20)
#define LARGE_COUNT 10
/* This many bytes of memory cost one step. */
#define STEP_BYTES 64
/* Smaller requests succeed even after a limit was reached: error messages need them. */
#define SMALL_BYTES 4096

struct limits *limits_of(lua_State *L)
{
    return *(struct limits **)lua_getextraspace(L);
}

static void look_at_clock(struct limits *limits)
{
    limits->next_look = limits->steps - LOOK_STEPS;
    if (limits->clock && limits->clock(limits->clock_user) >= limits->deadline)
        limits->reached = LIMITS_TIME;
}

bool limits_spend(void *user, size_t steps)
{
    struct limits *limits = user;

    if (steps >= (size_t)limits->steps_max || (int64_t)steps >= limits->steps) {
        limits->steps = 0;
        if (limits->reached != LIMITS_TIME)
            limits->reached = LIMITS_INSTRUCTIONS;
    } else {
        limits->steps -= (int64_t)steps;
        if (limits->steps <= limits->next_look)
            look_at_clock(limits);
    }
    return limits->reached == LIMITS_NONE || limits->reached == LIMITS_MEMORY;
}

static int hook_count(const struct limits *limits)
{
    return limits->large ? LARGE_COUNT : HOOK_COUNT;
}

static void on_instruction_count(lua_State *L, lua_Debug *ar)
{
    struct limits *limits = limits_of(L);
    int count = lua_gethookcount(L);

    (void)ar;
    limits->next_look = limits->steps; /* now */
    if (!limits_spend(limits, (size_t)count))
        limits_raise(L);
    else if (count != hook_count(limits)) /* or a coroutine that was stopped in an earlier run */
        lua_sethook(L, on_instruction_count, LUA_MASKCOUNT, hook_count(limits));
}

/* lua_sethook may be called at any moment. */
static void expect_slow(struct limits *limits)
{
    if (limits->large || !limits->L)
        return;
    limits->large = true;
    if (lua_gethookcount(limits->L) > LARGE_COUNT)
        lua_sethook(limits->L, on_instruction_count, LUA_MASKCOUNT, LARGE_COUNT);
}

int limits_raise(lua_State *L)
{
    lua_sethook(L, on_instruction_count, LUA_MASKCOUNT, 1);
    return luaL_error(L, "limit reached");
}

void limits_charge(lua_State *L, size_t steps)
{
    if (!limits_spend(limits_of(L), steps))
        limits_raise(L);
}

void limits_begin(struct limits *limits, lua_State *L)
{
    limits->reached = LIMITS_NONE;
    limits->steps = limits->steps_max;
    limits->next_look = limits->steps - LOOK_STEPS;
    limits->L = L;
    limits->large = limits->memory > LARGE_BYTES;
    if (limits->clock)
        limits->deadline = limits->clock(limits->clock_user) + limits->nanoseconds_max;
    lua_sethook(L, on_instruction_count, LUA_MASKCOUNT, hook_count(limits));
}

/* May the heap grow by this many bytes? After a refusal Lua collects all its garbage, which is work
 * too: it costs as if the whole heap had been written again. */
static bool may_grow(struct limits *limits, size_t bytes)
{
    if (bytes > limits->memory_max || limits->memory > limits->memory_max - bytes) {
        (void)limits_spend(limits, limits->memory / STEP_BYTES);
        if (limits->reached == LIMITS_NONE)
            limits->reached = LIMITS_MEMORY;
        return false;
    }
    return limits_spend(limits, bytes / STEP_BYTES) || bytes <= SMALL_BYTES;
}

void *limits_alloc(void *user, void *p, size_t old_size, size_t new_size)
{
    struct limits *limits = user;

    if (!p)
        old_size = 0; /* for a new block it is the kind of object */
    if (new_size == 0) {
        free(p);
        limits->memory -= old_size;
        return NULL;
    }
    if (new_size > old_size && !may_grow(limits, new_size - old_size))
        return NULL;
    if (new_size > LARGE_BYTES)
        expect_slow(limits);
    limits->memory = limits->memory - old_size + new_size;
    return mem_realloc(p, new_size);
}

int limits_error(const struct limits *limits, struct err *err)
{
    switch (limits->reached) {
    case LIMITS_TIME:
        return err_set(err, ERR_LIMIT, "the script ran longer than %lld ms, the time limit",
                       (long long)(limits->nanoseconds_max / 1000000));
    case LIMITS_INSTRUCTIONS:
        return err_set(err, ERR_LIMIT,
                       "the script took more than %lld steps, the instruction limit",
                       (long long)limits->steps_max);
    default:
        return err_set(err, ERR_LIMIT, "the script needs more than %zu KiB, the memory limit",
                       limits->memory_max >> 10);
    }
}

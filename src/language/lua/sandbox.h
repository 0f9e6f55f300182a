/*
 * sandbox - one Lua 5.4 state for expressions in the files of users.
 *
 *     sandbox_new -> sandbox_add_function... -> expr_run_script (the top-level chunk, once)
 *                 -> { sandbox_set..., expr_eval_value... }... -> sandbox_free
 *
 * A script sees base, string, table, math, bit32, utf8, coroutine, json, yaml and a small os; all
 * of them frozen. It can load no code, reach no file, and read no clock but the caller's. Memory,
 * instructions and time are limited, also inside string functions. Variables of the caller are
 * read-only and cost nothing until they are read; the table `global` is the one place that scripts
 * share and change.
 *
 * The language is Lua 5.4, not Luau. Luau's library contributes string.split, table.find, create,
 * clone, clear, freeze and isfrozen, math.clamp, round and sign, bit32, typeof; its syntax ('+=',
 * 'continue', 'if' as an expression, string interpolation, types) is missing, and the error message
 * says so.
 *
 * A strict sandbox, for code that decides about access, has less: no `global`, and only clock and
 * time in `os`. Once it is sealed, no global can be set.
 *
 * Memory: the heap. Threads: one at a time.
 */
#ifndef LANGUAGE_LUA_SANDBOX_H
#define LANGUAGE_LUA_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct err;
struct sandbox;

#define SANDBOX_MEMORY_DEFAULT ((size_t)64 << 20)
#define SANDBOX_STEPS_DEFAULT  INT64_C(10000000)
#define SANDBOX_TIME_DEFAULT   INT64_C(2000000000)
/* The minimum: a state cannot even be set up with less. */
#define SANDBOX_MEMORY_MIN ((size_t)256 << 10)
/* Maximum arguments of a function of the caller. */
#define SANDBOX_ARGUMENTS_MAX 32

/* Limits of a sandbox, its clocks and output. All may be zero: defaults, no time limit, no os.time
 * and os.date, print dropped. */
struct sandbox_options {
    size_t memory_max;       /* bytes */
    int64_t steps_max;       /* instructions, and steps of the library, of one evaluation */
    int64_t nanoseconds_max; /* for one evaluation */
    bool strict;
    uint64_t random_seed;
    int64_t (*clock)(void *user);                       /* monotonic, in nanoseconds */
    int64_t (*now)(void *user);                         /* seconds since 1970, UTC */
    int32_t (*utc_offset)(void *user, int64_t seconds); /* offset of local time; NULL: UTC */
    void (*print)(void *user, struct str line);         /* called with the text of print() */
    void *user;
};

/* A function that scripts may call. Arguments are borrowed; `ret` is null unless set, and may live
 * in the arena, which is cleared afterwards. A failure is raised in the script. */
typedef int sandbox_fn(void *user, const struct value *args, size_t count, struct arena *arena,
                       struct value *ret, struct err *err);

/* `options` may be NULL. */
struct sandbox *sandbox_new(const struct sandbox_options *options);
void sandbox_free(struct sandbox *sandbox);

/* Add a function called `name`: "success", or "os.getgroups" for a library function. A second one
 * of the same name replaces the first. Fails when there is no such library. */
int sandbox_add_function(struct sandbox *sandbox, const char *name, sandbox_fn *fn, void *user,
                         struct err *err);

/* Show `v` to scripts as `name`, read-only. Borrows the tree until the name is set again or the
 * sandbox ends: later uses of an older value raise an error. NULL: no such name. Fails when scripts
 * have used up the memory. */
int sandbox_set(struct sandbox *sandbox, const char *name, const struct value *v, struct err *err);

/* Reading a name that is not in `map`, a part of a variable's tree, raises "'kepler.env.X' does not
 * exist: <why>". Applies until it is called again for the map with NULL. Keeps a copy of `why`. */
void sandbox_guard(struct sandbox *sandbox, const struct value *map, const char *why);

/* From now on scripts cannot set a global, nor change those of the top-level chunk. Fails when
 * scripts have used up the memory. */
int sandbox_seal(struct sandbox *sandbox, struct err *err);

/* Bytes in use by scripts now. */
size_t sandbox_memory(const struct sandbox *sandbox);

#endif

/*
 * script - the Lua state behind the dynamic values of one config.
 *
 *     script_init -> { script_touch, script_eval... }... -> script_done
 *
 * The state is created, and the config's `lua:` chunk run in it, for the first value that needs
 * it; constants cost nothing. The owner provides the variables: `provide` is called before an
 * evaluation after script_touch reported a change.
 *
 * Memory: the heap; results live in the arena of the call. Threads: one at a time.
 */
#ifndef KEPLER_CONFIG_SCRIPT_H
#define KEPLER_CONFIG_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>

struct arena;
struct config;
struct diags;
struct err;
struct sandbox;
struct value;

/* Sets the variables of the sandbox. */
typedef int script_provide_fn(void *user, struct sandbox *sandbox, struct err *err);
/* Adds functions to a new sandbox. */
typedef int script_open_fn(void *user, struct sandbox *sandbox, struct err *err);

struct script {
    const struct config *config;
    const struct value *chunk; /* the top-level chunk, or NULL */
    script_open_fn *open;      /* or NULL */
    script_provide_fn *provide;
    void *user;
    struct sandbox *sandbox;     /* NULL: not needed so far */
    bool current;                /* the variables are up to date */
    const atomic_bool *canceled; /* set by another thread: evaluations stop; or NULL */
    bool broken;                 /* the chunk failed; reported once per evaluation */
};

/* `config` need not be complete yet. */
void script_init(struct script *script, const struct config *config, script_provide_fn *provide,
                 void *user);
void script_done(struct script *script);

/* The variables have changed: provide them again. */
void script_touch(struct script *script);
/* Creates the state and runs the chunk now. */
int script_start(struct script *script, const struct value *where, struct diags *diags);

/* `v` with everything dynamic in it evaluated. */
int script_eval(struct script *script, const struct value *v, struct arena *arena,
                struct value *ret, struct diags *diags);

/* Removes all variables: the memory they borrow may be freed. */
void script_forget(struct script *script, const char *const *names);

#endif

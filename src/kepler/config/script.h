/*
 * script - the Lua state behind the dynamic values of one config.
 *
 *     script_init -> { script_touch, script_eval... }... -> script_done
 *
 * The state is made, and the `lua:` chunk of the config run in it, when the first
 * value that needs it is met; what is not dynamic costs nothing. Variables are
 * built by the owner: `provide` is called before an evaluation whenever something
 * they show may have changed (script_touch).
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

/* Set the variables of the sandbox. */
typedef int script_provide_fn(void *user, struct sandbox *sandbox, struct err *err);
/* Add functions to a new sandbox. */
typedef int script_open_fn(void *user, struct sandbox *sandbox, struct err *err);

struct script {
    const struct config *config;
    const struct value *chunk; /* the top-level chunk, or NULL */
    script_open_fn *open;      /* or NULL */
    script_provide_fn *provide;
    void *user;
    struct sandbox *sandbox;     /* NULL: not needed so far */
    bool current;                /* the variables show what is */
    const atomic_bool *canceled; /* set by another thread: no evaluation goes on; or NULL */
    bool broken;                 /* the chunk failed; reported once per evaluation */
};

/* `config` need not be read yet. */
void script_init(struct script *script, const struct config *config, script_provide_fn *provide,
                 void *user);
void script_done(struct script *script);

/* The variables must be provided again. */
void script_touch(struct script *script);
/* Make the state and run the chunk now. */
int script_start(struct script *script, const struct value *where, struct diags *diags);

/* `v` with everything dynamic in it evaluated. */
int script_eval(struct script *script, const struct value *v, struct arena *arena,
                struct value *ret, struct diags *diags);

/* Forget all variables: what they borrowed may go. */
void script_forget(struct script *script, const char *const *names);

#endif

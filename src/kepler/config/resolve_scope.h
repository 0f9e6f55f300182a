/*
 * resolve_scope - the variables that expressions see while a service, step or output is resolved.
 *
 * The tables service, hook, hooks, deps, kepler and owner are built from the engine's context and
 * the environments so far, when an expression is met. The status functions always, success,
 * failure and skipped answer for the phase and for deps.
 *
 * Inside config/ only. Memory: the tables live until they are rebuilt, and are removed from the
 * scripts at the end of the call; results live in its arena.
 */
#ifndef KEPLER_CONFIG_RESOLVE_SCOPE_H
#define KEPLER_CONFIG_RESOLVE_SCOPE_H

#include "kepler/config/resolve.h"
#include "kepler/config/script.h"

struct resolver {
    const struct config *config;
    struct script script;
    struct arena own;    /* lives as long as the resolver */
    struct arena tables; /* scripts see these now */
    const char *owner_name;
    bool owner_known;
    /* The current call: */
    struct arena *arena;
    struct diags *diags;
    const struct config_service *service;
    const struct resolve_context *context;
    const struct environment *kepler_env;
    const struct environment *env, *env_file;           /* service.env, service.env_file */
    const struct environment *hook_env, *hook_env_file; /* hook.env, hook.env_file */
    struct value kepler_vars;                           /* kepler.env, while scripts see it */
    bool failure_asked;                                 /* failure() was called without a name */
    bool evaluated; /* the current value was evaluated as a whole: marks in it are plain text */
};

/* Call around each resolution. */
void resolve_scope_begin(struct resolver *resolver, const struct config_service *service,
                         const struct resolve_context *context, struct arena *arena,
                         struct diags *diags);
void resolve_scope_end(struct resolver *resolver);

/* `v` evaluated; the same value when nothing in it is dynamic. */
int resolve_scope_eval(struct resolver *resolver, const struct value *v, struct value *ret);
/* As text, from any scalar; NULL for nil. Fails for other types and for NUL bytes. */
int resolve_scope_text(struct resolver *resolver, const struct value *v, const char *key,
                       const char **ret_text);
/* As text, from a scalar that was evaluated already. */
int resolve_scope_print(struct resolver *resolver, const struct value *v, const char *key,
                        const char **ret_text);

/* --- resolve_program.c ------------------------------------------------------------------- */

/* Adds env_file and environment to both environments; `ret_file` gets the variables of the file.
 * `child` may be the same as `full`. */
int resolve_program_env(struct resolver *resolver, const struct config_program *program,
                        struct environment *full, struct environment *child,
                        struct environment *ret_file);

/* The user of a program. */
struct resolve_user {
    bool has_user;
    struct process_user user;
    const struct account *account;  /* NULL: no account with this number */
    const struct account *identity; /* for HOME and similar; NULL: keep what is inherited */
};
/* `user` and `groups` are evaluated; NULL: not given. */
int resolve_program_user(struct resolver *resolver, const char *user, const struct value *groups,
                         const struct value *where, struct resolve_user *ret);

/* All except environment and user: command, folder, limits. */
int resolve_program_rest(struct resolver *resolver, const struct config_program *program,
                         const char *default_cwd, struct launch_program *ret);

#endif

/*
 * resolve - resolves a service for one start: evaluates expressions, looks up users.
 *
 *     resolver_new -> { resolve_service, resolve_step..., resolve_outputs }... -> resolver_free
 *
 * A resolver is one Lua state that has run the config's `lua:` chunk. Users of one resolver share
 * `global`: all services of one start do; hooks, restarts and respawns each take a fresh one. The
 * state is created for the first expression, so a config without any costs nothing.
 *
 * Order of a start: env_file, environment (each entry sees those before it), `if`, command or run,
 * working_dir, user, groups, limits, healthcheck, restart, logs. A mistake fails that service,
 * with the place of the expression.
 *
 * The child's environment, later wins: kepler env (unless inherit_env is false),
 * env_file, environment, then HOME USER LOGNAME SHELL of the user it runs as.
 *
 * Reads the disk (env files, folders) and the machine's accounts. Memory: results live in the
 * arena. Threads: one at a time.
 */
#ifndef KEPLER_CONFIG_RESOLVE_H
#define KEPLER_CONFIG_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/config/launch.h"
#include "kepler/config/status.h"

struct arena;
struct diags;
struct resolver;

/* Maximum size of an environment file. */
#define RESOLVE_ENV_FILE_MAX ((size_t)1 << 20)

/* A service as expressions see it: `service`, and `deps.NAME`. */
struct resolve_facts {
    const char *name;
    enum status status;
    bool has_exit_code;
    int exit_code;
    bool initialized;
    uint32_t restart_count, restart_count_since_healthy;
    const struct environment *env; /* of its last start; NULL: none */
    const struct value *outputs;   /* map of texts; NULL: none */
};

/* The context of one evaluation, filled by the engine. Borrowed for the call. */
struct resolve_context {
    const struct environment *kepler_env; /* with -e applied; NULL: the config's own */
    const struct value *flags;            /* with -D applied; NULL: the config's own */
    const char *env_files;                /* folder with kept copies of env files, or NULL */
    struct resolve_facts self;
    const struct resolve_facts *deps;
    size_t dep_count;
    const struct value *hooks; /* PHASE -> outputs -> STEP -> KEY -> text; or NULL */
    /* In a hook: */
    bool in_hook;
    enum hook_phase phase;
    bool had_failure; /* an earlier step of the phase failed, and nothing cleared it */
};

struct resolver *resolver_new(const struct config *config);
void resolver_free(struct resolver *resolver);
/* Once another thread sets the flag, evaluations fail soon; NULL: never. Kept, not copied. */
void resolver_set_cancel(struct resolver *resolver, const atomic_bool *canceled);

/* Resolves everything for one start. Returns -1 when it added to `diags`. */
int resolve_service(struct resolver *resolver, const struct config_service *service,
                    const struct resolve_context *context, struct arena *arena,
                    struct launch *ret_launch, struct diags *diags);

/* Resolves one hook step, when it is about to run. `launch` is that of the service's last start. */
int resolve_step(struct resolver *resolver, const struct config_service *service,
                 const struct config_step *step, const struct launch *launch,
                 const struct resolve_context *context, struct arena *arena,
                 struct launch_step *ret_step, struct diags *diags);

/* The declared `outputs` of a service that ended, as a map of texts: the process's outputs
 * (`process`, may be NULL) with the declared ones on top. */
int resolve_outputs(struct resolver *resolver, const struct config_service *service,
                    const struct value *process, const struct launch *launch,
                    const struct resolve_context *context, struct arena *arena,
                    struct value *ret_outputs, struct diags *diags);

/* The path of an env file's copy: `folder`/<service>_<basename>, or with a hash of the path when
 * that is too long or ambiguous with another service. */
const char *resolve_env_file_copy(struct arena *arena, const char *folder,
                                  const struct config *config, const char *service,
                                  const char *path);

#endif

/*
 * config_read - decodes the sections of an orchestrator file, each from a value into its struct.
 *
 * A section with dynamic values is read twice: at load without them, so that keys and types are
 * checked; and at each start, evaluated, by resolve. Both use the functions here. All mistakes go
 * into the diagnostics; `owner` names the section's owner in them: "service 'web'".
 *
 * Inside config/ only. Memory: the arena; values are borrowed from the document.
 */
#ifndef KEPLER_CONFIG_CONFIG_READ_H
#define KEPLER_CONFIG_CONFIG_READ_H

#include "kepler/config/config.h"

struct map;
struct script;

/* Shared by all readers of one load. */
struct config_reader {
    struct arena *arena;
    struct diags *diags;
    struct config *config;
    struct diags *warned;    /* problems that do not fail the load */
    struct script *script;   /* evaluates values that must be known at load */
    const struct map *names; /* name of a service to its index + 1 */
    int64_t edge_timeout;    /* kepler.timeout: for edges without their own */
    struct map *aliases;     /* alias names of rights to their lists; NULL: none */
    size_t code_size;        /* of authorizers so far */
};

/* The parameter tables of the sections; config_manual prints them. */
extern const struct param config_root_params[], config_kepler_params[], config_autostart_params[],
    config_logs_params[], config_service_logs_params[], config_store_params[],
    config_retention_params[], config_service_params[], config_edge_params[], config_state_params[],
    config_restart_params[], config_start_limit_params[], config_health_params[],
    config_step_params[], config_limit_params[], config_acl_params[], config_rule_params[],
    config_permission_params[], config_monitor_params[];

/* NULL when the key is missing or null. */
const struct value *config_given(const struct value *v);
/* `v` without its dynamic pairs; `v` itself when it has none. */
const struct value *config_static(struct arena *arena, const struct value *v);
/* The params_decode policy that all sections share. */
struct params_policy config_policy(const char *owner);

/* --- the services: config_program.c ---------------------------------------------------------- */

struct config_program_args {
    const struct value *command, *run, *user, *groups, *working_dir, *environment, *env_file,
        *limits;
    enum param_tristate inherit_env, user_identity, no_new_privileges;
};
/* Defaults for settings that a program omits. */
struct config_program_defaults {
    bool inherit_env, no_new_privileges;
    bool may_be_empty; /* `command: []` is a program that always succeeds */
};
int config_program_read(struct arena *arena, const struct config_program_args *args,
                        const struct config_program_defaults *defaults, const char *owner,
                        const struct value *where, struct config_program *ret, struct diags *diags);
int config_limits_read(struct arena *arena, const struct value *v, const char *owner,
                       struct config_limits *ret, struct diags *diags);
/* `if`: true, false, an expression, a block; text without marks is an expression too. NULL when it
 * is not given, and when it added to `diags`. */
const struct value *config_condition_read(struct arena *arena, const struct value *v,
                                          struct diags *diags);

/* --- sections ---------------------------------------------------------------------------- */

/* Unknown keys beside the policy are not errors: they are reported in `warned`. */
int config_restart_read(struct arena *arena, const struct value *v, const char *owner,
                        struct config_restart *ret, struct diags *warned, struct diags *diags);
int config_health_read(struct arena *arena, const struct value *v,
                       const struct config_program_defaults *defaults, const char *owner,
                       struct config_health *ret, struct diags *diags);
/* All ten phases; NULL: no hooks. */
int config_hooks_read(struct arena *arena, const struct value *v,
                      const struct config_program_defaults *defaults, const char *owner,
                      struct config_steps ret[HOOK_PHASES], struct diags *diags);
/* `kepler.logs`, on top of the defaults. */
int config_logs_read_global(struct arena *arena, const struct value *v, struct config_logs *ret,
                            struct diags *diags);
/* `logs` of a service: overrides the fields of the global settings in `ret`. */
int config_logs_read_service(struct arena *arena, const struct value *v, const char *owner,
                             struct config_logs *ret, struct diags *diags);
/* `kepler.monitor`. */
int config_monitor_read(struct arena *arena, const struct value *v, struct config_monitor *ret,
                        struct diags *diags);
/* `kepler.acl`; NULL: none. Its aliases apply to the permissions of services, too. */
int config_acl_read(struct config_reader *reader, const struct value *v);
int config_permissions_read(struct config_reader *reader, const struct value *v, const char *owner,
                            struct config_permissions *ret);
/* depends_on, in all its forms. */
int config_edges_read(struct config_reader *reader, const struct value *v,
                      struct config_service *service);
/* depends_on entries about states of this machine. */
#define CONFIG_STATE_KEY "state"
int config_states_read(struct config_reader *reader, const struct value *v,
                       struct config_service *service);
/* One service of the file. */
int config_service_read(struct config_reader *reader, const struct value *v,
                        struct config_service *service);
/* Relations between services: cycles, order, health; fills order, levels and warnings. */
int config_check_graph(struct config_reader *reader);

#endif

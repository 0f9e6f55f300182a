/*
 * config - one orchestrator file, checked and frozen.
 *
 * Loading reads the YAML (1.2 core), refuses unknown keys and wrong types with
 * place and suggestion, all at once, evaluates what the file says must be known
 * at load (edges of depends_on, `kepler.logs`), and finds cycles. What a service
 * may compute (`${{ }}$`, `!lua`) stays a `struct value` here and is evaluated
 * anew at each start of that service: supervise/resolve.h.
 *
 * Editing the file later changes nothing until it is loaded again.
 *
 * Memory: the arena given to config_load; all of it lives as long as that.
 * Threads: immutable once loaded.
 */
#ifndef SUPERVISE_CONFIG_H
#define SUPERVISE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "data/params.h"
#include "data/value.h"
#include "supervise/condition.h"
#include "supervise/policy.h"

struct arena;
struct diags;
struct sandbox;

#define CONFIG_FILE_MAX     ((size_t)10 << 20)
#define CONFIG_SERVICES_MAX 10000

/* A field that may be dynamic. NULL: not given. */
typedef const struct value *config_value;

enum config_keep { CONFIG_RETAIN, CONFIG_CLEAR };

/* What happens to stored lines at each turn of a service's life. */
struct config_logs {
    bool store_stdout, store_stderr;
    enum config_keep on_start, on_stop, on_restart, on_success, on_failure, on_skipped;
    int64_t flush_interval, retention_period, cleanup_interval; /* nanoseconds; 0: none */
    int64_t max_size; /* bytes a config may keep; 0: the default of the log store */
};

/* One edge of depends_on. */
struct config_edge {
    uint32_t service; /* index of the dependency */
    enum condition condition;
    int64_t timeout; /* nanoseconds; 0: waits for ever */
    bool restart, allow_skipped;
    struct condition_codes codes; /* exit_code filter */
    struct place at;
};

enum hook_phase {
    HOOK_PRE_START,
    HOOK_POST_START,
    HOOK_PRE_STOP,
    HOOK_POST_STOP,
    HOOK_PRE_RESTART,
    HOOK_POST_RESTART,
    HOOK_POST_EXIT,
    HOOK_PRE_CLEANUP,
    HOOK_POST_HEALTHCHECK_SUCCESS,
    HOOK_POST_HEALTHCHECK_FAIL,
};
#define HOOK_PHASES (HOOK_POST_HEALTHCHECK_FAIL + 1)
const char *hook_phase_name(enum hook_phase phase);

struct config_limits {
    config_value memory; /* size */
    int64_t cpu_time;    /* seconds; 0: none */
    int64_t max_fds;     /* 0: none */
};

struct config_step {
    config_value condition; /* `if` */
    config_value command, run;
    config_value user, groups, working_dir, environment, env_file;
    bool inherit_env, user_identity, no_new_privileges;
    const char *output; /* name of the step's outputs, or NULL */
    int64_t timeout;    /* nanoseconds; a hook never hangs a service for ever */
    struct config_limits limits;
    struct place at;
};

struct config_health {
    bool given;
    config_value command, run, user, groups;
    int64_t interval, timeout, start_period;
    int64_t retries;
    bool user_identity, no_new_privileges;
};

struct config_service {
    const char *name;
    config_value condition; /* `if` */
    config_value command, run, working_dir, environment, env_file, user, groups;
    bool inherit_env, user_identity, no_new_privileges, output;
    config_value outputs; /* map name -> text */
    struct config_edge *edges;
    size_t edge_count;
    struct policy policy;    /* restart; dynamic parts as values inside */
    struct param_strs watch; /* globs; `!` excludes */
    struct config_health health;
    struct {
        struct config_step *steps;
        size_t count;
    } hooks[HOOK_PHASES];
    struct config_logs logs;
    struct config_limits limits;
    int stop_signal;                                 /* SIGTERM */
    int64_t stop_grace_period;                       /* 10 s; 0: kill at once */
    int64_t start_limit_count, start_limit_interval; /* crash loops end in failed */
    struct place at;
};

struct config {
    const char *path; /* canonical */
    const char *folder;
    struct str text; /* as it was read */
    const char *lua; /* the top-level chunk, or NULL */
    struct place lua_at;
    bool default_inherit_env;
    bool autostart;
    config_value autostart_environment; /* list; NULL: none declared */
    int64_t output_max_size;
    struct config_logs logs;
    struct config_service *services;
    uint32_t service_count;
    const uint32_t *order;      /* topological, dependencies first */
    const uint32_t *levels;     /* of each service */
    VEC(const char *) warnings; /* conditions that can never hold, and the like */
};

/* Read and check `text`, the content of `path`. `sandbox` evaluates what must be known now. */
int config_load(struct arena *arena, const char *path, struct str text, struct sandbox *sandbox,
                const struct config **ret, struct diags *diags);

/* The index of a service, or -1. */
int64_t config_find(const struct config *config, const char *name);

#endif

/*
 * config - one orchestrator file, checked and frozen.
 *
 * Loading reads the YAML (1.2 core) and reports unknown keys and wrong types all at once, with
 * place and suggestion. It captures the environment and the owner, evaluates the parts that must
 * be known at load (depends_on edges, `kepler.logs`, `kepler.autostart.environment`), and finds
 * cycles. Values that a service computes (`${{ }}$`, `!lua`) stay a `struct value` here and are
 * evaluated at each start of that service: kepler/config/resolve.h.
 *
 * Editing the file later changes nothing until it is loaded again.
 *
 * Memory: the arena given to config_load; all of it lives as long as that.
 * Threads: immutable once loaded.
 */
#ifndef KEPLER_CONFIG_CONFIG_H
#define KEPLER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kepler/access/acl.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "kepler/config/condition.h"
#include "kepler/config/hook_phase.h"
#include "kepler/config/policy.h"

struct arena;
struct dag;
struct diags;
struct environment;
struct map;

/* The original's release whose files we read; `version:` is compared with it. */
#define CONFIG_VERSION "0.15.2"

#define CONFIG_FILE_MAX     ((size_t)10 << 20)
#define CONFIG_SERVICES_MAX 10000
#define CONFIG_NAME_MAX     128
#define CONFIG_STATES_MAX   64 /* edges of one service */
#define CONFIG_STATE_MAX    512
#define CONFIG_STEPS_MAX    100 /* steps of one phase of one service */

enum config_keep { CONFIG_RETAIN, CONFIG_CLEAR };

/* Whether stored lines are kept at each point in a service's life. */
struct config_logs {
    bool store_stdout, store_stderr;
    enum config_keep on_start, on_stop, on_restart, on_success, on_failure, on_skipped;
    /* For the whole config; a service has the same values. Nanoseconds; 0: none. */
    int64_t flush_interval, retention_period, cleanup_interval;
    int64_t batch_size; /* lines that are flushed before the interval is over */
    int64_t max_size;   /* bytes a config may store; 0: the log store's default */
    bool sync;          /* `storage: nfs`: a flush is on disk before it counts */
};

/* One edge of depends_on. */
struct config_edge {
    uint32_t service; /* index of the dependency */
    enum condition condition;
    int64_t timeout; /* nanoseconds; 0: waits for ever */
    bool restart, allow_skipped;
    bool optional; /* `required: false`: not waited for once it is unreachable or overdue */
    struct condition_codes codes; /* exit_code filter */
    struct place at;
};

/* A state of this machine in depends_on. */
struct config_state {
    const char *name;
    int64_t timeout; /* nanoseconds; 0: waits for ever */
    bool restart;    /* when it reports changes */
    struct place at;
};

struct config_limits {
    int64_t memory;               /* bytes; 0: none */
    int64_t cpu_time;             /* seconds; 0: none */
    int64_t max_fds;              /* 0: none */
    const struct value *computed; /* the map, if it has dynamic values; else NULL */
};

/* A command with its folder and user: the same in a service, a health check and a hook step. Values
 * may be dynamic; NULL: not given. */
struct config_program {
    const struct value *command, *run; /* one of them */
    const struct value *user, *groups, *working_dir, *environment, *env_file;
    bool inherit_env, user_identity, no_new_privileges;
    bool may_be_empty; /* no command: runs nothing and succeeds */
    struct config_limits limits;
};

struct config_step {
    const struct value *condition; /* `if`; NULL: not given */
    struct config_program program;
    const char *output; /* name of the step's outputs, or NULL */
    int64_t timeout;    /* nanoseconds; a hook never hangs a service forever */
    struct place at;
};

struct config_steps {
    struct config_step *p;
    size_t n;
};

struct config_health {
    bool given;
    struct config_program program;
    int64_t interval, timeout, start_period; /* nanoseconds */
    int64_t retries;
    const struct value *computed; /* the map, if it has dynamic values; else NULL */
};

/* `restart:` */
struct config_restart {
    struct policy policy;
    struct param_strs watch;      /* globs; `!` excludes */
    const struct value *computed; /* the map, if it has dynamic values; else NULL */
};

/* Requests that its processes may send to the daemon with a token. */
struct config_permissions {
    bool given;
    uint64_t allow;
    enum hardening hardening; /* minimum level of configs it is used on */
    const struct value *authorize;
};

struct config_service {
    const char *name;
    const struct value *condition; /* `if`; NULL: not given */
    struct config_program program;
    bool output;                         /* capture ::output:: lines of the process */
    const struct value *output_computed; /* the switch, if dynamic; else NULL */
    const struct value *outputs;         /* map name -> text, evaluated after the exit; or NULL */
    struct config_edge *edges;
    size_t edge_count;
    struct config_state *states;
    size_t state_count;
    struct config_restart restart; /* the policy itself is never dynamic */
    struct config_health health;
    struct config_steps hooks[HOOK_PHASES];
    struct config_logs logs;
    const struct value *logs_computed; /* the map, if it has dynamic values */
    int stop_signal;                   /* SIGTERM */
    int reload_signal;                 /* SIGHUP */
    int64_t stop_grace_period;         /* 0: kill at once; -1: not given */
    int64_t start_limit_count,
        start_limit_interval; /* more restarts are a crash loop; 0: no limit */
    bool start_limit_ends;    /* a crash loop ends in failed; else it is slowed down */
    struct config_permissions permissions;
    struct place at;
};

/* `kepler.monitor`; nanoseconds and bytes. */
struct config_monitor {
    int64_t interval;         /* 0: no sampling */
    int64_t retention_period; /* 0: no limit */
    int64_t cleanup_interval, max_size;
};

/* The user who loaded the file. Services of a non-root owner run as that user. */
struct config_owner {
    uid_t uid;
    gid_t gid;
};

/* Rights withheld from the tokens of services, whatever the file grants: a config loaded with a
 * token cannot hand out more rights than that token has. */
struct config_ceiling {
    uint64_t withheld;
    enum hardening hardening;
};

struct config {
    const char *path; /* canonical */
    const char *folder;
    struct str text;         /* as it was read */
    const struct value *lua; /* the top-level chunk, or NULL */
    struct config_owner owner;
    enum hardening hardening; /* level for services of a non-root owner */
    struct config_ceiling ceiling;
    const struct acl *acl;                /* NULL: none */
    const struct environment *kepler_env; /* as captured or declared at load */
    const struct value *flags;            /* map of texts, for Lua only; never NULL */
    bool default_inherit_env;
    bool has_kepler; /* the file has a section `kepler` */
    bool autostart;
    const struct value *kept; /* kepler.autostart.environment as written, or NULL */
    VEC(struct str) declared; /* names in it, set or not */
    int64_t timeout;          /* for edges without their own that wait for a start; or 0 */
    int64_t output_max_size;
    const char *zester_data; /* zester's data folder on this machine; NULL: the default */
    struct config_logs logs;
    struct config_monitor monitor;
    struct config_service *services;
    uint32_t service_count;
    const struct map *names;    /* services by name, for config_find */
    const struct dag *graph;    /* of the services, dependencies first */
    const uint32_t *order;      /* topological, dependencies first */
    const uint32_t *levels;     /* levels by service */
    VEC(const char *) warnings; /* conditions that can never hold and similar, with places */
};

/* The source of a config. All but path and text may be zero. */
struct config_source {
    const char *path; /* canonical */
    struct str text;
    const struct environment *cli_env;    /* the caller's; NULL: empty */
    const struct environment *kepler_env; /* from a snapshot, taken as it is; or NULL */
    const struct value *flags;            /* map of texts, or NULL */
    struct config_owner owner;
    enum hardening hardening;
    struct config_ceiling ceiling;
};

/* Reads and checks the file. Copies everything that `source` points to. Returns -1 when it added to
 * `diags`. */
int config_load(struct arena *arena, const struct config_source *source, const struct config **ret,
                struct diags *diags);

/* Checks the syntax of all Lua that services compute. Services evaluate it when they start, where a
 * mistake fails the service; this finds syntax errors early. Call it after config_load, even if
 * that refused the file: diagnostics are not repeated. Uses only path and text of `source`. */
int config_check_code(struct arena *arena, const struct config_source *source, struct diags *diags);

/* Warns of users, groups, folders and env files that the file names and this machine lacks; skips
 * computed values. They are not needed before the service starts, so these are warnings. */
void config_find_missing(struct arena *arena, const struct config *config, struct diags *diags);

/* `kepler.env` as scripts see it: names declared but not set are null. */
struct value config_vars(const struct config *config, const struct environment *env,
                         struct arena *arena);

/* The index of a service, or -1. */
int64_t config_find(const struct config *config, const char *name);
/* Do too many restarts end in failed? */
bool config_is_limited(const struct config_service *service);

#endif

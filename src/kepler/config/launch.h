/*
 * launch - everything that is needed to start a program, with nothing left to compute.
 *
 * kepler/config/resolve.h makes these from a configuration; the engine hands them to
 * core/sys/process.h. A launch belongs to one start of one service: health checks and
 * hooks of that start take their environment, folder and user from it.
 *
 * Memory: the arena given to resolve; the engine keeps it as long as the run.
 */
#ifndef KEPLER_CONFIG_LAUNCH_H
#define KEPLER_CONFIG_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sys/process.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"

/* Memory, CPU time, open files. */
#define LAUNCH_LIMITS_MAX 3

struct launch_program {
    const char *const *argv; /* a shell and its arguments for `run` */
    const char *const *env;  /* exactly what the child gets */
    const char *cwd;         /* absolute; it is there */
    bool has_user;           /* false: as the daemon itself */
    struct process_user user;
    struct process_limit limits[LAUNCH_LIMITS_MAX];
    size_t limit_count;
    bool no_new_privs;
};

struct launch_health {
    bool given;
    struct launch_program program;
    int64_t interval, timeout, start_period, retries;
};

struct launch {
    bool skipped;       /* `if` was false: `reason` says so and nothing else is set */
    const char *reason; /* "`if` condition evaluated to false: `service.debug`" */
    struct launch_program program;
    /* What expressions see: inherited or not. What hooks and health checks inherit. */
    const struct environment *full_env, *child_env, *env_file;
    const char *user; /* as the service says it; NULL: the owner, or the daemon itself */
    const struct value *groups;
    struct launch_health health;
    struct policy policy;
    struct param_strs watch; /* globs, relative ones against program.cwd */
    struct config_logs logs;
    bool output; /* capture ::output:: lines */
};

/* One step of a hook, decided and ready. */
struct launch_step {
    bool run;            /* false: its condition or an earlier failure skips it */
    bool clears_failure; /* a success of this step forgets the earlier failure */
    const char *warning; /* the condition could not be evaluated; or NULL */
    struct launch_program program;
    const char *output; /* capture ::output:: lines under this name; or NULL */
    int64_t timeout;
};

/* The words for process_start, but for streams, group and cgroup. */
void launch_program_spec(const struct launch_program *program, struct process_spec *ret_spec);

#endif

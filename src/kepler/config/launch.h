/*
 * launch - everything needed to start a program, with nothing left to compute.
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
    const char *const *argv; /* for `run`: a shell and its arguments */
    const char *const *env;  /* exactly the child's environment */
    const char *cwd;         /* absolute; it exists */
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
    /* Seen by expressions, inherited or not; and inherited by hooks and health checks. */
    const struct environment *full_env, *child_env, *env_file;
    const char *user; /* as the service sets it; NULL: the owner, or the daemon's user */
    const struct value *groups;
    struct launch_health health;
    struct policy policy;
    struct param_strs watch; /* globs, relative to program.cwd */
    struct config_logs logs;
    bool output; /* capture ::output:: lines */
};

/* One hook step, ready to run. */
struct launch_step {
    bool run;            /* false: its condition or an earlier failure skips it */
    bool clears_failure; /* success of this step clears the earlier failure */
    const char *warning; /* error in the condition; or NULL */
    struct launch_program program;
    const char *output; /* capture ::output:: lines under this name; or NULL */
    int64_t timeout;
};

/* The spec for process_start, without streams, group and cgroup. */
void launch_program_spec(const struct launch_program *program, struct process_spec *ret_spec);

#endif

/*
 * orchestrator - kepler on this machine, through the socket of its daemon.
 *
 * A service is named by the path of its config, by a short name of the config, or alone when only
 * one config has such a service:
 *
 *     /srv/web/kepler.yaml:api      web/api      api
 *
 * The short name of a config is that of its file without the suffix; of a kepler.yaml, that of
 * its folder.
 *
 * Every call fails with ERR_NOT_FOUND when no daemon is running.
 *
 * Memory: the arena of the tool. Threads: any; each call blocks until the daemon has answered.
 */
#ifndef STATES_PROVIDER_ORCHESTRATOR_H
#define STATES_PROVIDER_ORCHESTRATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/provider/tool.h"

struct err;
struct message;

/* Conditions of a service, as parameter choices: those of depends_on without "service_". */
#define ORCHESTRATOR_CONDITIONS "started|healthy|completed_successfully|unhealthy|failed|stopped"

/* Is there a daemon? */
bool orchestrator_is_here(struct arena *arena);

/* One request and its answer; `kind` is an enum request_kind and `args` its struct. Fails when the
 * daemon refuses; `ret` has the answer then, too. */
int orchestrator_ask(const struct tool *tool, int kind, const void *args, struct message *ret,
                     struct err *err);

/* --- services ------------------------------------------------------------------------------- */

struct orchestrator_service {
    const char *config; /* its canonical path; NULL: unknown */
    const char *service;
    const struct value *status; /* a map as in `kepler ps --json`; NULL: unknown service */
};

/* Find a service by any of its names. Fails when several configs have it. */
int orchestrator_find(const struct tool *tool, const char *name, struct orchestrator_service *ret,
                      struct err *err);

struct orchestrator_services {
    VEC(struct orchestrator_service) list;
};
/* All services of all configs that the daemon knows; those of a config stand together. */
int orchestrator_list(const struct tool *tool, struct orchestrator_services *ret, struct err *err);

/* The history of a service's status: a map as in 'kepler why --json'. Fails with ERR_NOT_FOUND for
 * an unknown service. */
int orchestrator_why(const struct tool *tool, const char *name,
                     struct orchestrator_service *ret_service, struct value *ret_why,
                     struct err *err);

/* A status change of a service. */
struct orchestrator_change {
    const char *service;
    const char *from, *to, *cause;
    int64_t wall;   /* nanoseconds since 1970 */
    int64_t number; /* increases until 'kepler run' loads the config again */
};
struct orchestrator_changes {
    VEC(struct orchestrator_change) list;
};
/* The last changes of these services of a config, oldest first for each. Appends. */
int orchestrator_history(const struct tool *tool, const char *config, struct param_strs services,
                         struct orchestrator_changes *ret, struct err *err);
/* A pattern for the files that grow when a status changes; NULL: unknown. */
const char *orchestrator_history_files(struct arena *arena);

/* A wait for a condition. */
struct orchestrator_wait {
    const char *config;
    struct param_strs services; /* none: all to which the condition applies */
    int condition;              /* number in ORCHESTRATOR_CONDITIONS */
    int64_t timeout;            /* nanoseconds; 0: answer at once */
};

/* Wait until the condition is met, can no longer be met, or the time is up. `ret_unmet` is NULL
 * when met, else describes what is missing; `ret_final` (may be NULL) is set when waiting longer
 * does not help. */
int orchestrator_wait(const struct tool *tool, const struct orchestrator_wait *wait,
                      const char **ret_unmet, bool *ret_final, struct err *err);

/* "healthy" */
struct str orchestrator_condition(int condition);

/* --- configs -------------------------------------------------------------------------------- */

struct orchestrator_config {
    bool known;                   /* it is loaded, or has stored data */
    const char *digest;           /* SHA-256 of the loaded config; NULL: not loaded */
    struct str text;              /* the loaded text, if requested; else a NULL view */
    const struct value *services; /* a map of their statuses; NULL: unknown */
};

/* The canonical path by which the daemon knows a config, which need not exist. */
const char *orchestrator_path(struct arena *arena, const char *path);

int orchestrator_read(const struct tool *tool, const char *config, bool with_text,
                      struct orchestrator_config *ret, struct err *err);
/* Fails with its mistakes unless the text is a valid config. */
int orchestrator_check(const struct tool *tool, const char *config, struct str text,
                       struct err *err);

struct orchestrator_start {
    const char *config;
    struct param_strs services; /* none: all */
    bool anew;                  /* stop all services and load the config again */
    struct str text;            /* load this text instead of the file; a NULL view: the file */
};
/* Start services. When it returns, the named services are up; otherwise it fails. */
int orchestrator_start(const struct tool *tool, const struct orchestrator_start *start,
                       struct err *err);
/* Stop these services, or all; `forget`: the daemon also drops the config and all it stored. */
int orchestrator_stop(const struct tool *tool, const char *config, struct param_strs services,
                      bool forget, struct err *err);

/* The environment of this process, as K=V. */
struct param_strs orchestrator_environment(struct arena *arena);

#endif

/*
 * request - the requests of the daemon, as tables.
 *
 * One table holds everything about a request: its name, the table of its fields
 * (core/data/record.h), and how the daemon treats it. The daemon decodes the body of a message
 * into the struct, the client encodes the struct into a body, both by the same table. Unset fields
 * stay zero and are not sent. An unknown key is refused: a daemon that ignored it would do
 * something other than requested.
 *
 * Rights (kepler/access/right.h): the table names the right of each request, and the additional
 * rights of its fields; kepler/daemon/call_access.h uses nothing else.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef KEPLER_CONTROL_REQUEST_H
#define KEPLER_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/access/right.h"
#include "core/data/params.h"
#include "core/data/record.h"
#include "core/data/value.h"

struct err;

enum request_kind {
    REQUEST_PING,
    REQUEST_LIST,
    REQUEST_STATUS,
    REQUEST_START,
    REQUEST_RUN,
    REQUEST_STOP,
    REQUEST_RESTART,
    REQUEST_RELOAD,
    REQUEST_RECREATE,
    REQUEST_DIFF,
    REQUEST_APPLY,
    REQUEST_LOGS,
    REQUEST_METRICS,
    REQUEST_INSPECT,
    REQUEST_WHY,
    REQUEST_EVENTS,
    REQUEST_RIGHTS,
    REQUEST_CHECK,
    REQUEST_WAIT,
    REQUEST_PRUNE,
    REQUEST_SHUTDOWN,
    REQUEST_CANCEL,
};
#define REQUEST_KINDS (REQUEST_CANCEL + 1)

/* Maximum names in one request. */
#define REQUEST_NAMES_MAX 10000

/* start, run, restart, recreate: */
struct request_start {
    const char *config; /* canonical path */
    struct param_strs services;
    bool no_deps, refresh_env;
    bool start_clean;              /* run: logs go as well */
    bool follow;                   /* report events until canceled */
    bool logs;                     /* and the output of services */
    bool progress;                 /* report events until the reply */
    struct param_strs environment; /* the caller's, K=V */
    struct param_strs overrides;   /* -e */
    struct param_strs flags;       /* -D */
    const char *hardening;         /* start, run, recreate: the config's level, if this loads it */
    const char *text; /* start, run: load this instead of the file's content; or NULL */
    bool lasting;     /* run: with autostart it returns with the daemon, as after a start */
    bool needs;       /* start: also what the named services need */
    bool apart;       /* run: while others are active, the named services alone, as loaded */
    bool clean_after; /* run: the caller will remove the stored data at the end */
};

/* diff, apply: compares a loaded config with its file, and goes on with the file. */
struct request_apply {
    struct request_start start; /* config alone */
    bool test;                  /* only the plan */
    bool ready;                 /* reply when the touched services are ready */
    bool revert;                /* go back if they do not get ready */
    int64_t timeout;            /* for that, nanoseconds; 0: none */
};

struct request_stop {
    const char *config;
    struct param_strs services;
    bool clean;
    bool progress;       /* report events until the reply */
    bool keep_logs;      /* overrides retention.on_stop */
    const char *signal;  /* NULL: the default of each service */
    const char *because; /* for the recorded cause; or NULL */
};

struct request_logs {
    const char *config;
    struct param_strs services;
    bool follow, no_hook;
    const char *hook, *level; /* NULL: any; lines of this level and above */
    const char *query;        /* kepler/logs/log_query.h; NULL: all lines */
    bool sql;                 /* the query is an SQL clause: kepler/logs/log_sql.h */
    int64_t since, until;     /* wall time: inclusive, exclusive; 0: no bound */
    int64_t head, tail;       /* 0: all */
    bool has_head, has_tail;
};

/* Resource usage of services: current or stored. */
struct request_metrics {
    const char *config;
    struct param_strs services;
    bool live;         /* sample now; the other fields do not apply */
    int64_t history;   /* milliseconds back; 0: only the newest of each service */
    int64_t bucket;    /* milliseconds per bucket; 0: none */
    const char *query; /* kepler/monitor/metric.h; NULL: all */
    bool sql;          /* the query is an SQL clause: kepler/monitor/metric_search.h */
};

/* status, inspect, why, events, reload; `config` NULL: all configs, for status. */
struct request_ask {
    const char *config;
    struct param_strs services;
    bool with_services, with_environment, with_flags; /* sections of inspect; none: all */
    bool with_text; /* status of one config: include the loaded text verbatim */
};

/* A user's rights on a config. */
struct request_rights {
    const char *config;
    const char *user; /* a name or a number; NULL: the caller */
};

/* Would `text` be a valid config at this path? Loads nothing. */
struct request_check {
    const char *config, *text;
};

/* Waits until services of a loaded config meet a condition, or never will. */
struct request_wait {
    const char *config;
    struct param_strs services; /* none: all to which the condition applies */
    const char *condition;      /* as in depends_on */
    bool now;                   /* answer at once */
};

struct request_ping {
    char nothing;
};

struct request_prune {
    bool force, dry_run;
};

struct request_shutdown {
    bool leave_running;
};

struct request_cancel {
    int64_t id;
};

/* The target of a request. */
enum request_scope {
    REQUEST_ANY,    /* nothing that has an owner */
    REQUEST_CONFIG, /* one config, its first field; without one: each that the caller may see */
    REQUEST_DAEMON, /* the daemon: root only */
};

struct request {
    struct record_type record; /* its name and body format */
    bool acts;                 /* changes services: the caller is recorded as the cause */
    bool late;                 /* also answered while the daemon is stopping */
    bool waits;                /* ends when its client leaves */
    enum request_scope scope;
    enum right right; /* for REQUEST_CONFIG: always required, whatever the fields */
};

const struct request *request_get(enum request_kind kind);
/* False when there is no such request. */
bool request_find(const char *name, enum request_kind *ret_kind);

/* All rights of this request: its own and those of its fields. 0 when it is not about a config. */
uint64_t request_rights(enum request_kind kind, const void *args);
/* The config of the request, or NULL. */
const char *request_config(enum request_kind kind, const void *args);

/* Converts between the struct and the body of a message. */
struct value request_encode(struct arena *arena, enum request_kind kind, const void *args);
int request_decode(struct arena *arena, enum request_kind kind, const struct value *body,
                   void **ret_args, struct err *err);

#endif

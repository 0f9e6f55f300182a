/*
 * request - what a client may ask of the daemon, as tables.
 *
 * One table holds all that is known of a request: its name, the table of its fields
 * (core/data/record.h), and what it means for the daemon, which has a handler for each. The daemon
 * decodes the body of a message into the struct, the client encodes the struct into a body,
 * both by the same table. Fields that nobody sets stay zero and are not sent; an unknown key is
 * refused, since a daemon that ignored it would do something else than it was asked for.
 *
 * Rights (kepler/access/right.h): the table names what each request needs, and what its fields need
 * in addition; kepler/daemon/call_access.h looks there and nowhere else.
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
    REQUEST_RECREATE,
    REQUEST_LOGS,
    REQUEST_METRICS,
    REQUEST_INSPECT,
    REQUEST_WHY,
    REQUEST_RIGHTS,
    REQUEST_CHECK,
    REQUEST_WAIT,
    REQUEST_PRUNE,
    REQUEST_SHUTDOWN,
    REQUEST_CANCEL,
};
#define REQUEST_KINDS (REQUEST_CANCEL + 1)

/* Names in one request. */
#define REQUEST_NAMES_MAX 10000

/* start, run, restart, recreate: */
struct request_start {
    const char *config; /* canonical path */
    struct param_strs services;
    bool no_deps, refresh_env;
    bool start_clean;              /* run: logs go as well */
    bool follow;                   /* report what happens, until canceled */
    bool logs;                     /* and what the services write */
    bool progress;                 /* report what happens, until the reply */
    struct param_strs environment; /* of the caller, K=V */
    struct param_strs overrides;   /* -e */
    struct param_strs flags;       /* -D */
    const char *hardening;         /* start, run, recreate: of the config, if it is loaded */
    const char *text; /* start, run: load this instead of what the file holds now; or NULL */
    bool lasting;     /* run: with autostart it comes back with the daemon, as after a start */
};

struct request_stop {
    const char *config;
    struct param_strs services;
    bool clean;
    bool progress;       /* report what happens, until the reply */
    bool keep_logs;      /* whatever retention.on_stop says */
    const char *signal;  /* NULL: each service's own */
    const char *because; /* for the causes that are kept; or NULL */
};

struct request_logs {
    const char *config;
    struct param_strs services;
    bool follow, no_hook;
    const char *hook, *level; /* NULL: any; lines of this level and above */
    const char *query;        /* kepler/logs/log_query.h; NULL: all lines */
    bool sql;                 /* the query is a clause in SQL: kepler/logs/log_sql.h */
    int64_t head, tail;       /* 0: all */
    bool has_head, has_tail;
};

/* What services use: now, or as it was stored. */
struct request_metrics {
    const char *config;
    struct param_strs services;
    bool live;         /* look at them now; the rest does not count then */
    int64_t history;   /* milliseconds back; 0: the newest of each service */
    int64_t bucket;    /* milliseconds that are one; 0: none */
    const char *query; /* kepler/monitor/metric.h; NULL: all of them */
    bool sql;          /* the query is a clause in SQL: kepler/monitor/metric_search.h */
};

/* status, inspect, why; `config` NULL: all of them, for status. */
struct request_ask {
    const char *config;
    struct param_strs services;
    bool with_services, with_environment, with_flags; /* sections of inspect; none: all */
    bool with_text; /* status of one config: what was loaded, word for word */
};

/* What may this user do with a config? */
struct request_rights {
    const char *config;
    const char *user; /* a name or a number; NULL: whoever asks */
};

/* Is `text` a valid config, were it at this path? Nothing is loaded. */
struct request_check {
    const char *config, *text;
};

/* Until services of a loaded config meet a condition, or never will. */
struct request_wait {
    const char *config;
    struct param_strs services; /* none: all, each as far as it applies to it */
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

/* What a request is about. */
enum request_scope {
    REQUEST_ANY,    /* nothing that belongs to anybody */
    REQUEST_CONFIG, /* one config, its first field; without one: each that the caller may see */
    REQUEST_DAEMON, /* the daemon: for root alone */
};

struct request {
    struct record_type record; /* its name, and how its body is written */
    bool acts;                 /* the caller is recorded with the result */
    bool late;                 /* also answered by a daemon that is stopping */
    bool waits;                /* ends when its client leaves */
    enum request_scope scope;
    enum right right; /* of REQUEST_CONFIG: what it needs, whatever its fields say */
};

const struct request *request_get(enum request_kind kind);
/* False when there is no such request. */
bool request_find(const char *name, enum request_kind *ret_kind);

/* All that this request needs: its right, and those that its fields need. 0 when it is about no
 * config. */
uint64_t request_rights(enum request_kind kind, const void *args);
/* The config that it is about, or NULL. */
const char *request_config(enum request_kind kind, const void *args);

/* The body of a message, and back. */
struct value request_encode(struct arena *arena, enum request_kind kind, const void *args);
int request_decode(struct arena *arena, enum request_kind kind, const struct value *body,
                   void **ret_args, struct err *err);

#endif

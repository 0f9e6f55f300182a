/*
 * call - one client request, from its message to its final reply.
 *
 *     call_begin -> handler -> { call_answer, call_event... } -> call_finish | call_refuse
 *
 * A handler (a table by request_kind) answers at once, or sets a `step` that is called whenever
 * its project's engine has settled, until it finishes. A watching call continues after its answer:
 * it gets events until it is canceled. When a client disconnects, its watches end; requested
 * actions are carried out nevertheless.
 *
 * Memory: the heap. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_CALL_H
#define KEPLER_DAEMON_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/access/acl.h"
#include "core/base/arena.h"
#include "kepler/control/message.h"
#include "kepler/control/request.h"
#include "kepler/engine/engine.h"

struct call;
struct client;
struct config_source;
struct daemon;
struct diags;
struct engine_event;
struct authorizer_run;
struct call_applying;
struct loader;
struct metrics_reading;
struct project;
struct reach;
struct stream;

/* Continues. `call->project` is NULL when it has been unloaded. May finish the call. */
typedef void call_step_fn(struct call *call);
typedef void call_handler_fn(struct call *call);

/* The access decision for the config of a call (kepler/daemon/call_access.h). */
struct call_grant {
    const char *path; /* NULL: none */
    uint64_t rights;
    bool owned; /* at the time of the decision */
    uid_t owner;
};

struct call {
    struct daemon *daemon;
    struct client *client; /* NULL: disconnected */
    uint64_t id;
    enum request_kind kind;
    struct arena arena;
    const void *args;
    const char *token; /* sent with the request; or NULL */
    struct acl_caller caller;
    struct authorizer_run *authorizer_run; /* running authorizers; or NULL */
    void (*enter)(struct call *call);
    struct call_grant grant;
    const char *who;         /* the client's account, recorded as the cause; else NULL */
    struct project *project; /* NULL: none, or unloaded */
    struct engine_set set;
    const struct config_source *source; /* to be loaded */
    struct loader *loader;              /* reads it; or NULL */
    const char *warning;                /* from loading, for the caller; or NULL */
    struct call_applying *applying;     /* of apply and diff; or NULL */
    size_t count;                       /* counted by the handler */
    call_step_fn *step;
    bool orphaned; /* its project was unloaded since its last step */
    bool watching, told_ready, told_quiet;
    bool progress;                 /* gets state changes until its reply */
    const struct reach *concerned; /* services relevant to the named ones; NULL: all */
    struct stream *stream;
    struct metrics_reading *reading; /* reads stored metrics; or NULL */
    uint64_t ticket;                 /* the flush that it waits for; 0: none */
    uint64_t pass;                   /* of its last step */
    struct call *next, **back;
};

/* From a client: begins a call. */
void call_begin(struct client *client, const struct message *message);
/* The client has disconnected. */
void call_leave(struct client *client);
void call_free(struct call *call);

/* Sends the reply; the call continues. */
void call_answer(struct call *call, struct value body);
/* Sends the reply and ends the call. */
void call_finish(struct call *call, struct value body);
void call_say(struct call *call, const char *fmt, ...) PRINTF_LIKE(2, 3); /* finish with a text */
void call_refuse(struct call *call, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
void call_fail(struct call *call, const struct err *err);
void call_event(struct call *call, const char *name, struct value body);

/* Finds the project of a request, if it is the one access was decided for; otherwise refuses and
 * returns -1. Not loaded: 0, and call->project is NULL. */
int call_find_project(struct call *call, const char *path);

/* The services of its project with these names, each once; none: all. For an unknown name refuses,
 * which ends the call, and returns -1. */
int call_find_services(struct call *call, struct param_strs names, struct engine_set *ret_set);

/* Both, for requests that need a loaded config; the services become its set. */
int call_find_loaded(struct call *call, const char *path, struct param_strs names);

/* Refuses access to another user's config, without revealing more than the client may know. Ends
 * the call. */
void call_refuse_foreign(struct call *call, const char *path, uid_t owner);

/* Starts reporting the services of its set and their dependencies: current states, then each
 * change. */
void call_watch(struct call *call);
/* Services have new numbers (engine_change). */
void call_renumber(struct call *call, const uint32_t *numbers);
/* The engine of its project has settled, or the project is gone. */
void call_look(struct call *call);
/* An event in its project. */
void call_engine_event(struct call *call, const struct engine_event *event);
/* Sends log lines, if it has a stream with pending lines. */
void call_pump(struct call *call);
/* The same, synchronously: the store is about to close. */
void call_drain(struct call *call);
/* From its stream: a bundle was sent. May finish the call. */
void call_streamed(struct call *call);

/* Handlers, by file. */
call_handler_fn handle_start, handle_run, handle_restart, handle_recreate; /* handle_start.c */
call_handler_fn handle_apply;                                              /* handle_apply.c */
call_handler_fn handle_reload;                                             /* handle_reload.c */
call_handler_fn handle_stop, handle_prune, handle_shutdown;                /* handle_stop.c */
call_handler_fn handle_ping, handle_list, handle_status, handle_why,
    handle_events;                         /* handle_status.c */
call_handler_fn handle_check, handle_wait; /* handle_wait.c */
call_handler_fn handle_rights;             /* handle_rights.c */
call_handler_fn handle_inspect;            /* handle_inspect.c */
call_handler_fn handle_logs;               /* handle_logs.c */
call_handler_fn handle_metrics;            /* handle_metrics.c */

#endif

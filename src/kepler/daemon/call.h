/*
 * call - one request of a client, from its message to its last word.
 *
 *     call_begin -> handler -> { call_answer, call_event... } -> call_finish | call_refuse
 *
 * A handler (a table by request_kind) answers at once, or leaves a `step` behind that is asked
 * whenever the engine of its project has come to rest, until it finishes. A call that watches goes
 * on after its answer: it gets events until it is canceled. A client that leaves ends what it
 * watches; what it asked to be done is done nevertheless.
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
struct authorization;
struct loader;
struct metrics_reading;
struct project;
struct reach;
struct stream;

/* Go on. `call->project` is NULL when it has been unloaded. May finish the call. */
typedef void call_step_fn(struct call *call);
typedef void call_handler_fn(struct call *call);

/* What was decided about the config of a call (kepler/daemon/call_access.h). */
struct call_grant {
    const char *path; /* NULL: nothing */
    uint64_t rights;
    bool owned; /* when that was decided */
    uid_t owner;
};

struct call {
    struct daemon *daemon;
    struct client *client; /* NULL: it has left */
    uint64_t id;
    enum request_kind kind;
    struct arena arena;
    const void *args;
    const char *token; /* that it brought; or NULL */
    struct acl_caller caller;
    struct authorization *authorization; /* of authorizers; or NULL */
    void (*enter)(struct call *call);
    struct call_grant grant;
    const char *who;         /* the account of the client, for what it asks to be done; else NULL */
    struct project *project; /* NULL: none, or no longer */
    struct engine_set set;
    const struct config_source *source; /* loaded later */
    struct loader *loader;              /* reads it; or NULL */
    const char *warning;                /* about that, for the caller; or NULL */
    size_t count;                       /* what the handler counted */
    call_step_fn *step;
    bool orphaned; /* its project was unloaded, and it has not been asked since */
    bool watching, told_ready, told_quiet;
    bool progress;                 /* it gets state changes until its reply */
    const struct reach *concerned; /* services that matter to those that were named; NULL: all */
    struct stream *stream;
    struct metrics_reading *reading; /* of stored metrics; or NULL */
    uint64_t ticket;                 /* of the flush that it waits for; 0: none */
    uint64_t pass;                   /* when it was asked last */
    struct call *next, **back;
};

/* From a client: begin a call. */
void call_begin(struct client *client, const struct message *message);
/* The client has left. */
void call_leave(struct client *client);
void call_free(struct call *call);

/* The reply; the call goes on. */
void call_answer(struct call *call, struct value body);
/* The reply, and the end. */
void call_finish(struct call *call, struct value body);
void call_say(struct call *call, const char *fmt, ...) PRINTF_LIKE(2, 3); /* finish with a text */
void call_refuse(struct call *call, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
void call_fail(struct call *call, const struct err *err);
void call_event(struct call *call, const char *name, struct value body);

/* The project of a request, if it is the one that was judged; refuses otherwise and returns -1. Not
 * loaded: 0, and call->project is NULL. */
int call_find_project(struct call *call, const char *path);

/* The services of its project that have these names, each once; none: all. Refuses, which ends the
 * call, and returns -1 when there is no such service. */
int call_find_services(struct call *call, struct param_strs names, struct engine_set *ret_set);

/* The config is somebody else's: say so, as far as the client may know. The end of the call. */
void call_refuse_foreign(struct call *call, const char *path, uid_t owner);

/* Tell from now on what happens to those of its set and what they depend on: the states now, and
 * each change. */
void call_watch(struct call *call);
/* The engine of its project has come to rest, or the project is gone. */
void call_look(struct call *call);
/* Something happened in its project. */
void call_tell(struct call *call, const struct engine_event *event);
/* Send lines, if it has a stream and there are any. */
void call_pump(struct call *call);
/* The same, at once: the store goes. */
void call_drain(struct call *call);
/* From its stream: a bundle was sent. May finish the call. */
void call_streamed(struct call *call);

/* Handlers, by file. */
call_handler_fn handle_start, handle_run, handle_restart, handle_recreate; /* handle_start.c */
call_handler_fn handle_stop, handle_prune, handle_shutdown;                /* handle_stop.c */
call_handler_fn handle_ping, handle_list, handle_status, handle_why;       /* handle_status.c */
call_handler_fn handle_check, handle_wait;                                 /* handle_wait.c */
call_handler_fn handle_rights;                                             /* handle_rights.c */
call_handler_fn handle_inspect;                                            /* handle_inspect.c */
call_handler_fn handle_logs;                                               /* handle_logs.c */
call_handler_fn handle_metrics;                                            /* handle_metrics.c */

#endif

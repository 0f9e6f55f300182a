/*
 * session - a connection of a driver to a bus, and what drivers do when something fails: they end.
 *
 *     session_open(&session, url, auth, "admin.creds") -> session_run... -> session_close
 *
 * session_run turns the loop until session_stop; the callbacks here stop it, so that a line that
 * begins something and session_run after it read like a call that waits.
 *
 * Memory: texts are borrowed. Threads: one.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/js.h"
#include "fleet/wire/subject.h"

struct arena;
struct link;
struct loop;
struct nats_consumer_info;
struct nats_error;
struct nats_hub;
struct nats_stream_info;
struct record_type;

_Noreturn void session_die(const char *text);
void session_check(int result, const struct err *err);
void session_check_error(const struct nats_error *error);
/* A number of the command line. */
uint64_t session_number(const char *text);

struct session {
    struct loop *loop;
    struct nats_hub *hub;
    struct link *link; /* NULL: without TLS */
    struct nats_js js;
    struct nats_listener listener;
    bool is_connected, is_closing;
    struct err err;
};

/* A loop and a hub, and no connection. */
void session_begin(struct session *session);
/* With the credentials `creds` of the folder `auth`; waits until it is connected. */
void session_open(struct session *session, const char *url, const char *auth, const char *creds);
/* The same without TLS and credentials. */
void session_open_plain(struct session *session, const char *url);
void session_close(struct session *session);

void session_run(struct session *session);
void session_stop(struct session *session);

/* The bytes of a record, in the arena. */
struct str session_encode(struct arena *arena, const struct record_type *type, const void *record);
/* Subscribe to a subject of the fleet, of all peels; `jid` "": it has none. */
struct nats_sub *session_listen(struct session *session, enum subject_kind kind, const char *jid,
                                nats_msg_fn *fn, void *self);

/* For operations with a struct session as `self`: end when they failed, else stop the loop. */
void session_on_done(void *self, const struct nats_error *error);
void session_on_stream(void *self, const struct nats_error *error,
                       const struct nats_stream_info *info);
void session_on_consumer(void *self, const struct nats_error *error,
                         const struct nats_consumer_info *info);
/* It may have failed. */
void session_on_maybe(void *self, const struct nats_error *error);

#endif

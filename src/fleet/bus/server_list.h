/*
 * server list - sends one request to all servers of the bus and collects their answers.
 *
 *     server_list_new(conn, &(struct server_list_options){
 *         .subject = "$SYS.REQ.SERVER.PING", .wait = ns, ... }, err);
 *
 * For connections of the system account. Ends when the expected number has answered, or at the
 * timeout. Memory: arguments are copied; answers are valid during their callback; freed with its
 * end, or with server_list_free. Threads: the loop's.
 */
#ifndef FLEET_BUS_SERVER_LIST_H
#define FLEET_BUS_SERVER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;
struct nats_conn;
struct server_list;
struct value;

/* Servers whose answers are read. */
#define SERVER_LIST_SERVERS_MAX 256

struct server_list_options {
    const char *subject;
    struct str payload;
    size_t expected; /* 0: not known, waits for `wait` */
    int64_t wait;    /* nanoseconds */
    /* JSON of a server. Returns true if it counts. */
    bool (*answer)(void *self, const struct value *answer);
    /* The same for an answer that is not JSON; in place of `answer`. */
    bool (*text)(void *self, struct str text);
    void (*done)(void *self, size_t counted);
    /* Updates the expected number; may be NULL. */
    size_t (*expect)(void *self);
    void *self;
};

struct server_list *server_list_new(struct nats_conn *conn,
                                    const struct server_list_options *options, struct err *err);
/* `done` is no longer called. NULL is fine. */
void server_list_free(struct server_list *call);

#endif

/*
 * kepler_client - a connection to the daemon.
 *
 *     kepler_ask                                    one request, one reply
 *     kepler_client_open -> kepler_client_send... -> kepler_client_run -> kepler_client_done
 *
 * Opening fails with status KEPLER_UNREACHABLE and a hint when there is no daemon.
 *
 * Memory: replies are copied into the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_KEPLER_CLIENT_H
#define COMMANDS_CLI_KEPLER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kepler/control/connection.h"
#include "kepler/control/home.h"
#include "kepler/control/request.h"
#include "core/data/value.h"

struct cli;
struct kepler_client;
struct kepler_progress;
struct message;

/* Passed to a listener; the message is valid during the call. */
typedef void kepler_message_fn(void *self, struct kepler_client *client,
                               const struct message *message);

struct kepler_client {
    struct arena *arena;
    struct loop *loop;
    struct home home;
    struct connection connection;
    uint64_t last_id;
    kepler_message_fn *fn;
    void *self;
    bool lost; /* the daemon is gone, or has closed the connection */
    char why[CONNECTION_WHY_SIZE];
};

/* 0, or an exit status on failure, which has been reported. */
int kepler_client_open(struct kepler_client *client, struct arena *arena, kepler_message_fn *fn,
                       void *self);
/* Returns the id of the request. */
uint64_t kepler_client_send(struct kepler_client *client, enum request_kind kind, const void *args);
/* Runs until kepler_client_stop, or until the daemon is gone. */
void kepler_client_run(struct kepler_client *client);
void kepler_client_stop(struct kepler_client *client);
void kepler_client_done(struct kepler_client *client);

/* Report the error of a reply; returns the exit status, 0 for success. */
int kepler_client_check(const struct message *reply);

/* Print the warnings and errors of a reply, and its message to `where`. Returns the exit
 * status: a failure when there are errors, which are printed even when `quiet`. */
int kepler_tell(bool quiet, FILE *where, const struct value *body);

/* One request and its reply. Returns 0, or an exit status on failure, which has been reported. */
int kepler_ask(struct arena *arena, enum request_kind kind, const void *args,
               struct value *ret_body);
/* The same, with a progress line for each service on the terminal; the request must ask for its
 * progress, which may be NULL. */
int kepler_ask_with(struct arena *arena, enum request_kind kind, const void *args,
                    struct kepler_progress *progress, struct value *ret_body);

#endif

/*
 * enroll client - enrolls this machine: sends a request to a master, waits for the decision,
 * fetches credentials.
 *
 *     nonce -> submit -> wait, by a stream of events or polling -> credentials
 *
 * Continues until there are credentials in <auth_dir>/<id>.creds: masters in order, growing pauses,
 * a new request if the old one was lost. A rejection ends it. So does the lack of a trusted master,
 * by the configuration or an earlier contact, unless there are credentials already. The private key
 * never leaves the machine.
 *
 *     enroll_client_begin -> `done` -> enroll_client_free
 *
 * Threads: the loop's; the work is done by a worker.
 */
#ifndef FLEET_PEEL_ENROLL_CLIENT_H
#define FLEET_PEEL_ENROLL_CLIENT_H

#include <stdbool.h>

struct enroll_client;
struct err;
struct loop;
struct peel_conf;
struct peel_identity;

struct enroll_client_options {
    struct loop *loop;
    const struct peel_conf *conf; /* is copied */
    const struct peel_identity *identity;
    const char *hostname;
    const char *token; /* of zester-peel join; NULL: none */
    bool renew;        /* there are credentials that will expire */
    bool only_renew;   /* and a refusal ends it, without a new request */
    /* Interactive: a refusal that only the user can resolve ends it. */
    bool is_watched;
    /* There are credentials, or `problem` says why not. */
    void (*done)(void *self, const char *problem);
    void *self;
};

struct enroll_client *enroll_client_begin(const struct enroll_client_options *options,
                                          struct err *err);
/* `done` was called: it may be freed, but not within `done`. */
bool enroll_client_is_done(const struct enroll_client *enroll_client);
/* In `done`: no credentials, because no master has a trusted certificate. */
bool enroll_client_is_untrusted(const struct enroll_client *enroll_client);
/* Ends it early and reports its state; `done` is not called. */
struct enroll_client_state {
    bool is_pending;  /* a master has the request, without a decision yet */
    const char *text; /* the last problem; "": none. Owned by the enroll client. */
};
struct enroll_client_state enroll_client_stop(struct enroll_client *enroll_client);
/* Ends it; waits for the worker. NULL is fine. */
void enroll_client_free(struct enroll_client *enroll_client);

#endif

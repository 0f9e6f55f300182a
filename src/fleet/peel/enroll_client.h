/*
 * enroll client - a machine becomes a peel: it asks a master, waits for a decision, gets
 * credentials.
 *
 *     nonce -> submit -> wait, by a stream of events or by asking now and then -> credentials
 *
 * Goes on until there are credentials in <auth_dir>/<id>.creds: masters in order, pauses that grow,
 * a new request when the old one was lost. A rejection ends it, and so do certificates of all
 * masters that are not what the configuration or an earlier contact says, unless there are
 * credentials already. The private key never leaves the machine.
 *
 *     enroll_client_begin -> `done` -> enroll_client_free
 *
 * Threads: the loop's; a worker does it.
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
    bool renew;        /* there are credentials, which will end */
    bool only_renew;   /* and a refusal ends it: nobody is asked to decide */
    /* Somebody watches: a refusal that only they can do something about ends it. */
    bool is_watched;
    /* There are credentials, or `problem` says why there will be none. */
    void (*done)(void *self, const char *problem);
    void *self;
};

struct enroll_client *enroll_client_begin(const struct enroll_client_options *options,
                                          struct err *err);
/* `done` was called: it may be freed, but not in there. */
bool enroll_client_is_done(const struct enroll_client *enroll_client);
/* In `done`: there are no credentials since no master has a certificate that may be trusted. */
bool enroll_client_is_untrusted(const struct enroll_client *enroll_client);
/* What became of it until now, for who has waited long enough. It ends, and `done` is not called.
 */
struct enroll_client_state {
    bool is_pending;  /* a master has the request, and nobody has decided */
    const char *text; /* what was wrong last; "": nothing. Of the enroll client. */
};
struct enroll_client_state enroll_client_stop(struct enroll_client *enroll_client);
/* Ends it; waits for the worker. NULL is fine. */
void enroll_client_free(struct enroll_client *enroll_client);

#endif

/*
 * peel - the agent: its identity, its connection, and all its parts.
 *
 *     peel = peel_new(&options, err) -> loop_run -> peel_stop, `stopped` -> peel_free
 *
 * It starts without a bus, connects once it has credentials, and never stops reconnecting. Several
 * agents can run in one process, each with its own folders.
 *
 * Memory: options and configuration are borrowed. Threads: the loop's.
 */
#ifndef FLEET_PEEL_PEEL_H
#define FLEET_PEEL_PEEL_H

#include <stdbool.h>

struct err;
struct loop;
struct nats_hub;
struct peel;
struct peel_conf;
struct pool;

/* Maximum duration of a stop. */
#define PEEL_STOP_NS (INT64_C(6) * 1000000000)

struct peel_options {
    struct loop *loop;
    struct nats_hub *hub;
    const struct peel_conf *conf;
    const char *host; /* the full host name, if no id is configured */
    bool hasty;       /* no random delays; for tests */
    /* For many agents in one process: shared workers for jobs, so that a job for all does not start
     * a thread for each, and acks do not wait for those; memory is not returned after each job.
     * NULL: a single agent. */
    struct pool *workers;
    void (*stopped)(void *self); /* nothing runs now */
    /* It has no credentials and cannot get any, because no master is trusted. May be NULL. */
    void (*untrusted)(void *self);
    void *self;
};

struct peel *peel_new(const struct peel_options *options, struct err *err);
/* Accepts nothing more, cancels running jobs; `stopped` follows, at once or later. */
void peel_stop(struct peel *peel);
/* No job runs or waits. */
bool peel_is_idle(const struct peel *peel);
/* NULL is fine. */
void peel_free(struct peel *peel);

const char *peel_id(const struct peel *peel);
bool peel_is_connected(const struct peel *peel);

/* The configuration behind the options' pointer has changed, from `before`. The configuration of
 * the start must stay valid. Changes that need a restart are logged. */
void peel_reload(struct peel *peel, const struct peel_conf *before);

#endif

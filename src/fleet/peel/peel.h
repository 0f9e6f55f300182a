/*
 * peel - an agent: it has an identity, a connection when there is one, and does what it is asked.
 *
 *     peel = peel_new(&options, err) -> loop_run -> peel_stop, `stopped` -> peel_free
 *
 * It starts without a bus, connects when it has credentials, and for ever. Several of them can live
 * in one process, each with folders of its own.
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

/* A stop takes this long at most. */
#define PEEL_STOP_NS (INT64_C(6) * 1000000000)

struct peel_options {
    struct loop *loop;
    struct nats_hub *hub;
    const struct peel_conf *conf;
    const char *host; /* the full host name, when no id is configured */
    bool hasty;       /* no pauses for the sake of others; for tests */
    /* Of one among many in a process: they share the workers for jobs, so that a job for all of
     * them does not start a thread for each, and acknowledgements do not wait for those; and
     * memory is not given back after each piece of work. NULL: it is alone. */
    struct pool *workers;
    void (*stopped)(void *self); /* nothing runs now */
    /* It has no credentials and gets none: masters are not those that it trusts. NULL is fine. */
    void (*untrusted)(void *self);
    void *self;
};

struct peel *peel_new(const struct peel_options *options, struct err *err);
/* Accept nothing more, cancel what runs; `stopped` follows, at once or later. */
void peel_stop(struct peel *peel);
/* NULL is fine. */
void peel_free(struct peel *peel);

const char *peel_id(const struct peel *peel);
bool peel_is_connected(const struct peel *peel);

/* The configuration behind the pointer of the options has changed, from `before`. What was read at
 * the start must live on. What takes effect after a restart only is named in the log. */
void peel_reload(struct peel *peel, const struct peel_conf *before);

#endif

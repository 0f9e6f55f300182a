/*
 * uplink - the way of an agent to the bus.
 *
 * Without credentials it enrolls; with some it connects, and reconnects for ever. It renews them
 * before they end, when the fleet has a new signing key (fleet/peel/rotation.h), and when servers
 * refuse them, which may be since they have not heard of that. Why there is no connection can be
 * asked for at any time.
 *
 *     uplink_new -> uplink_begin -> `connected`, once for each connection -> uplink_free
 *
 * Memory: what the options name is borrowed. Threads: the loop's.
 */
#ifndef FLEET_PEEL_UPLINK_H
#define FLEET_PEEL_UPLINK_H

#include <stdbool.h>

#include "core/base/str.h"

struct loop;
struct metrics;
struct nats_hub;
struct nats_js;
struct peel_account;
struct peel_conf;
struct peel_identity;
struct uplink;

struct uplink_options {
    struct loop *loop;
    struct nats_hub *hub;
    const struct peel_conf *conf;
    struct peel_identity *identity;
    const char *host;
    struct metrics *metrics;
    /* `first`: since the start or since `closing`; otherwise it was only interrupted. */
    void (*connected)(void *self, struct nats_js *js, bool first);
    /* The connection ends now: nobody may use it from here on. */
    void (*closing)(void *self);
    /* This machine cannot enroll: every master is somebody else than the one that it trusts. */
    void (*untrusted)(void *self);
    void *self;
};

struct uplink *uplink_new(const struct uplink_options *options);
/* After the owner is complete: `connected` may follow. */
void uplink_begin(struct uplink *uplink);
/* The addresses of the configuration have changed: `closing`, then a new connection. */
void uplink_restart(struct uplink *uplink);
/* Ask now whether the fleet has a new signing key. */
void uplink_look(struct uplink *uplink);
/* Whoever uses the connection must have let go of it. NULL is fine. */
void uplink_free(struct uplink *uplink);

/* See fleet/bus/link.h. */
bool uplink_is_from_fleet(const struct uplink *uplink, struct str header);
/* The public keys of the fleet's account; known from the first connection on. */
const struct peel_account *uplink_account(const struct uplink *uplink);
bool uplink_is_connected(const struct uplink *uplink);
/* Why there is no connection; the last reason when there is one. */
const char *uplink_problem(const struct uplink *uplink);

#endif

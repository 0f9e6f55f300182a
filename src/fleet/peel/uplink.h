/*
 * uplink - an agent's connection to the bus.
 *
 * Without credentials it enrolls; with credentials it connects, and never stops reconnecting. It
 * renews them before they expire, when the fleet has a new signing key (fleet/peel/rotation.h), and
 * when servers refuse them, perhaps because of a missed rotation.
 *
 *     uplink_new -> uplink_begin -> `connected`, once for each connection -> uplink_free
 *
 * Memory: the options are borrowed. Threads: the loop's.
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
    /* `first`: since the start or since `closing`; else reconnected. */
    void (*connected)(void *self, struct nats_js *js, bool first);
    /* The connection ends: stop using it. */
    void (*closing)(void *self);
    /* This machine cannot enroll: no master is trusted. */
    void (*untrusted)(void *self);
    void *self;
};

struct uplink *uplink_new(const struct uplink_options *options);
/* Call it when the owner is complete: `connected` may follow. */
void uplink_begin(struct uplink *uplink);
/* The addresses of the configuration have changed: `closing`, then a new connection. */
void uplink_restart(struct uplink *uplink);
/* Checks now for a new signing key of the fleet. */
void uplink_look(struct uplink *uplink);
/* The connection must no longer be in use. NULL is fine. */
void uplink_free(struct uplink *uplink);

/* See fleet/bus/link.h. */
bool uplink_is_from_fleet(const struct uplink *uplink, struct str header);
/* The public keys of the fleet's account; known after the first connection. */
const struct peel_account *uplink_account(const struct uplink *uplink);
bool uplink_is_connected(const struct uplink *uplink);
/* Why there is no connection; the last reason if connected. */
const char *uplink_problem(const struct uplink *uplink);

#endif

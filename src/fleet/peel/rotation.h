/*
 * rotation - renews the credentials when the fleet has a new signing key
 * (fleet/wire/signing_notice.h).
 *
 * The notice is fetched at each connection and every ROTATION_AGAIN. To spread the load, each peel
 * waits a random part of the time in the notice. If the renewed credentials still have another key,
 * they are renewed again after ROTATION_RETRY. A notice without the account's signature, or of an
 * earlier generation, is ignored.
 *
 *     rotation_new -> rotation_connect... -> `renew` -> rotation_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_ROTATION_H
#define FLEET_PEEL_ROTATION_H

#include <stdint.h>

struct loop;
struct nats_js;
struct nats_nkey;
struct peel_identity;
struct rotation;

#define ROTATION_AGAIN (INT64_C(300) * 1000000000)
#define ROTATION_RETRY (INT64_C(3600) * 1000000000)

struct rotation_options {
    struct loop *loop;
    const struct peel_identity *identity;
    const struct nats_nkey *account; /* of the fleet; known while there is a connection */
    void (*renew)(void *self);
    void *self;
};

struct rotation *rotation_new(const struct rotation_options *options);
/* After the last connection. NULL is fine. */
void rotation_free(struct rotation *rotation);
/* NULL: disconnected. */
void rotation_connect(struct rotation *rotation, const struct nats_js *js);
/* Fetches the notice now. */
void rotation_look(struct rotation *rotation);

#endif

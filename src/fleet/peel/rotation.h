/*
 * rotation - notices that the fleet issues credentials with another signing key than the one that
 * has signed ours, and has them renewed (fleet/wire/signing_notice.h).
 *
 * The notice is fetched at each connection and every ROTATION_AGAIN. Peels do not all come at once:
 * each waits a random part of the time that the notice names. What comes of it is seen with the
 * next notice: credentials that are of another key again are renewed after ROTATION_RETRY, not
 * before. A notice that the account has not signed, or of an earlier generation than one before, is
 * not used.
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
/* NULL: the connection is gone. */
void rotation_connect(struct rotation *rotation, const struct nats_js *js);
/* Fetch the notice now. */
void rotation_look(struct rotation *rotation);

#endif

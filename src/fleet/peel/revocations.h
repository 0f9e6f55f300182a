/*
 * revocations - the list of revoked operator keys (fleet/wire/revoked.h) of this machine.
 *
 * It is fetched at each connection and every REVOCATIONS_AGAIN, and the last one is kept in the
 * data folder, so that a server can neither remove it nor offer an older one. If a server withholds
 * it, the last one stays in effect.
 *
 *     revocations_new -> revocations_connect... -> revocations_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_REVOCATIONS_H
#define FLEET_PEEL_REVOCATIONS_H

#include <stdbool.h>

struct loop;
struct nats_js;
struct nats_nkey;
struct revocations;

#define REVOCATIONS_FILE  "revoked-keys"
#define REVOCATIONS_AGAIN (INT64_C(60) * 1000000000)

struct revocations_options {
    struct loop *loop;
    const char *data_dir;
    /* The account that signs the list; NULL: requests need no signature, and nothing is fetched. */
    const struct nats_nkey *(*account)(void *self);
    void *self;
};

struct revocations *revocations_new(const struct revocations_options *options);
/* NULL is fine. */
void revocations_free(struct revocations *revocations);
/* NULL: disconnected. */
void revocations_connect(struct revocations *revocations, const struct nats_js *js);
/* Is this public key on the list? */
bool revocations_has(const struct revocations *revocations, const char *key);

#endif

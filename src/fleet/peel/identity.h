/*
 * identity - who this agent is: its id, and its key.
 *
 *     <auth_dir>/node-id      the id that was derived from the host name once; renaming the host
 *                             does not change who it is
 *     <auth_dir>/<id>.seed    its key, readable by its owner only
 *     <auth_dir>/<id>.creds   what the fleet gave it, see fleet/bus/link.h
 *     <auth_dir>/<id>.account the public keys of the fleet's account, as its first credentials came
 *                             with them: what masters sign is verified by the first
 *                             (fleet/bus/tree_trust.h), what they seal by the second, which older
 *                             masters do not tell. No later credentials can bring others
 *
 * A configured id, or the host name, goes on the wire with '_' for dots; a name that has
 * underscores of its own, and names that every machine has, are refused.
 *
 * Memory: texts in the arena; the caller wipes the key. Threads: any.
 */
#ifndef FLEET_PEEL_IDENTITY_H
#define FLEET_PEEL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/nats/nkey.h"
#include "fleet/nats/xkey.h"

struct arena;
struct err;

#define PEEL_IDENTITY_NODE_ID "node-id"

struct peel_identity {
    const char *id; /* as on the wire */
    const char *seed_file, *creds_file, *account_file;
    struct nats_nkey key;
};

/* The full host name of this machine; NULL when it is not known. */
const char *peel_identity_host(struct arena *arena);

/* `name` is what the configuration says, or NULL. `host` is the full host name. Makes the folder,
 * the pin and the key when they are not there. */
int peel_identity_open(struct arena *arena, const char *auth_dir, const char *name,
                       const char *host, struct peel_identity *ret_identity, struct err *err);

/* The fleet's account. */
struct peel_account {
    struct nats_nkey key; /* signs */
    bool is_separate;     /* our credentials are of the peels' account, which it confirms */
    bool has_curve;
    struct nats_xkey curve; /* seals */
};

/* The account that issued this JWT must be the one that issued the first; it is kept when there was
 * none. `curve` is its other key, "X...", if a master told it, else NULL. Fails with ERR_UNSAFE for
 * another account. Any thread. */
int peel_identity_pin(const struct peel_identity *identity, const char *jwt, const char *curve,
                      struct peel_account *ret_account, struct err *err);
/* The same for the credentials that are here. */
int peel_identity_pin_creds(const struct peel_identity *identity, struct peel_account *ret_account,
                            struct err *err);

/* The public key that has signed the credentials, in the arena; NULL: there are none. */
const char *peel_identity_issuer(const struct peel_identity *identity, struct arena *arena);

/* Is it time to renew the credentials: is less than a third of their life left? `now` in seconds
 * since 1970. False when there are none, or they have no end. */
bool peel_identity_must_renew(const struct peel_identity *identity, int64_t now);

#endif

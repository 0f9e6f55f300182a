/*
 * identity - the id and the key of this agent.
 *
 *     <auth_dir>/node-id      the id, once derived from the host name; renaming the host does not
 *                             change it
 *     <auth_dir>/<id>.seed    its key, readable by its owner only
 *     <auth_dir>/<id>.creds   what the fleet gave it, see fleet/bus/link.h
 *     <auth_dir>/<id>.account the public keys of the fleet's account, as its first credentials came
 *                             with them: what masters sign is verified by the first
 *                             (fleet/bus/tree_trust.h), what they seal by the second, which older
 *                             masters do not tell. No later credentials can bring others
 *
 * A configured id, or the host name, is sent with '_' for dots. Names with underscores, and generic
 * names such as "localhost", are refused.
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

/* The full host name of this machine; NULL: not known. */
const char *peel_identity_host(struct arena *arena);

/* The id of a machine that is a peel already: `name`, the configured one, else the pin. Creates
 * nothing; ERR_NOT_FOUND when there is neither. */
int peel_identity_find(struct arena *arena, const char *auth_dir, const char *name,
                       const char **ret_id, struct err *err);

/* `name` is the configured id, or NULL. `host` is the full host name. Creates the folder, the pin
 * and the key if needed. */
int peel_identity_open(struct arena *arena, const char *auth_dir, const char *name,
                       const char *host, struct peel_identity *ret_identity, struct err *err);

/* The fleet's account. */
struct peel_account {
    struct nats_nkey key; /* signs */
    bool is_separate;     /* our credentials are from the peels' account, confirmed by it */
    bool has_curve;
    struct nats_xkey curve; /* seals */
};

/* Pins the account that issued the first JWT, and checks later ones. `curve` is its other key,
 * "X...", if a master sent it, else NULL. Fails with ERR_UNSAFE for another account. Any thread. */
int peel_identity_pin(const struct peel_identity *identity, const char *jwt, const char *curve,
                      struct peel_account *ret_account, struct err *err);
/* The same for the present credentials. */
int peel_identity_pin_creds(const struct peel_identity *identity, struct peel_account *ret_account,
                            struct err *err);

/* The public key that signed the credentials, in the arena; NULL: no credentials. */
const char *peel_identity_issuer(const struct peel_identity *identity, struct arena *arena);

/* Is less than a third of the credentials' lifetime left? `now` in seconds since 1970. False
 * without credentials or without expiry. */
bool peel_identity_must_renew(const struct peel_identity *identity, int64_t now);

#endif

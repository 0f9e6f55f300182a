/*
 * accounts - the accounts of a fleet on the bus, and the subjects that cross between them.
 *
 *     fleet      masters and admins; owns JetStream
 *     peels      agents
 *     operators  named operators
 *
 * nats-server checks the subject of a message, but not its reply subject: a client that may ask
 * JetStream for anything can have the answer sent to any subject of the same account, and an empty
 * answer sent to "$JS.API.STREAM.DELETE.<stream>" deletes that stream. So only the fleet's account
 * has JetStream. It exports what fleet/bus/grant.h lets peels and operators publish (services) and
 * receive (streams). Replies to a service go to the requesting account, where they can harm
 * nothing, and the server does not forward them to a third account. So operators import the
 * messages of peels from the peels' account itself.
 *
 * Operators send requests to masters only, so these cross to the fleet as a stream, with the reply
 * subject unchanged. Masters answer only below the operator's own inbox, which the fleet exports to
 * the operators' account.
 *
 * Commands go the other way: the peels' account exports them as services, so an agent can answer
 * without knowing the final reply subject. The server adds a header line that names the account of
 * the sender (accounts_is_from); a forged reply cannot have it.
 *
 * The keys of the other accounts are derived from account.seed, so there is nothing else to copy.
 * Credentials carry a voucher, a tag by which the fleet's key confirms the issuing account:
 *
 *     zester-account:<public key of the fleet's account>:<signature of the issuing account's key>
 *
 * Claims of an older fleet have no tag ACCOUNTS_TAG. Its peels and operators are in the fleet's
 * account until `zester nats-auth separate` moves them.
 *
 * Pure. Memory: the arena; accounts_done wipes the keys. Threads: any.
 */
#ifndef FLEET_BUS_ACCOUNTS_H
#define FLEET_BUS_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/nkey.h"

struct arena;
struct claims_user;
struct err;
struct value;

enum account_role { ACCOUNT_FLEET, ACCOUNT_PEELS, ACCOUNT_OPERATORS };
#define ACCOUNT_ROLES (ACCOUNT_OPERATORS + 1)

/* Tag of the fleet's claims: "zester-border:<version>:<since>": the version of the listed exports,
 * and when peels and operators got their own accounts (seconds since 1970; 0: from the start). */
#define ACCOUNTS_TAG "zester-border:"
/* Raised with every change to the permissions in fleet/bus/grant.h or to the accounts in
 * fleet/bus/claims.c: masters then push new claims to servers. */
#define ACCOUNTS_VERSION 2

/* Header that servers add to a message that crosses as a service. */
#define ACCOUNTS_REQUEST_INFO "Nats-Request-Info"
/* Prefix of reply subjects of requests from other accounts. */
#define ACCOUNTS_REPLY "_R_."

struct accounts {
    struct nats_nkey keys[ACCOUNT_ROLES];                 /* with seeds */
    char public_keys[ACCOUNT_ROLES][NATS_NKEY_TEXT_SIZE]; /* as text */
};

/* All accounts of the fleet with the key `fleet`, which has a seed. */
void accounts_derive(const struct nats_nkey *fleet, struct accounts *ret_accounts);
void accounts_done(struct accounts *accounts);
/* The name in the account's claims. */
const char *accounts_name(enum account_role role);

/* The tag in the fleet's claims. */
struct accounts_border {
    int64_t version; /* 0: no tag */
    int64_t since;
};

/* Replaces exports, imports and, for the fleet, the tag in decoded claims of that account. `since`
 * is used if they have no tag yet. */
int accounts_write(struct arena *arena, const struct accounts *accounts, enum account_role role,
                   int64_t since, struct value *claims, struct err *err);
struct accounts_border accounts_read_border(const struct value *claims);
/* The same for a JWT; its signature is checked with the key it names. */
int accounts_read_jwt(struct str jwt, struct accounts_border *ret_border, struct err *err);
/* The same; version 0 also when the JWT cannot be read. */
struct accounts_border accounts_find_border(struct str jwt);

/* The voucher by which `fleet` confirms the account with this public key. */
const char *accounts_vouch(struct arena *arena, const struct nats_nkey *fleet, const char *account);
/* The public key of these credentials' account. */
const char *accounts_issuer(const struct claims_user *claims);
/* The public key of the fleet's account that issued or confirmed these credentials, in the arena.
 * Fails with ERR_UNSAFE for a wrong voucher. */
int accounts_find_fleet(struct arena *arena, const struct claims_user *claims,
                        const char **ret_account, struct err *err);
/* Do these credentials belong to a separate account, not the fleet's? */
bool accounts_is_separate(const struct claims_user *claims);

/* Did a message with this header cross from the account with this public key? */
bool accounts_is_from(struct str header, const char *account);

#endif

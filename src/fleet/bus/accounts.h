/*
 * accounts - the accounts of a fleet on the bus, and the subjects that cross between them.
 *
 *     fleet      masters and admins; owns JetStream
 *     peels      agents
 *     operators  operators with a name
 *
 * nats-server checks the subject of a message, but not its reply subject: a client that may ask
 * JetStream for anything can have the answer sent to any subject of the same account, and an empty
 * answer sent to "$JS.API.STREAM.DELETE.<stream>" deletes that stream. So only the fleet's account
 * has JetStream. It exports what the table of fleet/bus/grant.h lets peels and operators publish
 * (services) and hear (streams). Answers to a service go to the account that asked, where nothing
 * listens that they could harm, and the server does not pass them on to a third account; so
 * operators hear what peels say from the peels' account itself.
 *
 * Operators ask masters and nobody else, so their requests go to the fleet as a stream, with the
 * reply subject as it is; masters answer only below the operator's own inbox, which the fleet
 * exports to the operators' account.
 *
 * Commands go the other way: the peels' account exports them as services, so that an agent can
 * answer one without knowing where the answer goes. The server tells in a line of the header which
 * account a command came from (accounts_is_from), which no answer can carry.
 *
 * Keys of the other accounts are derived from the fleet's: whoever has account.seed has all of
 * them, and there is nothing else to copy. Credentials carry a voucher, a tag by which the fleet's
 * key confirms the account that issued them:
 *
 *     zester-account:<public key of the fleet's account>:<signature of the issuing account's key>
 *
 * Claims of a fleet from before this border have no tag ACCOUNTS_TAG; its peels and operators live
 * in the fleet's account until `zester nats-auth separate` has moved them.
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

/* A tag of the fleet's claims: "zester-border:<version>:<since>", the version of the exports that
 * they list, and when peels and operators were given accounts of their own (seconds since 1970; 0:
 * at the beginning). */
#define ACCOUNTS_TAG "zester-border:"
/* Raised whenever fleet/bus/grant.h changes what peels or operators may do, or fleet/bus/claims.c
 * what their accounts are: masters then give servers new claims. */
#define ACCOUNTS_VERSION 2

/* The line of the header that servers add to a message that crosses as a service. */
#define ACCOUNTS_REQUEST_INFO "Nats-Request-Info"
/* How replies of requests from other accounts begin. */
#define ACCOUNTS_REPLY "_R_."

struct accounts {
    struct nats_nkey keys[ACCOUNT_ROLES];                 /* with seeds */
    char public_keys[ACCOUNT_ROLES][NATS_NKEY_TEXT_SIZE]; /* as text */
};

/* All accounts of the fleet that `fleet`, a key with a seed, belongs to. */
void accounts_derive(const struct nats_nkey *fleet, struct accounts *ret_accounts);
void accounts_done(struct accounts *accounts);
/* The name that the account's claims have. */
const char *accounts_name(enum account_role role);

/* The border in the fleet's claims. */
struct accounts_border {
    int64_t version; /* 0: there is none */
    int64_t since;
};

/* Put exports, imports and, for the fleet, the tag into decoded claims of that account, in place of
 * what is there. `since` counts when they have no tag yet. */
int accounts_write(struct arena *arena, const struct accounts *accounts, enum account_role role,
                   int64_t since, struct value *claims, struct err *err);
struct accounts_border accounts_read_border(const struct value *claims);
/* The same of a JWT, whose signature is checked by the key it names. */
int accounts_read_jwt(struct str jwt, struct accounts_border *ret_border, struct err *err);
/* The same; version 0 also when the JWT cannot be read. */
struct accounts_border accounts_find_border(struct str jwt);

/* The tag by which `fleet` confirms the account with this public key. */
const char *accounts_vouch(struct arena *arena, const struct nats_nkey *fleet, const char *account);
/* The public key of the account that these credentials belong to. */
const char *accounts_issuer(const struct claims_user *claims);
/* The public key of the fleet's account that issued or confirmed these credentials, in the arena.
 * Fails with ERR_UNSAFE for a voucher that is not right. */
int accounts_find_fleet(struct arena *arena, const struct claims_user *claims,
                        const char **ret_account, struct err *err);
/* Do these credentials belong to an account other than the fleet's? */
bool accounts_is_separate(const struct claims_user *claims);

/* Did a message with this header cross from the account with this public key? */
bool accounts_is_from(struct str header, const char *account);

#endif

/*
 * claims - what the JWTs of operator, account and users say, as records.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_BUS_CLAIMS_H
#define FLEET_BUS_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/bus/accounts.h"
#include "core/data/params.h"
#include "core/data/record.h"

struct arena;
struct buf;
struct err;
struct keyring;
struct nats_nkey;

#define CLAIMS_VERSION   2
#define CLAIMS_UNLIMITED (-1)

/* All three have these; `iss` and `jti` are set when they are signed. */
struct claims_head {
    int64_t iat, exp; /* seconds since 1970; exp 0: never */
    const char *iss, *sub, *name;
};

struct claims_operator {
    struct claims_head head;
    const char *system_account;
    struct param_strs signing_keys;
};

struct claims_account {
    struct claims_head head;
    bool has_jetstream;
    bool refuses_leaf_nodes;
    struct value revocations; /* public key to seconds; null: none */
};

struct claims_user {
    struct claims_head head;
    struct param_strs publish, subscribe;
    bool may_reply;
    struct param_strs connections; /* kinds of connection that are let in; empty: all */
    int64_t subscriptions;         /* 0: any number */
    const char *issuer_account;    /* NULL: the account itself has signed */
    struct param_strs tags;
};

/* Append the signed text. */
int claims_sign_operator(const struct claims_operator *claims, const struct nats_nkey *issuer,
                         struct buf *out, struct err *err);
/* `accounts`: the fleet's, with exports and imports; NULL: an account without. */
int claims_sign_account(const struct claims_account *claims, const struct accounts *accounts,
                        const struct nats_nkey *issuer, struct buf *out, struct err *err);
int claims_sign_user(const struct claims_user *claims, const struct nats_nkey *issuer,
                     struct buf *out, struct err *err);

/* What a JWT says, its signature checked by the key that it names as its issuer. Fails with
 * ERR_INVALID when it is not of that type. */
int claims_read_operator(struct arena *arena, struct str jwt, struct claims_operator *ret,
                         struct err *err);
int claims_read_account(struct arena *arena, struct str jwt, struct claims_account *ret,
                        struct err *err);
int claims_read_user(struct arena *arena, struct str jwt, struct claims_user *ret, struct err *err);

/* What changes in claims of an account that are there already. */
struct claims_renewal {
    int64_t iat;
    struct value revocations;   /* all of them; null or empty: none */
    const struct keyring *keys; /* our signing keys; NULL: as they are */
    /* Exports and imports (fleet/bus/accounts.h), unless those in the claims are newer; NULL: as
     * they are. */
    const struct accounts *accounts;
    int64_t since; /* of them, when there were none */
    /* Users of the fleet's account with JWTs issued until then are refused; 0: as it is. */
    int64_t all_before;
};

/* The key of "revocations" that means every user of the account. */
#define CLAIMS_ALL "*"

/* Append claims that say the same otherwise, also what is not known here: limits, imports, signing
 * keys of others. `arena` is for what is needed meanwhile. */
int claims_renew_account(struct arena *arena, struct str jwt, const struct claims_renewal *renewal,
                         const struct nats_nkey *issuer, struct buf *out, struct err *err);

/* Append the claims of the peels' or operators' account that belong to claims of the fleet's: of
 * the same time, with the same signing keys and revocations. */
int claims_derive_account(struct arena *arena, struct str fleet_jwt,
                          const struct accounts *accounts, enum account_role role,
                          const struct nats_nkey *issuer, struct buf *out, struct err *err);

/* Until when JWTs of all users of the account are refused; 0: none are. */
int64_t claims_all_before(const struct claims_account *claims);

/* Would the servers of this operator take these account claims? The server of 2.9 answers yes to
 * claims of a foreign operator, stores them, and locks everybody out at its next start. */
int claims_verify_account(struct arena *arena, struct str operator_jwt, struct str account_jwt,
                          const char *account, struct err *err);

#endif

/*
 * claims - the JWTs of operator, account and users, as records.
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

/* Common to all three; signing sets `iss` and `jti`. */
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
    struct param_strs connections; /* permitted kinds of connection; empty: all */
    int64_t subscriptions;         /* 0: any number */
    const char *issuer_account;    /* NULL: signed by the account itself */
    struct param_strs tags;
};

/* Appends the signed text. */
int claims_sign_operator(const struct claims_operator *claims, const struct nats_nkey *issuer,
                         struct buf *out, struct err *err);
/* `accounts`: the fleet's, with exports and imports; NULL: none. */
int claims_sign_account(const struct claims_account *claims, const struct accounts *accounts,
                        const struct nats_nkey *issuer, struct buf *out, struct err *err);
int claims_sign_user(const struct claims_user *claims, const struct nats_nkey *issuer,
                     struct buf *out, struct err *err);

/* Reads a JWT and checks its signature with the key of its issuer. Fails with ERR_INVALID for
 * another type. */
int claims_read_operator(struct arena *arena, struct str jwt, struct claims_operator *ret,
                         struct err *err);
int claims_read_account(struct arena *arena, struct str jwt, struct claims_account *ret,
                        struct err *err);
int claims_read_user(struct arena *arena, struct str jwt, struct claims_user *ret, struct err *err);

/* Changes to existing claims of an account. */
struct claims_renewal {
    int64_t iat;
    struct value revocations;   /* all of them; null or empty: none */
    const struct keyring *keys; /* our signing keys; NULL: unchanged */
    /* Exports and imports (fleet/bus/accounts.h), unless those in the claims are newer; NULL:
     * unchanged. */
    const struct accounts *accounts;
    int64_t since; /* of new accounts */
    /* Refuse users of the fleet's account with JWTs issued up to this time; 0: unchanged. */
    int64_t all_before;
};

/* Key in "revocations" for every user of the account. */
#define CLAIMS_ALL "*"

/* Appends claims that are otherwise the same, including fields unknown here: limits, imports, other
 * signing keys. `arena` is for temporary data. */
int claims_renew_account(struct arena *arena, struct str jwt, const struct claims_renewal *renewal,
                         const struct nats_nkey *issuer, struct buf *out, struct err *err);

/* Appends the claims of the peels' or operators' account derived from the fleet's: the same time,
 * signing keys and revocations. */
int claims_derive_account(struct arena *arena, struct str fleet_jwt,
                          const struct accounts *accounts, enum account_role role,
                          const struct nats_nkey *issuer, struct buf *out, struct err *err);

/* JWTs issued up to this time are refused for all users of the account; 0: none. */
int64_t claims_all_before(const struct claims_account *claims);

/* Would this operator's servers accept these account claims? nats-server 2.9 accepts claims of a
 * foreign operator, stores them, and locks out every user at its next start. */
int claims_verify_account(struct arena *arena, struct str operator_jwt, struct str account_jwt,
                          const char *account, struct err *err);

#endif

/*
 * identity - the keys, JWTs and credentials that a fleet is built on, as texts and as files.
 *
 *     operator.seed          the operator, who vouches for accounts; needed for nothing but a new
 *                            signing key: may be kept elsewhere
 *     operator.jwt           the operator's claims, for servers
 *     operator-signing.seed  signs account claims: revocation needs it
 *     account.seed           the fleet's account: signs peels, seals secrets
 *     account.jwt            its claims
 *     master.creds           a user of the account: masters
 *     admin.creds            a user of the account: the command line
 *     sys.creds              a user of the system account: pushes claims to servers
 *
 * and, once 'zester nats-auth rotate' has made one:
 *
 *     account-signing.seed   a signing key of the account (fleet/bus/keyring.h): signs peels
 * instead of account.seed account-signing.next   the same, until every server knows it
 *
 * Seeds and credentials are readable by their owner only. Nothing is overwritten.
 *
 * Memory: the arena; identity_wipe zeroes what is secret. Threads: any.
 */
#ifndef FLEET_BUS_IDENTITY_H
#define FLEET_BUS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "fleet/bus/accounts.h"
#include "core/sys/newfiles.h"

struct arena;
struct err;
struct nats_nkey;

enum identity_file {
    IDENTITY_OPERATOR_SEED,
    IDENTITY_OPERATOR_JWT,
    IDENTITY_OPERATOR_SIGNING_SEED,
    IDENTITY_ACCOUNT_SEED,
    IDENTITY_ACCOUNT_JWT,
    IDENTITY_MASTER_CREDS,
    IDENTITY_ADMIN_CREDS,
    IDENTITY_SYS_CREDS,
    /* not made with the others */
    IDENTITY_SIGNING_SEED,
    IDENTITY_SIGNING_NEXT,
};
#define IDENTITY_FILES (IDENTITY_SYS_CREDS + 1) /* of a new fleet */
#define IDENTITY_NAMES (IDENTITY_SIGNING_NEXT + 1)

/* Life of a peel's credentials. */
#define IDENTITY_PEEL_DAYS    180
#define IDENTITY_PEEL_SECONDS ((int64_t)IDENTITY_PEEL_DAYS * 86400)

const char *identity_file_name(enum identity_file file);

struct identity {
    struct str files[IDENTITY_FILES];     /* each ends in a line end */
    const char *account, *system_account; /* public keys */
    const char *system_jwt;
    /* Of the accounts that are derived from the fleet's; NULL in a fleet that has none yet. */
    struct {
        const char *key, *jwt;
    } derived[ACCOUNT_ROLES];
};

/* All of it anew; `now` in seconds since 1970. */
int identity_make(struct arena *arena, int64_t now, struct identity *ret_identity, struct err *err);
void identity_wipe(struct identity *identity);

/* As files for core/sys/newfiles.h, in the order in which they must be written. */
void identity_list(const struct identity *identity,
                   struct newfile ret_files[static IDENTITY_FILES]);

/* The seed in `dir`; the caller wipes the key. */
int identity_read_key(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                      struct err *err);

/* The accounts of the fleet whose keys are in `dir`, for accounts_done, and whether peels and
 * operators have accounts of their own. */
int identity_read_accounts(const char *dir, struct accounts *ret_accounts, bool *ret_is_separate,
                           struct err *err);

/* Sign master.creds or admin.creds of `dir` anew, with the same key and the grants of today, in
 * place of the file. Does nothing when it was issued at `since` or later, or is not there. */
int identity_renew_creds(const char *dir, enum identity_file file, const struct nats_nkey *fleet,
                         int64_t since, struct err *err);

/* A new signing key of the account, as a file that must not be there yet; the caller wipes the key.
 */
int identity_make_signing(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                          struct err *err);

/* What a configuration of another server of the fleet needs, from the files of `dir`: the claims of
 * the operator and of both accounts. Those of the system account are signed anew. */
int identity_read_claims(struct arena *arena, const char *dir, int64_t now,
                         struct identity *ret_identity, struct err *err);

/* Who signs credentials. */
struct identity_issuer {
    const struct nats_nkey *account;
    const struct nats_nkey *signing; /* one of its signing keys; NULL: the account itself */
    const struct nats_nkey *fleet;   /* confirms the account; NULL: it is the fleet's own */
};
/* The issuer for users of this role's account, or of the fleet's while there are no others. */
struct identity_issuer identity_issuer(const struct accounts *accounts, enum account_role role,
                                       bool is_separate);

/* Credentials for a leaf node, as the text of a file; the caller wipes it. */
int identity_issue_leaf(struct arena *arena, const struct identity_issuer *issuer, const char *name,
                        int64_t now, struct str *ret_creds, struct err *err);

/* What an operator with a name is given. */
struct identity_operator {
    const char *name;
    bool is_deaf;         /* GRANT_OPERATOR_DEAF */
    int64_t now, expires; /* seconds since 1970 */
};
/* Credentials as the text of a file, which the caller wipes, and their public key. */
int identity_issue_operator(struct arena *arena, const struct identity_issuer *issuer,
                            const struct identity_operator *who, struct str *ret_creds,
                            const char **ret_key, struct err *err);

/* The JWT of a peel, for the peel's own public key. */
int identity_issue_peel(struct arena *arena, const struct identity_issuer *issuer, const char *peel,
                        const char *public_key, int64_t now, const char **ret_jwt, struct err *err);

#endif

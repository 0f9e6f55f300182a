/*
 * identity - the keys, JWTs and credentials of a fleet, as texts and as files.
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
 *     account-signing.seed   a signing key of the account (fleet/bus/keyring.h), which signs
 *                            peels instead of account.seed
 *     account-signing.next   the next one, until every server knows it
 *
 * Seeds and credentials are readable by their owner only. Files are never overwritten.
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
    /* not created with the others */
    IDENTITY_SIGNING_SEED,
    IDENTITY_SIGNING_NEXT,
};
#define IDENTITY_FILES (IDENTITY_SYS_CREDS + 1) /* in a new fleet */
#define IDENTITY_NAMES (IDENTITY_SIGNING_NEXT + 1)

/* Validity of a peel's credentials. */
#define IDENTITY_PEEL_DAYS    180
#define IDENTITY_PEEL_SECONDS ((int64_t)IDENTITY_PEEL_DAYS * 86400)

const char *identity_file_name(enum identity_file file);

struct identity {
    struct str files[IDENTITY_FILES];     /* each ends with a newline */
    const char *account, *system_account; /* public keys */
    const char *system_jwt;
    /* The derived accounts; NULL in a fleet without them. */
    struct {
        const char *key, *jwt;
    } derived[ACCOUNT_ROLES];
};

/* Creates all of it; `now` in seconds since 1970. */
int identity_make(struct arena *arena, int64_t now, struct identity *ret_identity, struct err *err);
void identity_wipe(struct identity *identity);

/* As files for core/sys/newfiles.h, in the order to write them. */
void identity_list(const struct identity *identity,
                   struct newfile ret_files[static IDENTITY_FILES]);

/* The seed in `dir`; the caller wipes the key. */
int identity_read_key(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                      struct err *err);

/* The accounts of the fleet whose keys are in `dir`, for accounts_done, and whether peels and
 * operators have their own accounts. */
int identity_read_accounts(const char *dir, struct accounts *ret_accounts, bool *ret_is_separate,
                           struct err *err);

/* Replaces master.creds or admin.creds in `dir`, signed again with the same key and current grants.
 * Does nothing if the file was issued at `since` or later, or is missing. */
int identity_renew_creds(const char *dir, enum identity_file file, const struct nats_nkey *fleet,
                         int64_t since, struct err *err);

/* A new signing key of the account, in a file that must not exist; the caller wipes the key. */
int identity_make_signing(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                          struct err *err);

/* The claims for the configuration of another server, from the files in `dir`: operator and both
 * accounts. Those of the system account are signed again. */
int identity_read_claims(struct arena *arena, const char *dir, int64_t now,
                         struct identity *ret_identity, struct err *err);

/* The signer of credentials. */
struct identity_issuer {
    const struct nats_nkey *account;
    const struct nats_nkey *signing; /* a signing key of the account; NULL: the account itself */
    const struct nats_nkey *fleet;   /* confirms the account; NULL: the fleet's own account */
};
/* The issuer for users of this role's account, or of the fleet's in a fleet without separate
 * accounts. */
struct identity_issuer identity_issuer(const struct accounts *accounts, enum account_role role,
                                       bool is_separate);

/* Credentials for a leaf node, as the text of a file; the caller wipes it. */
int identity_issue_leaf(struct arena *arena, const struct identity_issuer *issuer, const char *name,
                        int64_t now, struct str *ret_creds, struct err *err);

/* Credentials of a named operator. */
struct identity_operator {
    const char *name;
    bool is_deaf;         /* GRANT_OPERATOR_DEAF */
    int64_t now, expires; /* seconds since 1970 */
};
/* Credentials as the text of a file, and their public key; the caller wipes the text. */
int identity_issue_operator(struct arena *arena, const struct identity_issuer *issuer,
                            const struct identity_operator *who, struct str *ret_creds,
                            const char **ret_key, struct err *err);

/* The JWT of a peel, for the peel's own public key. */
int identity_issue_peel(struct arena *arena, const struct identity_issuer *issuer, const char *peel,
                        const char *public_key, int64_t now, const char **ret_jwt, struct err *err);

#endif

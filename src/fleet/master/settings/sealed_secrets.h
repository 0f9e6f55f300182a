/*
 * sealed secrets - the secrets in the tree of settings, sealed for each peel that needs them.
 *
 * The bucket of secrets has a map of names to sealed values under the id of each peel, and the key
 * that they are sealed with. A value is sealed to the curve key that was verified when the peel
 * enrolled, never to one that it claims later; a peel without an enrollment that counts gets none.
 * What a peel needs is found by making its settings, when the tree, its facts or its enrollment
 * have changed, or a value of a secret back-end; the bucket is written only when that gives
 * something else than it has. A peel for which such a value is awaited, or was never got, keeps
 * what it has; nobody else waits for it (fleet/master/secrets/secret_cache.h). Equal values for one
 * peel seal to equal bytes: the nonce is made from the value and the account's key.
 *
 * Only the holder of the lease writes.
 *
 *     sealed_secrets_new -> sealed_secrets_reload... -> sealed_secrets_free
 *
 * Threads: the loop's; workers read and seal.
 */
#ifndef FLEET_MASTER_SETTINGS_SEALED_SECRETS_H
#define FLEET_MASTER_SETTINGS_SEALED_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

struct background_tasks;
struct err;
struct lease;
struct master;
struct value;
struct sealed_secrets;

struct sealed_secrets_options {
    struct master *master;
    const char *folder;                        /* of settings; copied */
    struct background_tasks *background_tasks; /* must outlive it */
    struct background_tasks *fetchers;         /* the same; they wait for secret back-ends */
    const struct lease *lease;                 /* the same */
};

/* The census and the roster of the master must be there. */
struct sealed_secrets *sealed_secrets_new(const struct sealed_secrets_options *options,
                                          struct err *err);
/* NULL is fine. */
void sealed_secrets_free(struct sealed_secrets *sealed_secrets);

/* The tree may have changed. */
void sealed_secrets_reload(struct sealed_secrets *sealed_secrets);
/* So may `secret_backends`. */
void sealed_secrets_configure(struct sealed_secrets *sealed_secrets);
/* The lease is lost: what back-ends gave is forgotten. */
void sealed_secrets_yield(struct sealed_secrets *sealed_secrets);
/* Does a secret back-end fail? Then `ret_text` says which, and for what. */
bool sealed_secrets_is_failing(const struct sealed_secrets *sealed_secrets, char *ret_text,
                               size_t size);

/* `settings` is NULL when `error` says why. */
typedef void sealed_secrets_show_fn(void *self, const struct value *settings, const char *error);
/* What a peel gets, with its secrets hidden. `fn` is called once, also when the sealed secrets is
 * freed. */
void sealed_secrets_show(struct sealed_secrets *sealed_secrets, const char *peel,
                         sealed_secrets_show_fn *fn, void *self);

#endif

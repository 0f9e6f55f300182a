/*
 * vault - the secrets in the tree of settings, sealed for each peel that needs them.
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
 *     vault_new -> vault_reload... -> vault_free
 *
 * Threads: the loop's; workers read and seal.
 */
#ifndef FLEET_MASTER_SETTINGS_VAULT_H
#define FLEET_MASTER_SETTINGS_VAULT_H

#include <stdbool.h>
#include <stddef.h>

struct chores;
struct err;
struct lease;
struct master;
struct value;
struct vault;

struct vault_options {
    struct master *master;
    const char *folder;        /* of settings; copied */
    struct chores *chores;     /* must outlive it */
    struct chores *fetchers;   /* the same; they wait for secret back-ends */
    const struct lease *lease; /* the same */
};

/* The census and the roster of the master must be there. */
struct vault *vault_new(const struct vault_options *options, struct err *err);
/* NULL is fine. */
void vault_free(struct vault *vault);

/* The tree may have changed. */
void vault_reload(struct vault *vault);
/* So may `secret_backends`. */
void vault_configure(struct vault *vault);
/* The lease is lost: what back-ends gave is forgotten. */
void vault_yield(struct vault *vault);
/* Does a secret back-end fail? Then `ret_text` says which, and for what. */
bool vault_is_failing(const struct vault *vault, char *ret_text, size_t size);

/* `settings` is NULL when `error` says why. */
typedef void vault_show_fn(void *self, const struct value *settings, const char *error);
/* What a peel gets, with its secrets hidden. `fn` is called once, also when the vault is freed. */
void vault_show(struct vault *vault, const char *peel, vault_show_fn *fn, void *self);

#endif

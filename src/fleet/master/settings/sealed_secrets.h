/*
 * sealed secrets - the secrets in the tree of settings, sealed for each peel that needs them.
 *
 * The secrets bucket maps names to sealed values, for each peel id, with the sealing key. A value
 * is sealed to the curve key verified at enrollment, never to a key claimed later; a peel without a
 * valid enrollment gets none. The needs of a peel are found by rendering its settings, when the
 * tree, its facts, its enrollment or a back-end value has changed; the bucket is written only when
 * the result differs. A peel with a pending or failed value keeps its old secrets; no other peel
 * waits for it (fleet/master/secrets/secret_cache.h). Equal values for one peel seal to equal
 * bytes: the nonce is derived from the value and the account key.
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

/* The master's enrollment cache and roster must exist. */
struct sealed_secrets *sealed_secrets_new(const struct sealed_secrets_options *options,
                                          struct err *err);
/* NULL is fine. */
void sealed_secrets_free(struct sealed_secrets *sealed_secrets);

/* The tree may have changed. */
void sealed_secrets_reload(struct sealed_secrets *sealed_secrets);
/* `secret_backends` may have changed. */
void sealed_secrets_configure(struct sealed_secrets *sealed_secrets);
/* The lease is lost: forget the values of back-ends. */
void sealed_secrets_yield(struct sealed_secrets *sealed_secrets);
/* Is a secret back-end failing? Then `ret_text` says which, and for which value. */
bool sealed_secrets_is_failing(const struct sealed_secrets *sealed_secrets, char *ret_text,
                               size_t size);

/* `settings` is NULL when `error` says why. */
typedef void sealed_secrets_show_fn(void *self, const struct value *settings, const char *error);
/* Show the settings of a peel, with its secrets masked. `fn` is called once, also when this is
 * freed. */
void sealed_secrets_show(struct sealed_secrets *sealed_secrets, const char *peel,
                         sealed_secrets_show_fn *fn, void *self);

#endif

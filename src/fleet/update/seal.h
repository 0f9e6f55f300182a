/*
 * seal - the signature of a published version: made by whoever builds releases, verified by every
 * node before a byte of it runs.
 *
 * What is signed is a text of one line for each fact: the component, system, version, size and
 * SHA-256 of the binary. So a binary for masters never passes for one of peels, nor one version for
 * another. The key is a user key of NATS (U...); masters and the bus have no part in it.
 *
 *     seal_sign(&manifest, &key, signature)          the publisher
 *     seal_check(&command, &trusted, err)            the node
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_UPDATE_SEAL_H
#define FLEET_UPDATE_SEAL_H

#include "core/data/params.h"
#include "fleet/wire/update.h"

struct arena;
struct err;
struct nats_nkey;

/* Fills in `key` and `signature` of the manifest, in the arena. The key must have a seed. */
void seal_sign(struct arena *arena, struct update_manifest *manifest, const struct nats_nkey *key);

/* Is this what one of the trusted keys (public, as text) has signed? Fails with ERR_UNSAFE. */
int seal_check(const struct update_command *command, const struct param_strs *trusted,
               struct err *err);

#endif

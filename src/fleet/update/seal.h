/*
 * seal - the signature of a published version: made by the publisher, verified by every node before
 * it runs.
 *
 * The signed text has one line each for component, system, version, size and SHA-256 of the binary.
 * So a binary for masters never passes for a peel's, nor one version for another. The key is a NATS
 * user key (U...); masters and the bus do not have it.
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

/* Fails with ERR_UNSAFE unless one of the trusted keys (public, as text) signed it. */
int seal_check(const struct update_command *command, const struct param_strs *trusted,
               struct err *err);

#endif

/*
 * update_versions - published manifests and binaries, as commands read and write them.
 *
 * Memory: the arena of the fleet. Threads: one; all of it blocks.
 */
#ifndef COMMANDS_CLI_FLEET_UPDATE_VERSIONS_H
#define COMMANDS_CLI_FLEET_UPDATE_VERSIONS_H

#include <stdint.h>

#include "core/base/vec.h"
#include "fleet/wire/update.h"

struct err;
struct fleet;
struct nats_nkey;

struct update_versions {
    VEC(struct update_manifest) list; /* by component, version, system */
};

/* All of them, or those with this component and version ("": any). */
int update_versions_read(struct fleet *fleet, struct update_versions *ret, struct err *err);

/* Sign and store what `file` holds: the binary first, then its manifest, which makes it visible.
 * Fails with ERR_BUSY when the version is there with other content. `manifest` has what the
 * operator chose; the rest is filled in. */
int update_versions_publish(struct fleet *fleet, const char *file, const struct nats_nkey *key,
                            struct update_manifest *manifest, int64_t timeout, struct err *err);

/* Change what is stored of a version for one system; by CAS. */
typedef void update_change_fn(struct update_manifest *manifest, int64_t number);
int update_versions_change(struct fleet *fleet, const struct update_manifest *manifest,
                           update_change_fn *change, int64_t number, int64_t timeout,
                           struct err *err);
/* Promote it. Of a version that was promoted before, for this system, it begins a new round of
 * automatic rollouts; a further system joins the round of the others. */
int update_versions_promote(struct fleet *fleet, const struct update_manifest *manifest,
                            int64_t timeout, struct err *err);
/* Whether masters roll promoted versions out, for the whole fleet. */
int update_versions_switch(struct fleet *fleet, const struct update_switch *set, int64_t timeout,
                           struct err *err);
/* The manifest first, then the binary. */
int update_versions_remove(struct fleet *fleet, const struct update_manifest *manifest,
                           int64_t timeout, struct err *err);

/* The binary into a new file, verified. */
int update_versions_fetch(struct fleet *fleet, const struct update_manifest *manifest,
                          const char *file, int64_t timeout, struct err *err);

#endif

/*
 * standby - keeps the folder of a standby master in sync with the published tree.
 *
 *     <folder>/.zester-published    the manifest at the last sync
 *     <folder>/.zester-kept         local files replaced by others
 *     <folder>/.zester-rollback     the revision of the current rollback
 *
 * So a master that takes over the lease publishes the same tree. It is a three-way merge of the
 * published file, the local one, and the last common one. Remote changes are applied; changes made
 * only here are kept, and published when this master leads; in a conflict the remote version wins,
 * and the local one is kept aside. A folder that was never in sync is replaced, unless `is_leading`
 * says that no other master publishes: then its files win.
 *
 * With `is_leading` the local version wins conflicts, too: this master publishes now.
 *
 * A git checkout, or a folder that is not writable, is not ours: it is left alone. So is a folder
 * from which another master on this machine publishes (it holds .zester-lock).
 *
 *     standby_new -> { standby_sync -> synced | standby_note }... -> standby_free
 *
 * Threads: the loop's; a worker of its own touches the disk.
 */
#ifndef FLEET_MASTER_FILES_STANDBY_H
#define FLEET_MASTER_FILES_STANDBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/js.h"

struct err;
struct loop;
struct publisher_kind;
struct standby;
struct tree_trust;

#define STANDBY_BASE ".zester-published"
#define STANDBY_KEPT ".zester-kept"

struct standby_options {
    struct loop *loop;
    struct nats_js js;
    const struct publisher_kind *kind;
    const char *folder;             /* must outlive it */
    void *secret;                   /* for `prepare` and `open` of the kind; the same */
    const struct tree_trust *trust; /* read at each fetch; the same */
    /* The folder is in sync (`error` NULL), or not. */
    void (*synced)(void *self, const char *error);
    void *self;
};

struct standby *standby_new(const struct standby_options *options, struct err *err);
/* NULL is fine. */
void standby_free(struct standby *standby);

/* Begin, unless it is running; `synced` follows. `manifest` is the key of the set to follow; NULL:
 * the set for all. */
void standby_sync(struct standby *standby, bool is_leading, const char *manifest);
bool standby_is_busy(const struct standby *standby);

/* The folder has that revision (fleet/master/files/tree_history.h; `error` NULL), or not. `files`
 * were written or removed. */
typedef void standby_restored_fn(void *self, const char *error, size_t files);
/* Restore a revision, on the master that publishes from the folder. Not while busy. Fails when the
 * folder differs and is a git checkout or not writable. */
void standby_restore(struct standby *standby, uint64_t revision, standby_restored_fn *fn);
/* Could a restore change the folder? Fails with the reason why not. */
int standby_check(const struct standby *standby, struct err *err);
/* The revision of an interrupted restore; 0: none. */
uint64_t standby_unfinished(const struct standby *standby);

/* The manifest that this master published from the folder. */
void standby_note(struct standby *standby, struct str manifest);

#endif

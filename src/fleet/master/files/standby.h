/*
 * standby - keeps the folder of a master that does not publish in step with what is published.
 *
 *     <folder>/.zester-published    the manifest that the folder was in step with last
 *     <folder>/.zester-kept         files of this folder that others replaced
 *     <folder>/.zester-rollback     the revision that the folder is being brought back to
 *
 * So a master that takes the lease over publishes what is published already. Three versions of each
 * file decide: the published one, that of this folder, and the one both had last. What others
 * changed is taken over; what was changed here only is kept, and published when this master leads;
 * what both changed is taken over, and the version of this folder is kept aside. A folder that was
 * never in step becomes what is published, unless `is_leading` says that nobody else publishes:
 * then its files count.
 *
 * With `is_leading`, what both changed is kept, too: this master publishes now.
 *
 * A folder that is a checkout of git, or cannot be written, belongs to somebody else: it is left as
 * it is. So is one that another master of this machine publishes from (it holds .zester-lock).
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
    const struct tree_trust *trust; /* as it is at each fetch; the same */
    /* The folder has all that was published; `error` NULL, or it does not. */
    void (*synced)(void *self, const char *error);
    void *self;
};

struct standby *standby_new(const struct standby_options *options, struct err *err);
/* NULL is fine. */
void standby_free(struct standby *standby);

/* Begin, unless it is under way; `synced` follows. `manifest` is the key of the set that the folder
 * follows; NULL: that of all. */
void standby_sync(struct standby *standby, bool is_leading, const char *manifest);
bool standby_is_busy(const struct standby *standby);

/* The folder is that revision (fleet/master/files/tree_history.h); `error` NULL, or not. `files`
 * were written or removed. */
typedef void standby_restored_fn(void *self, const char *error, size_t files);
/* Make the folder what it was, for the master that publishes from it. Not while it is busy. Fails
 * for a folder that differs and is a checkout of git, or cannot be written. */
void standby_restore(struct standby *standby, uint64_t revision, standby_restored_fn *fn);
/* Could a restore change the folder? Fails with the reason why not. */
int standby_check(const struct standby *standby, struct err *err);
/* The revision of a restore that was interrupted; 0: none was. */
uint64_t standby_unfinished(const struct standby *standby);

/* What this master published from the folder: its manifest. */
void standby_note(struct standby *standby, struct str manifest);

#endif

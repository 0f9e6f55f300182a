/*
 * sync - updates the checkouts of a tree from their remotes, SYNC_AT_ONCE at a time.
 *
 *     <folder>/.zester-gitfs/lock     one sync at a time, across programs
 *
 * Removes leftovers of unlisted remotes: the repository, and its folder if it is a checkout,
 * keeping edits; and incomplete folders of a killed program.
 *
 * A failing remote does not affect others, and a hanging one times out.
 *
 * Blocks; for workers. Memory: the arena of the job. Threads: any.
 */
#ifndef FLEET_GITFS_SYNC_H
#define FLEET_GITFS_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/vec.h"
#include "fleet/gitfs/checkout.h"
#include "fleet/gitfs/remote.h"

struct arena;
struct cancel;

/* More would wait for the same disk and network. */
#define SYNC_AT_ONCE 8

/* Result for one remote. */
struct sync_result {
    const struct remote *remote;
    struct checkout_report report;
    const char *error; /* NULL: in sync; else the folder is unchanged */
    /* The folder matches a commit exactly, or does not come from git. */
    bool is_valid;
};

struct sync_job {
    struct arena *arena;
    const struct cancel *cancel;
    const char *folder; /* the tree of states */
    const struct remotes *remotes;
    int64_t timeout; /* of one remote, for a fetch; nanoseconds */
    bool pulls;      /* fetch from the remotes; else only check for local edits */

    /* results */
    VEC(struct sync_result) results; /* in the order of the remotes */
    VEC(const char *) removed;       /* names of remotes that are no longer listed */
    VEC(const char *) left;          /* removed remotes whose folder is not ours and stays */
};

/* Fails if it could not start. */
int sync_run(struct sync_job *job, struct err *err);

/* Does the folder have a store of remotes? */
bool sync_has_store(const char *folder);

#endif

/*
 * sync - brings the checkouts of a tree in step with their remotes, SYNC_AT_ONCE of them at once.
 *
 *     <folder>/.zester-gitfs/lock     one at a time, also of several programs
 *
 * What is left of remotes that are no longer listed goes: the repository, and its folder if it was
 * made from it; edits in it are kept. So does what a killed program left half made.
 *
 * A remote that fails does not keep others from being pulled, and one that hangs ends by its
 * timeout.
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

/* What became of one remote. */
struct sync_result {
    const struct remote *remote;
    struct checkout_report report;
    const char *error; /* NULL: it is in step; else the folder stays as it was */
    /* The folder has exactly what a commit has, or does not come from git at all. */
    bool is_valid;
};

struct sync_job {
    struct arena *arena;
    const struct cancel *cancel;
    const char *folder; /* the tree of states */
    const struct remotes *remotes;
    int64_t timeout; /* of one remote, for a fetch; nanoseconds */
    bool pulls;      /* ask the remotes; else only look whether somebody edited a checkout */

    /* results */
    VEC(struct sync_result) results; /* in the order of the remotes */
    VEC(const char *) removed;       /* names of remotes that are no longer listed */
    VEC(const char *) left;          /* of those, whose folder is not ours and stays */
};

/* Fails when nothing could be tried. */
int sync_run(struct sync_job *job, struct err *err);

/* Is there anything of remotes in the folder? */
bool sync_has_store(const char *folder);

#endif

/*
 * shelf - what the files of the service "publisher-lease" share: the trees of a master, and who
 * asked for something about them.
 *
 *     files_service.c     when a tree is published, and when it follows what others publish
 *     files_update.c      an operator publishes now
 *     files_rollback.c    an operator brings an earlier revision back
 *     files_git.c         folders of the tree of states that come from git remotes
 *     files_sweep.c       large files that no tree has any longer
 *     files_canary.c      an operator tries a revision on some machines first
 *     files_canary_record.c    and what is known of that
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_FILES_SHELF_H
#define FLEET_MASTER_FILES_SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "fleet/bus/tree_trust.h"
#include "fleet/master/lease.h"
#include "fleet/master/files/publisher.h"
#include "fleet/master/settings/settings_views.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "core/sys/filewatch.h"
#include "core/sys/chore.h"
#include "core/sys/timers.h"
#include "fleet/wire/canary.h"

struct arena;
struct err;
struct master;
struct nats_msg;
struct nats_sub;
struct shelf;
struct shelf_act;
struct shelf_git;
struct shelf_one_update;
struct shelf_rollback;
struct shelf_sweep;
struct standby;
struct vault;

/* Rows of shelf_kinds. */
enum { SHELF_SETTINGS, SHELF_STATES, SHELF_REACTOR, SHELF_SEALED };
#define SHELF_KINDS    (SHELF_SEALED + 1)
#define SHELF_HOST_MAX 256
extern const struct publisher_kind shelf_kinds[SHELF_KINDS];

/* One tree, and whoever watches it on disk. */
struct shelf_branch {
    struct shelf *shelf;
    struct filewatch watch;
    struct publisher *publisher;
    struct standby *standby; /* NULL: it is not mirrored */
    uint64_t synced;  /* the number of the set that the folder has, or was published from it */
    uint64_t syncing; /* that a sync begins with */
    VEC(struct shelf_one_update *) waiting; /* until it may be published */
    bool leads;          /* the folder is what must be published, as long as we hold the lease */
    uint64_t unfinished; /* the revision of a rollback that was interrupted; 0: none was */
    struct shelf_rollback *rollback; /* under way; NULL */
};

/* The canary of the states, as its record says. */
struct shelf_canary {
    struct arena arena;
    struct canary record;
    uint64_t revision; /* of the record, or of its removal */
    bool is_there;
    bool is_odd;           /* the record cannot be read: nothing is published */
    bool is_known;         /* it was read while this master held the lease that it holds now */
    bool is_reading;       /* it is being read */
    int64_t reading_since; /* the lease for which it is */
    struct timer retry;
    struct shelf_act *act; /* under way; NULL */
};

struct shelf {
    struct master *master;
    struct chores chores;
    struct chores fetchers; /* wait for secret back-ends */
    struct lease lease;
    struct filewatch_hub hub;
    struct shelf_branch branches[SHELF_KINDS];
    struct vault *vault;
    struct shelf_git *git;
    struct shelf_sweep *sweep;
    struct shelf_canary canary;
    struct nats_sub *updates, *statuses, *rollbacks, *canaries;
    struct settings_views views;
    struct timer again;
    struct nats_nkey account;
    struct tree_trust trust; /* in what other masters publish */
    int64_t apart_since;     /* clock_now since when another master has the lease; 0: it has not */
    bool mirrors;            /* another has had it for long: the folders follow what it publishes */
    char host[SHELF_HOST_MAX];
};

/* May the folder be published? Not before it has what another master published, and not while an
 * earlier revision is brought back. */
bool shelf_may_publish(struct shelf_branch *branch);
/* Has the folder what another master published? */
bool shelf_is_in_step(struct shelf_branch *branch);
/* What was published from the folder. */
void shelf_note_round(struct shelf_branch *branch, const struct publisher_outcome *outcome);
/* Folders follow what is published, and are published by the holder of the lease. */
void shelf_advance(struct shelf *shelf);

/* --- files_update.c ----------------------------------------------------------------- */

/* A request of an operator. */
void shelf_on_update(void *self, const struct nats_msg *msg);
/* Those that waited for the branch. */
void shelf_run_updates(struct shelf_branch *branch);
void shelf_refuse_updates(struct shelf_branch *branch, const char *why);

/* --- files_rollback.c --------------------------------------------------------------- */

void shelf_on_rollback(void *self, const struct nats_msg *msg);
/* Go on with one that was interrupted, before anything is published. */
void shelf_resume_rollback(struct shelf_branch *branch);
/* The master is shutting down. */
void shelf_drop_rollback(struct shelf_branch *branch);

/* --- files_git.c -------------------------------------------------------------------- */

struct shelf_round {
    bool pulls; /* git remotes first, now */
    struct publisher_wish wish;
};
/* Publish the tree, after what comes from git is in it. `fn` of the wish is called once; a round
 * that waits with the same `fn` and `self` is the same. */
void shelf_begin_round(struct shelf_branch *branch, const struct shelf_round *round);

/* Do folders of the tree come from git remotes? Such a tree is not mirrored, and an earlier
 * revision of it is brought back by git. */
bool shelf_is_from_git(const struct shelf_branch *branch);
/* "web at 1a2b3c4d5e6f"; "": nothing comes from git. */
const char *shelf_describe_git(struct arena *arena, const struct shelf_branch *branch);

int shelf_git_open(struct shelf *shelf, struct err *err);
void shelf_git_start(struct shelf *shelf);
/* There may be other remotes. */
void shelf_git_configure(struct shelf *shelf);
/* This master holds the lease, or no longer. */
void shelf_git_lead(struct shelf *shelf);
void shelf_git_yield(struct shelf *shelf);
void shelf_git_stop(struct shelf *shelf);
/* Not open is fine. */
void shelf_git_free(struct shelf *shelf);

/* --- files_sweep.c ------------------------------------------------------------------ */

/* While the publishers are there. */
void shelf_sweep_start(struct shelf *shelf);
void shelf_sweep_stop(struct shelf *shelf);
/* After the connection. Not started is fine. */
void shelf_sweep_free(struct shelf *shelf);

/* --- files_canary.c ----------------------------------------------------------------- */

void shelf_on_canary(void *self, const struct nats_msg *msg);
/* Go on with the end of a canary that was interrupted. True when something is under way that
 * needs the folder as it is. */
bool shelf_resume_canary(struct shelf *shelf);
/* The master is shutting down. */
void shelf_close_canary(struct shelf *shelf);

/* --- files_canary_record.c ---------------------------------------------------------- */

/* With what is needed to write the record. */
struct nats_kv shelf_canary_bucket(const struct shelf *shelf);
/* This is the record now; a NULL view: it is gone. What is older than what is known is ignored. */
void shelf_set_canary(struct shelf *shelf, struct str record, uint64_t revision);
/* Publish to the canary, or to all, as the record says. */
void shelf_aim_publisher(struct shelf *shelf);
/* Read it again, and go on with it, in a moment. */
void shelf_retry_canary(struct shelf *shelf);
/* What the bucket says of it; a NULL view: it is gone. `self` is the branch of the states. */
void shelf_note_canary(void *self, struct str record, uint64_t revision);
/* This master has got the lease, or lost it. */
void shelf_read_canary(struct shelf *shelf);
void shelf_forget_canary(struct shelf *shelf);
/* May the states not be published now, because it is not known whether there is a canary, or
 * because one begins or ends? */
bool shelf_is_held_by_canary(const struct shelf *shelf);
/* The manifest that the folder of states of a master follows; NULL: that of all. */
const char *shelf_canary_manifest(const struct shelf *shelf);

#endif

/*
 * files service - what the files of the service "publisher-lease" share: the trees of a master, and
 * who asked for something about them.
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
#ifndef FLEET_MASTER_FILES_FILES_SERVICE_H
#define FLEET_MASTER_FILES_FILES_SERVICE_H

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
#include "core/sys/background_task.h"
#include "core/sys/timers.h"
#include "fleet/wire/canary.h"

struct arena;
struct err;
struct master;
struct nats_msg;
struct nats_sub;
struct files_service;
struct files_service_act;
struct files_service_git;
struct files_service_one_update;
struct files_service_rollback;
struct files_service_sweep;
struct standby;
struct sealed_secrets;

/* Rows of files_service_kinds. */
enum { FILES_SERVICE_SETTINGS, FILES_SERVICE_STATES, FILES_SERVICE_REACTOR, FILES_SERVICE_SEALED };
#define FILES_SERVICE_KINDS    (FILES_SERVICE_SEALED + 1)
#define FILES_SERVICE_HOST_MAX 256
extern const struct publisher_kind files_service_kinds[FILES_SERVICE_KINDS];

/* One tree, and whoever watches it on disk. */
struct files_service_branch {
    struct files_service *files_service;
    struct filewatch watch;
    struct publisher *publisher;
    struct standby *standby; /* NULL: it is not mirrored */
    uint64_t synced;  /* the number of the set that the folder has, or was published from it */
    uint64_t syncing; /* that a sync begins with */
    VEC(struct files_service_one_update *) waiting; /* until it may be published */
    bool leads;          /* the folder is what must be published, as long as we hold the lease */
    uint64_t unfinished; /* the revision of a rollback that was interrupted; 0: none was */
    struct files_service_rollback *rollback; /* under way; NULL */
};

/* The canary of the states, as its record says. */
struct files_service_canary {
    struct arena arena;
    struct canary record;
    uint64_t revision; /* of the record, or of its removal */
    bool is_there;
    bool is_odd;           /* the record cannot be read: nothing is published */
    bool is_known;         /* it was read while this master held the lease that it holds now */
    bool is_reading;       /* it is being read */
    int64_t reading_since; /* the lease for which it is */
    struct timer retry;
    struct files_service_act *act; /* under way; NULL */
};

struct files_service {
    struct master *master;
    struct background_tasks background_tasks;
    struct background_tasks fetchers; /* wait for secret back-ends */
    struct lease lease;
    struct filewatch_hub hub;
    struct files_service_branch branches[FILES_SERVICE_KINDS];
    struct sealed_secrets *sealed_secrets;
    struct files_service_git *git;
    struct files_service_sweep *sweep;
    struct files_service_canary canary;
    struct nats_sub *updates, *statuses, *rollbacks, *canaries;
    struct settings_views views;
    struct timer again;
    struct nats_nkey account;
    struct tree_trust trust; /* in what other masters publish */
    int64_t apart_since;     /* clock_now since when another master has the lease; 0: it has not */
    bool mirrors;            /* another has had it for long: the folders follow what it publishes */
    char host[FILES_SERVICE_HOST_MAX];
};

/* May the folder be published? Not before it has what another master published, and not while an
 * earlier revision is brought back. */
bool files_service_may_publish(struct files_service_branch *branch);
/* Has the folder what another master published? */
bool files_service_is_in_step(struct files_service_branch *branch);
/* What was published from the folder. */
void files_service_note_round(struct files_service_branch *branch,
                              const struct publisher_outcome *outcome);
/* Folders follow what is published, and are published by the holder of the lease. */
void files_service_advance(struct files_service *service);

/* --- files_update.c ----------------------------------------------------------------- */

/* A request of an operator. */
void files_service_on_update(void *self, const struct nats_msg *msg);
/* Those that waited for the branch. */
void files_service_run_updates(struct files_service_branch *branch);
void files_service_refuse_updates(struct files_service_branch *branch, const char *why);

/* --- files_rollback.c --------------------------------------------------------------- */

void files_service_on_rollback(void *self, const struct nats_msg *msg);
/* Go on with one that was interrupted, before anything is published. */
void files_service_resume_rollback(struct files_service_branch *branch);
/* The master is shutting down. */
void files_service_drop_rollback(struct files_service_branch *branch);

/* --- files_git.c -------------------------------------------------------------------- */

struct files_service_round {
    bool pulls; /* git remotes first, now */
    struct publisher_wish wish;
};
/* Publish the tree, after what comes from git is in it. `fn` of the wish is called once; a round
 * that waits with the same `fn` and `self` is the same. */
void files_service_begin_round(struct files_service_branch *branch,
                               const struct files_service_round *round);

/* Do folders of the tree come from git remotes? Such a tree is not mirrored, and an earlier
 * revision of it is brought back by git. */
bool files_service_is_from_git(const struct files_service_branch *branch);
/* "web at 1a2b3c4d5e6f"; "": nothing comes from git. */
const char *files_service_describe_git(struct arena *arena,
                                       const struct files_service_branch *branch);

int files_service_git_open(struct files_service *service, struct err *err);
void files_service_git_start(struct files_service *service);
/* There may be other remotes. */
void files_service_git_configure(struct files_service *service);
/* This master holds the lease, or no longer. */
void files_service_git_lead(struct files_service *service);
void files_service_git_yield(struct files_service *service);
void files_service_git_stop(struct files_service *service);
/* Not open is fine. */
void files_service_git_free(struct files_service *service);

/* --- files_sweep.c ------------------------------------------------------------------ */

/* While the publishers are there. */
void files_service_sweep_start(struct files_service *service);
void files_service_sweep_stop(struct files_service *service);
/* After the connection. Not started is fine. */
void files_service_sweep_free(struct files_service *service);

/* --- files_canary.c ----------------------------------------------------------------- */

void files_service_on_canary(void *self, const struct nats_msg *msg);
/* Go on with the end of a canary that was interrupted. True when something is under way that
 * needs the folder as it is. */
bool files_service_resume_canary(struct files_service *service);
/* The master is shutting down. */
void files_service_close_canary(struct files_service *service);

/* --- files_canary_record.c ---------------------------------------------------------- */

/* With what is needed to write the record. */
struct nats_kv files_service_canary_bucket(const struct files_service *service);
/* This is the record now; a NULL view: it is gone. What is older than what is known is ignored. */
void files_service_set_canary(struct files_service *service, struct str record, uint64_t revision);
/* Publish to the canary, or to all, as the record says. */
void files_service_aim_publisher(struct files_service *service);
/* Read it again, and go on with it, in a moment. */
void files_service_retry_canary(struct files_service *service);
/* What the bucket says of it; a NULL view: it is gone. `self` is the branch of the states. */
void files_service_note_canary(void *self, struct str record, uint64_t revision);
/* This master has got the lease, or lost it. */
void files_service_read_canary(struct files_service *service);
void files_service_forget_canary(struct files_service *service);
/* May the states not be published now, because it is not known whether there is a canary, or
 * because one begins or ends? */
bool files_service_is_held_by_canary(const struct files_service *service);
/* The manifest that the folder of states of a master follows; NULL: that of all. */
const char *files_service_canary_manifest(const struct files_service *service);

#endif

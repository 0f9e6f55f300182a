/*
 * files service - shared by the sources of the service "publisher-lease": the trees of a master,
 * and the requests about them.
 *
 *     files_service.c     when a tree is published, and when it follows another master
 *     files_update.c      an operator publishes now
 *     files_rollback.c    an operator restores an earlier revision
 *     files_git.c         folders of the state tree from git remotes
 *     files_sweep.c       large files that no tree uses
 *     files_canary.c      an operator tests a revision on some peels first
 *     files_canary_record.c    its record
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
struct files_check;
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

/* One tree, and its watch on disk. */
struct files_service_branch {
    struct files_service *files_service;
    struct filewatch watch;
    struct publisher *publisher;
    struct standby *standby; /* NULL: it is not mirrored */
    uint64_t synced;         /* number of the set last synced to, or published from, the folder */
    uint64_t syncing;        /* number at the start of the sync */
    VEC(struct files_service_one_update *)
    waiting;             /* held-back updates */
    bool leads;          /* the folder is authoritative, while we hold the lease */
    uint64_t unfinished; /* revision of an interrupted rollback; 0: none */
    struct files_service_rollback *rollback; /* under way; NULL */
};

/* The canary of the states, from its record. */
struct files_service_canary {
    struct arena arena;
    struct canary record;
    uint64_t revision; /* of the record, or of its removal */
    bool is_there;
    bool is_odd;           /* malformed record: nothing is published */
    bool is_known;         /* read during the current lease */
    bool is_reading;       /* it is being read */
    int64_t reading_since; /* the lease during which it is read */
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
    struct files_check *check;
    struct files_service_canary canary;
    struct nats_sub *updates, *statuses, *rollbacks, *canaries;
    struct settings_views views;
    struct timer again;
    struct nats_nkey account;
    struct tree_trust trust; /* in what other masters publish */
    int64_t apart_since;     /* clock_now when another master got the lease; 0: none has */
    bool mirrors;            /* another master has had the lease for long: the folders follow it */
    char host[FILES_SERVICE_HOST_MAX];
};

/* May the folder be published? Not before it is in sync with other masters, nor during a
 * rollback. */
bool files_service_may_publish(struct files_service_branch *branch);
/* Is the folder in sync with other masters? */
bool files_service_is_in_step(struct files_service_branch *branch);
/* Notes the result of a round. */
void files_service_note_round(struct files_service_branch *branch,
                              const struct publisher_outcome *outcome);
/* For answers to operators: the published trees (struct liveness_trees). */
struct value files_service_show_trees(const struct files_service *service, struct arena *arena);
/* Sync or publish the folders, depending on the lease. */
void files_service_advance(struct files_service *service);

/* --- files_update.c ----------------------------------------------------------------- */

/* A request of an operator. */
void files_service_on_update(void *self, const struct nats_msg *msg);
/* Run the updates that wait for the branch. */
void files_service_run_updates(struct files_service_branch *branch);
void files_service_refuse_updates(struct files_service_branch *branch, const char *why);

/* --- files_rollback.c --------------------------------------------------------------- */

void files_service_on_rollback(void *self, const struct nats_msg *msg);
/* Resume an interrupted rollback, before anything is published. */
void files_service_resume_rollback(struct files_service_branch *branch);
/* The master is shutting down. */
void files_service_drop_rollback(struct files_service_branch *branch);

/* --- files_git.c -------------------------------------------------------------------- */

struct files_service_round {
    bool pulls; /* pull the git remotes first */
    struct publisher_wish wish;
};
/* Publish the tree, after git has updated it. `fn` of the wish is called once; a waiting round with
 * the same `fn` and `self` is the same round. */
void files_service_begin_round(struct files_service_branch *branch,
                               const struct files_service_round *round);

/* Does the tree have folders from git? Such a tree is not mirrored, and git rolls it back. */
bool files_service_is_from_git(const struct files_service_branch *branch);
/* "web at 1a2b3c4d5e6f"; "": nothing comes from git. */
const char *files_service_describe_git(struct arena *arena,
                                       const struct files_service_branch *branch);

int files_service_git_open(struct files_service *service, struct err *err);
void files_service_git_start(struct files_service *service);
/* The remotes may have changed. */
void files_service_git_configure(struct files_service *service);
/* This master got or lost the lease. */
void files_service_git_lead(struct files_service *service);
void files_service_git_yield(struct files_service *service);
void files_service_git_stop(struct files_service *service);
/* Not open is fine. */
void files_service_git_free(struct files_service *service);

/* --- files_sweep.c ------------------------------------------------------------------ */

/* Only while the publishers exist. */
void files_service_sweep_start(struct files_service *service);
void files_service_sweep_stop(struct files_service *service);
/* After the connection. Not started is fine. */
void files_service_sweep_free(struct files_service *service);

/* --- files_canary.c ----------------------------------------------------------------- */

void files_service_on_canary(void *self, const struct nats_msg *msg);
/* Resume the interrupted end of a canary. True when an operation needs the folder unchanged. */
bool files_service_resume_canary(struct files_service *service);
/* The master is shutting down. */
void files_service_close_canary(struct files_service *service);

/* --- files_canary_record.c ---------------------------------------------------------- */

/* The bucket, for writing the record. */
struct nats_kv files_service_canary_bucket(const struct files_service *service);
/* Set the record; a NULL view: it was removed. Older revisions are ignored. */
void files_service_set_canary(struct files_service *service, struct str record, uint64_t revision);
/* Publish to the canary, or to all, as recorded. */
void files_service_aim_publisher(struct files_service *service);
/* Read the record again soon, and continue. */
void files_service_retry_canary(struct files_service *service);
/* A new record in the bucket; a NULL view: it was removed. `self` is the branch of the states. */
void files_service_note_canary(void *self, struct str record, uint64_t revision);
/* This master has got the lease, or lost it. */
void files_service_read_canary(struct files_service *service);
void files_service_forget_canary(struct files_service *service);
/* Is publishing of the states blocked? Yes while the canary is unknown, begins or ends. */
bool files_service_is_held_by_canary(const struct files_service *service);
/* The manifest that a master's folder of states follows; NULL: the one for all. */
const char *files_service_canary_manifest(const struct files_service *service);

#endif

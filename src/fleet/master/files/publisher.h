/*
 * publisher - publishes a folder of this master into a bucket, for peels and masters.
 *
 * The bucket has each file under its key, a manifest with the sum of each, its signature
 * (fleet/master/files/tree_signer.h), and a number that rises with each change; readers watch only
 * that number. It is written last: a reader that finds wrong sums is reading an unfinished set, and
 * waits for the next number.
 *
 * While a canary is published (fleet/wire/canary.h), rounds write its set beside the general one,
 * which stays unchanged. The first round after a canary removes its files.
 *
 * A round reads the folder and writes the differences to the bucket, of any origin. An empty
 * folder never empties a bucket. Each publication is recorded (fleet/master/files/tree_history.h).
 * A round that the lease holder began ends when the lease is lost.
 *
 *     publisher_new -> { publisher_round -> fn }... -> publisher_free
 *
 * The next round begins after all waiters of the last one were called: a waiter that pauses the
 * publisher has exclusive use of the folder.
 *
 * Threads: the loop's; files are read by a worker.
 */
#ifndef FLEET_MASTER_FILES_PUBLISHER_H
#define FLEET_MASTER_FILES_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>

#include "fleet/bus/store.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/nats/js.h"

struct background_tasks;
struct err;
struct lease;
struct nats_nkey;
struct publisher;

/* One of the sets. */
struct publisher_kind {
    const char *name; /* settings, states, reactor */
    enum store_bucket bucket;
    const char *prefix;           /* key prefix */
    bool is_bare;                 /* the manifest is only the list; removals come first */
    tree_set_prepare_fn *prepare; /* see fleet/master/files/tree_set.h */
    const char *const *markers;
    tree_set_prepare_fn *open; /* the reverse, for masters that mirror it; NULL: unchanged */
    bool is_mirrored;          /* see fleet/master/files/standby.h */
    const char *history; /* tree name in fleet/master/files/tree_history.h; NULL: not recorded */
};

/* Decides what a round does with mistakes. */
enum publisher_check_mode {
    PUBLISHER_CHECK_TREE,   /* those in this tree end it, and in one that it depends on */
    PUBLISHER_CHECK_ALL,    /* those in any tree end it */
    PUBLISHER_CHECK_REPORT, /* they are found, and the set is published */
};

/* May the set be published? */
struct publisher_question {
    const char *sum; /* of the manifest that the folder has, for all */
    enum publisher_check_mode mode;
    bool is_published; /* it is so already */
};

struct publisher_options {
    struct nats_js js;
    const struct publisher_kind *kind;
    const char *folder; /* copied */
    void *secret;       /* for `prepare` of the kind */
    /* The bucket was read; called again for each new number. May be NULL. */
    void (*news)(void *self);
    /* The canary record; a NULL view: it was removed. May be NULL. */
    void (*canary)(void *self, struct str record, uint64_t revision);
    /* Asked once the folder was read; publisher_go_on follows. NULL: everything is published. */
    void (*check)(void *self, const struct publisher_question *question);
    /* publisher_tree has changed. May be NULL. */
    void (*tree)(void *self, bool of_canary);
    void *self;
    struct background_tasks *background_tasks; /* must outlive it */
    const struct lease *lease;                 /* the same */
    /* Number of revisions to keep; NULL: nothing is recorded. Both must outlive it. */
    const int64_t *keep;
    const char *master;
    /* Signs publications and records; has a seed. NULL: unsigned. */
    const struct nats_nkey *account;
};

struct publisher *publisher_new(const struct publisher_options *options, struct err *err);
/* A running round calls back as failed. NULL is fine. */
void publisher_free(struct publisher *publisher);

struct publisher_outcome {
    size_t files, read; /* files of the tree, and those that changed and were read */
    bool changed;
    bool is_new;         /* the set differs from the last publication */
    const char *error;   /* "": none; also when some files were left out */
    struct str manifest; /* of the publication; empty: the round failed */
    uint64_t revision;   /* in the history; 0: not recorded */
    const char *sum;     /* sum of the manifest for publication to all */
};
typedef void publisher_fn(void *self, const struct publisher_outcome *outcome);

/* The cause of a publication, for the history. */
struct publisher_cause {
    const char *by;    /* the operator */
    uint64_t restored; /* restored revision; 0: none */
    const char *note;  /* further text; "": none */
};

struct publisher_wish {
    bool force; /* write every file and a new number */
    /* With a cause, or forced, mistakes are only reported. */
    enum publisher_check_mode mode;
    /* NULL: files were edited. The set of a canary is recorded only with a cause. Must be valid
     * until `fn` is called. */
    const struct publisher_cause *cause;
    publisher_fn *fn;
    void *self;
};

/* Begin a round. During a round, another one follows it, and `fn` is called after that. Wishes that
 * wait together share a round: it is forced if one of them is, and has the first cause. */
void publisher_round(struct publisher *publisher, const struct publisher_wish *wish);

/* The answer to `check`; NULL: publish. May be called inside `check`. */
void publisher_go_on(struct publisher *publisher, const char *refusal);

/* Is a round under way? */
bool publisher_is_busy(const struct publisher *publisher);
/* No round begins until each pause was resumed; a running one continues. */
void publisher_pause(struct publisher *publisher);
void publisher_resume(struct publisher *publisher);

/* Publish the next rounds to a canary, or to all. */
void publisher_divert(struct publisher *publisher, bool to_canary);
/* Write only a new number: readers check again. */
void publisher_tell(struct publisher *publisher, publisher_fn *fn, void *self);
/* The revision of the canary's set; 0: none, or not known yet. */
uint64_t publisher_canary(const struct publisher *publisher);

/* The name of the published tree (fleet/wire/liveness.h), for all or of the canary; "": none, or
 * not known yet. */
const char *publisher_tree(const struct publisher *publisher, bool of_canary);

/* The number of the last publication; 0: none, or not known yet. */
uint64_t publisher_number(const struct publisher *publisher);
bool publisher_is_caught_up(const struct publisher *publisher);

#endif

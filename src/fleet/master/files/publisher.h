/*
 * publisher - a folder in a bucket: what peels and masters read is what is on this master's disk.
 *
 * The bucket has each file under its key, a manifest with the sum of each, its signature
 * (fleet/master/files/tree_signer.h), and a number that rises with each change; that number is all
 * that readers watch. It is written last, so a reader that sees sums that do not fit reads a set
 * that is being changed, and waits for the next number.
 *
 * While a canary is published (fleet/wire/canary.h), rounds write its set beside that of all, which
 * stays as it is. What a canary left behind is removed by the first round after it.
 *
 * A round reads the folder, writes what differs from the bucket (also when somebody else changed
 * the bucket), and nothing when nothing differs. A folder that is empty never empties a bucket that
 * is not. What was published is recorded (fleet/master/files/tree_history.h). A round that was
 * begun by a holder of the lease ends when it is lost.
 *
 *     publisher_new -> { publisher_round -> fn }... -> publisher_free
 *
 * The next round begins after all that waited for the last one were called, so who pauses the
 * publisher when he is called has the folder for himself.
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
    const char *prefix; /* of keys */
    bool is_bare;       /* the manifest is the list alone, and what is gone is removed first */
    tree_set_prepare_fn *prepare; /* see fleet/master/files/tree_set.h */
    const char *const *markers;
    tree_set_prepare_fn *open; /* the way back, for masters that mirror it; NULL: as it is */
    bool is_mirrored;          /* see fleet/master/files/standby.h */
    const char
        *history; /* the tree in fleet/master/files/tree_history.h; NULL: it is not recorded */
};

struct publisher_options {
    struct nats_js js;
    const struct publisher_kind *kind;
    const char *folder; /* copied */
    void *secret;       /* for `prepare` of the kind */
    /* It is known what the bucket has; again when a new number was written. May be NULL. */
    void (*news)(void *self);
    /* The record of a canary, or a NULL view: it is gone. May be NULL. */
    void (*canary)(void *self, struct str record, uint64_t revision);
    void *self;
    struct background_tasks *background_tasks; /* must outlive it */
    const struct lease *lease;                 /* the same */
    /* Recorded revisions of a kind that has a history; NULL: nothing is recorded. Both must outlive
     * it. */
    const int64_t *keep;
    const char *master;
    /* Signs what is published, and what is recorded; has a seed. NULL: nobody does. */
    const struct nats_nkey *account;
};

struct publisher *publisher_new(const struct publisher_options *options, struct err *err);
/* A round that is under way calls back as failed. NULL is fine. */
void publisher_free(struct publisher *publisher);

struct publisher_outcome {
    size_t files, read; /* of the tree, and those of them that changed and were read */
    bool changed;
    bool is_new;         /* the set differs from the one that was published before */
    const char *error;   /* "": none; also when some files were left out */
    struct str manifest; /* of what is published now; empty: the round failed */
    uint64_t revision;   /* that it is recorded as; 0: it is not */
    const char *sum;     /* of the manifest that the set has when it is published to all */
};
typedef void publisher_fn(void *self, const struct publisher_outcome *outcome);

/* Why a round publishes what it does, for the history. */
struct publisher_cause {
    const char *by;    /* who asked for it */
    uint64_t restored; /* an earlier revision that was brought back; 0: none */
    const char *note;  /* what else that was; "": nothing */
};

struct publisher_wish {
    bool force; /* write every file and a new number, whatever the bucket has */
    /* NULL: files were edited. A set of a canary is recorded only with a cause. It must be there
     * until `fn` is called. */
    const struct publisher_cause *cause;
    publisher_fn *fn;
    void *self;
};

/* Begin a round. When one is under way, `fn` is called after another one that begins after it.
 * Wishes that wait together share a round: it is forced if one of them is, and has the first cause
 * that one of them has. */
void publisher_round(struct publisher *publisher, const struct publisher_wish *wish);

/* Is a round under way? */
bool publisher_is_busy(const struct publisher *publisher);
/* No round begins until all who paused it resume; one that is under way goes on. */
void publisher_pause(struct publisher *publisher);
void publisher_resume(struct publisher *publisher);

/* Rounds that begin from now on publish to a canary, or to all. */
void publisher_divert(struct publisher *publisher, bool to_canary);
/* Write a new number and nothing else: readers look again. */
void publisher_tell(struct publisher *publisher, publisher_fn *fn, void *self);
/* The revision of the canary's set; 0: there is none, or it is not known yet. */
uint64_t publisher_canary(const struct publisher *publisher);

/* The number of the last change; 0: nothing was published, or it is not known yet. */
uint64_t publisher_number(const struct publisher *publisher);
bool publisher_is_caught_up(const struct publisher *publisher);

#endif

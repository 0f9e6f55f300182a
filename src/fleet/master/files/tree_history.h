/*
 * tree_history - revisions of a tree that were published before, so that one can be brought back.
 *
 *     tree-history/<tree>.revision.<number>    when, by which master, what changed
 *     tree-history/<tree>.manifest.<number>    its manifest, as it was published
 *     tree-history/<tree>.signature.<number>   that of the manifest (fleet/wire/signature.h)
 *     tree-history/<tree>.blob.<sum>           a file, once for all revisions that have it
 *
 * Large files are objects that are named by their sum anyway. A revision is written last, so one
 * that is listed is whole. Revisions beyond those to keep go, and then files that no manifest
 * names.
 *
 * Memory: its own until `fn` was called; the caller's set and texts must live until then.
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_FILES_TREE_HISTORY_H
#define FLEET_MASTER_FILES_TREE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/js.h"

struct err;
struct nats_nkey;
struct tree_set;

#define TREE_HISTORY_KEEP_MAX 1000

/* What is published now. */
struct tree_history_now {
    struct nats_js js;
    const char *tree, *master,
        *prefix; /* the last one of keys, as in fleet/master/files/tree_set.h */
    const struct tree_set *set;
    struct str manifest;
    const struct nats_nkey *account; /* signs it; NULL: nobody does */
    uint64_t number; /* of the publication; a revision has it, or the next that is free */
    int64_t keep;    /* revisions */
    const char *by;  /* who brought an earlier one back; "": nobody */
    uint64_t restored;
    const char *note; /* what else that was; "": nothing */
};

struct tree_history_result {
    const char *error; /* NULL: it is recorded, now or before, as: */
    uint64_t revision;
    bool lacks_bytes; /* it is not, because files that have not changed were not read */
};
typedef void tree_history_fn(void *self, const struct tree_history_result *result);

/* Record it unless it is what was recorded last. `fn` is called later, once; not after -1. */
int tree_history_record(const struct tree_history_now *now, tree_history_fn *fn, void *self,
                        struct err *err);

/* Remove a key of the bucket of history, without a mark: the bucket would keep those for ever. */
int tree_history_purge(const struct nats_js *js, const char *key, nats_done_fn *fn, void *self,
                       struct err *err);

#endif

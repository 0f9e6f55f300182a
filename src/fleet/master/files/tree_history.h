/*
 * tree_history - the published revisions of a tree, for rollbacks.
 *
 *     tree-history/<tree>.revision.<number>    time, master and changes
 *     tree-history/<tree>.manifest.<number>    its published manifest
 *     tree-history/<tree>.signature.<number>   its signature (fleet/wire/signature.h)
 *     tree-history/<tree>.blob.<sum>           a file, once for all its revisions
 *
 * Large files are objects, already named by their sum. A revision is written last, so a listed one
 * is complete. Old revisions are removed, then files that no manifest names.
 *
 * Memory: its own until `fn` was called; the caller's set and texts must live until then. Threads:
 * the loop's.
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

/* The current publication. */
struct tree_history_now {
    struct nats_js js;
    const char *tree, *master, *prefix; /* key prefix, as in fleet/master/files/tree_set.h */
    const struct tree_set *set;
    struct str manifest;
    const struct nats_nkey *account; /* signs it; NULL: unsigned */
    uint64_t number; /* of the publication; the revision gets it, or the next free one */
    int64_t keep;    /* revisions */
    const char *by;  /* operator of a rollback; "": none */
    uint64_t restored;
    const char *note; /* further text; "": none */
};

struct tree_history_result {
    const char *error; /* NULL: recorded, now or earlier, as: */
    uint64_t revision;
    bool lacks_bytes; /* not recorded: unchanged files were not read */
};
typedef void tree_history_fn(void *self, const struct tree_history_result *result);

/* Record it, unless it equals the last revision. `fn` is called later, once; not after -1. */
int tree_history_record(const struct tree_history_now *now, tree_history_fn *fn, void *self,
                        struct err *err);

/* Purge a key of the history bucket, without a delete marker, which would be kept forever. */
int tree_history_purge(const struct nats_js *js, const char *key, nats_done_fn *fn, void *self,
                       struct err *err);

#endif

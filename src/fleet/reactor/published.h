/*
 * published - the published rules in the bucket: files, and the manifest that lists them.
 *
 *     reactor/top.zy          a file
 *     reactor/deploy/a.zy     a file
 *     _manifest               key and SHA-256 of each file, written after them
 *     _signature              of the manifest (fleet/bus/tree_trust.h)
 *     _revision               written last: watchers wait for it
 *
 * The caller watches the bucket and puts every entry here; published_load makes rules from the
 * files in the manifest, each with the right hash. Anything else is an incomplete or tampered set.
 * Without files and manifest there are no rules.
 *
 * Pure. Memory: copies of entries until published_done. Threads: one.
 */
#ifndef FLEET_REACTOR_PUBLISHED_H
#define FLEET_REACTOR_PUBLISHED_H

#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"

struct diags;
struct rule_set;

/* Bytes of all entries. */
#define PUBLISHED_BYTES_MAX ((size_t)64 << 20)

struct published {
    struct map entries; /* struct published_entry by key */
    size_t bytes;
    bool is_full; /* the limit was exceeded: nothing can be loaded */
};

void published_done(struct published *published);

/* Sets an entry; a NULL view: removed. */
void published_put(struct published *published, struct str key, struct str value);

/* A NULL view: not found. */
struct str published_find(const struct published *published, const char *key);

/* NULL after mistakes; all are in `diags`. */
struct rule_set *published_load(const struct published *published, struct diags *diags,
                                struct diags *lints);

#endif

/*
 * published - rules as they are in the bucket: files, and the manifest that lists all of them.
 *
 *     reactor/top.zy          a file
 *     reactor/deploy/a.zy     a file
 *     _manifest               key and SHA-256 of each file, written after them
 *     _signature              of the manifest, for whoever reads it (fleet/bus/tree_trust.h)
 *     _revision               written last: what watchers wait for
 *
 * Whoever watches the bucket puts every entry here; published_load makes rules of the files that
 * the manifest lists, each with the right hash. Anything else is a set that is torn or was tampered
 * with. Without files and manifest there are no rules.
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

/* Of all entries. */
#define PUBLISHED_BYTES_MAX ((size_t)64 << 20)

struct published {
    struct map entries; /* struct published_entry by key */
    size_t bytes;
    bool is_full; /* something did not fit: nothing can be loaded */
};

void published_done(struct published *published);

/* An entry is this now; a NULL view: it is gone. */
void published_put(struct published *published, struct str key, struct str value);

/* A NULL view: there is none. */
struct str published_find(const struct published *published, const char *key);

/* NULL when there is a mistake; all are in `diags`. */
struct rule_set *published_load(const struct published *published, struct diags *diags,
                                struct diags *lints);

#endif

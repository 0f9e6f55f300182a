/*
 * tree_write - writes one file of a set to the bus: as a value or an object.
 *
 * An object with the right content is not written again.
 *
 * Memory: its own until `fn` was called; the file must live until then. Threads: the loop's.
 */
#ifndef FLEET_MASTER_FILES_TREE_WRITE_H
#define FLEET_MASTER_FILES_TREE_WRITE_H

#include <stdint.h>

#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"

struct err;
struct tree_set_file;

struct tree_write_place {
    struct nats_kv kv;
    struct nats_objects objects;
};

/* `error` is NULL on success; `revision` is set for a value. */
typedef void tree_write_fn(void *self, const struct tree_set_file *file, const char *error,
                           uint64_t revision);

/* `fn` is called later, once; not after -1. */
int tree_write_begin(const struct tree_write_place *place, const struct tree_set_file *file,
                     tree_write_fn *fn, void *self, struct err *err);

#endif

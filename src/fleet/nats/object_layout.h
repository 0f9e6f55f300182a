/*
 * object_layout - the layout of a bucket of objects in its stream. For the files object*.c.
 */
#ifndef FLEET_NATS_OBJECT_LAYOUT_H
#define FLEET_NATS_OBJECT_LAYOUT_H

#include "fleet/nats/object.h"
#include "fleet/nats/stream.h"

struct buf;
struct err;

int nats_object_layout_check(const struct nats_objects *objects, const char *name, struct err *err);
void nats_object_layout_stream(const struct nats_objects *objects, struct buf *out);
/* Subjects of the chunks of `id`, and of the description of `name`. */
void nats_object_layout_chunks(const struct nats_objects *objects, const char *id, struct buf *out);
void nats_object_layout_meta(const struct nats_objects *objects, const char *name, struct buf *out);

/* The description as JSON, and back. */
void nats_object_layout_print(const struct nats_objects *objects,
                              const struct nats_object_info *info, struct buf *out);
int nats_object_layout_read(struct str json, int64_t time, struct nats_object_info *ret_info,
                            struct err *err);

/* The stored description, even of a deleted object. */
int nats_object_layout_find(const struct nats_objects *objects, const char *name,
                            nats_stored_fn *fn, void *self, struct err *err);
/* Purges the chunks of `id` in the background. */
void nats_object_layout_purge(const struct nats_objects *objects, const char *id);

#endif

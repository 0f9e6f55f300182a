/*
 * object - files of any size in a bucket, cut into chunks on a stream.
 *
 *     struct nats_objects objects = { .js = js, .bucket = "files" };
 *     nats_object_put(&objects, &(struct nats_object_put){ .name = "a", .fd = fd }, fn, self, err);
 *
 * Bucket b is the stream OBJ_b. The chunks of an object go to $O.b.C.<id>, then one message with
 * its name, size and SHA-256 to $O.b.M.<name in base64>. That message makes it visible, so readers
 * see the old object or the new one, never a part. Other NATS clients use the same layout. Chunks
 * of an older version, or of a failed put, are purged.
 *
 * Reading verifies size and digest: data is valid only after `done` without an error.
 *
 * Memory: one chunk at a time. Threads: the loop's; workers read files.
 */
#ifndef FLEET_NATS_OBJECT_H
#define FLEET_NATS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/base/str.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/js.h"

struct err;
struct nats_error;

#define NATS_OBJECT_CHUNK    ((size_t)128 << 10)
#define NATS_OBJECT_NAME_MAX 1024
#define NATS_OBJECT_ID_SIZE  24

/* A value: may be copied; texts are borrowed and must outlive its operations. */
struct nats_objects {
    struct nats_js js;
    const char *bucket;
    bool direct; /* read message by message with direct get, for users with no other permission */
};

struct nats_objects_config {
    const char *bucket, *description;
    int64_t ttl, max_bytes, replicas;
    bool keeps_max_bytes; /* keep an existing limit */
    bool memory;
};

int nats_objects_ensure(const struct nats_js *js, const struct nats_objects_config *config,
                        nats_done_fn *fn, void *self, struct err *err);
int nats_objects_destroy(const struct nats_js *js, const char *bucket, nats_done_fn *fn, void *self,
                         struct err *err);

struct nats_object_info {
    char name[NATS_OBJECT_NAME_MAX + 1], id[NATS_OBJECT_ID_SIZE];
    uint64_t size, chunks;
    unsigned char digest[SHA256_SIZE];
    int64_t time; /* nanoseconds since 1970 */
    bool deleted;
};

/* `error` is NULL, or `info` is. */
typedef void nats_object_fn(void *self, const struct nats_error *error,
                            const struct nats_object_info *info);

struct nats_object_put {
    const char *name; /* copied */
    int fd;           /* read from its position to the end; borrowed until the callback */
};
int nats_object_put(const struct nats_objects *objects, const struct nats_object_put *what,
                    nats_object_fn *fn, void *self, struct err *err);

/* `data` for each part, in order; then `done`, once. */
typedef void nats_object_data_fn(void *self, struct str data);
int nats_object_get(const struct nats_objects *objects, const char *name, nats_object_data_fn *data,
                    nats_object_fn *done, void *self, struct err *err);

/* The same at the reader's pace: after a `part` that returned false, call nats_object_continue for
 * more, or nats_object_stop. */
struct nats_object_reading;
typedef bool nats_object_part_fn(void *self, struct nats_object_reading *reading, struct str data);
int nats_object_read(const struct nats_objects *objects, const char *name,
                     nats_object_part_fn *part, nats_object_fn *done, void *self, struct err *err);
void nats_object_continue(struct nats_object_reading *reading);
void nats_object_stop(struct nats_object_reading *reading);

/* A deleted object is NATS_FAULT_NOT_FOUND. */
int nats_object_info(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                     void *self, struct err *err);
int nats_object_delete(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                       void *self, struct err *err);
/* The same, without leaving a marker. Works on deleted objects, too. */
int nats_object_erase(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                      void *self, struct err *err);
/* `fn` for each object, with `info` NULL at the end, or with an error. */
int nats_object_list(const struct nats_objects *objects, nats_object_fn *fn, void *self,
                     struct err *err);

/* Calls `fn` for the id of each object with chunks, even without a description, as an interrupted
 * put leaves. With NULL at the end, or with an error. For the first 100,000 ids. */
typedef void nats_object_id_fn(void *self, const struct nats_error *error, const char *id);
int nats_object_list_ids(const struct nats_objects *objects, nats_object_id_fn *fn, void *self,
                         struct err *err);
/* Purges the chunks of an id without an object. */
int nats_object_purge_id(const struct nats_objects *objects, const char *id, nats_done_fn *fn,
                         void *self, struct err *err);

#endif

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "nats/error.h"
#include "nats/object_layout.h"
#include "nats/ordered.h"
#include "nats/subject.h"

/* Chunks under way: two megabytes. */
#define BATCH 16

struct get {
    struct nats_objects objects;
    struct nats_ordered *ordered;
    struct nats_object_info info;
    struct sha256 sha;
    uint64_t size, chunks;
    nats_object_data_fn *data;
    nats_object_fn *done;
    void *self;
};

static void finish(struct get *get, const struct nats_error *why)
{
    struct nats_error error;

    nats_ordered_free(get->ordered);
    if (why) {
        error = *why;
        nats_error_wrap(&error, "object '%s' of bucket '%s'", get->info.name, get->objects.bucket);
    }
    get->done(get->self, why ? &error : NULL, why ? NULL : &get->info);
    free(get);
}

static void fail(struct get *get, const char *text)
{
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_PROTOCOL, 0, "%s", text);
    finish(get, &error);
}

static void verify(struct get *get)
{
    unsigned char digest[SHA256_SIZE];

    sha256_end(&get->sha, digest);
    if (get->size != get->info.size)
        fail(get, "the size does not match");
    else if (memcmp(digest, get->info.digest, sizeof(digest)) != 0)
        fail(get, "the digest does not match");
    else
        finish(get, NULL);
}

static void on_chunk(void *self, const struct nats_msg *msg, const struct nats_delivery *delivery)
{
    struct get *get = self;

    (void)delivery;
    get->size += msg->payload.n;
    get->chunks++;
    if (get->size > get->info.size) {
        fail(get, "the size does not match");
        return;
    }
    sha256_add(&get->sha, msg->payload.p, msg->payload.n);
    get->data(get->self, msg->payload);
    if (get->chunks == get->info.chunks)
        verify(get);
}

/* All that is there came, and it was not all of it. */
static void on_caught_up(void *self)
{
    fail(self, "chunks are missing");
}

static void on_failed(void *self, const struct nats_error *error)
{
    finish(self, error);
}

static void on_info(void *self, const struct nats_error *error, const struct nats_object_info *info)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), chunks = BUF_INIT(NATS_SUBJECT_MAX);
    struct get *get = self;
    struct err err;

    if (error) {
        get->done(get->self, error, NULL);
        free(get);
        return;
    }
    get->info = *info;
    sha256_init(&get->sha);
    if (info->chunks == 0) {
        verify(get);
        return;
    }
    nats_object_layout_stream(&get->objects, &stream);
    nats_object_layout_chunks(&get->objects, info->id, &chunks);
    get->ordered = nats_ordered_new(&get->objects.js,
                                    &(struct nats_ordered_options){
                                        .stream = buf_text(&stream),
                                        .filter_subject = buf_text(&chunks),
                                        .batch = BATCH,
                                        .message = on_chunk,
                                        .caught_up = on_caught_up,
                                        .failed = on_failed,
                                        .self = get,
                                    },
                                    &err);
    if (!get->ordered)
        fail(get, err.text);
}

int nats_object_get(const struct nats_objects *objects, const char *name, nats_object_data_fn *data,
                    nats_object_fn *done, void *self, struct err *err)
{
    struct get *get = mem_zalloc(sizeof(*get));

    get->objects = *objects;
    get->data = data;
    get->done = done;
    get->self = self;
    if (nats_object_info(objects, name, on_info, get, err) == 0)
        return 0;
    free(get);
    return -1;
}

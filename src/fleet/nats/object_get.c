#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/error.h"
#include "fleet/nats/object_layout.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/subject.h"

/* Chunks under way: two megabytes. */
#define BATCH 16

struct nats_object_reading {
    struct nats_objects objects;
    struct nats_ordered *ordered;
    struct nats_object_info info;
    struct sha256 sha;
    uint64_t size, chunks;
    nats_object_data_fn *data;
    nats_object_part_fn *part; /* instead of `data`: one message after the other, at its pace */
    uint64_t from;             /* where the next chunk is looked for */
    nats_object_fn *done;
    void *self;
};

static void finish_object_get(struct nats_object_reading *get, const struct nats_error *why)
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

static void fail_object_get(struct nats_object_reading *get, const char *text)
{
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_PROTOCOL, 0, "%s", text);
    finish_object_get(get, &error);
}

static void verify_object_digest(struct nats_object_reading *get)
{
    unsigned char digest[SHA256_SIZE];

    sha256_end(&get->sha, digest);
    if (get->size != get->info.size)
        fail_object_get(get, "the size does not match");
    else if (memcmp(digest, get->info.digest, sizeof(digest)) != 0)
        fail_object_get(get, "the digest does not match");
    else
        finish_object_get(get, NULL);
}

/* False when there is one too many: all is said then. */
static bool count_chunk(struct nats_object_reading *get, struct str payload)
{
    get->size += payload.n;
    get->chunks++;
    if (get->size > get->info.size) {
        fail_object_get(get, "the size does not match");
        return false;
    }
    sha256_add(&get->sha, payload.p, payload.n);
    return true;
}

static void on_object_chunk(void *self, const struct nats_msg *msg,
                            const struct nats_delivery *delivery)
{
    struct nats_object_reading *get = self;

    (void)delivery;
    if (!count_chunk(get, msg->payload))
        return;
    get->data(get->self, msg->payload);
    if (get->chunks == get->info.chunks)
        verify_object_digest(get);
}

/* All that is there came, and it was not all of it. */
static void on_chunks_caught_up(void *self)
{
    fail_object_get(self, "chunks are missing");
}

static void on_chunks_failed(void *self, const struct nats_error *error)
{
    finish_object_get(self, error);
}

/* --- one message after the other ---------------------------------------------------- */

static void on_last_chunk(void *self, const struct nats_error *error,
                          const struct nats_stored *stored);

static void ask_chunk(struct nats_object_reading *get)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), chunks = BUF_INIT(NATS_SUBJECT_MAX);
    struct err err;

    nats_object_layout_stream(&get->objects, &stream);
    nats_object_layout_chunks(&get->objects, get->info.id, &chunks);
    if (nats_stream_get(
            &get->objects.js, buf_text(&stream),
            &(struct nats_which){ .seq = get->from, .next_of = buf_text(&chunks), .direct = true },
            on_last_chunk, get, &err) < 0)
        fail_object_get(get, err.text);
}

void nats_object_continue(struct nats_object_reading *reading)
{
    if (reading->chunks < reading->info.chunks)
        ask_chunk(reading);
    else
        verify_object_digest(reading);
}

void nats_object_stop(struct nats_object_reading *reading)
{
    free(reading);
}

static bool hand_out(struct nats_object_reading *get, struct str payload)
{
    if (get->part)
        return get->part(get->self, get, payload);
    get->data(get->self, payload);
    return true;
}

static void on_last_chunk(void *self, const struct nats_error *error,
                          const struct nats_stored *stored)
{
    struct nats_object_reading *get = self;

    if (error) {
        finish_object_get(get, error);
        return;
    }
    get->from = stored->seq + 1;
    if (count_chunk(get, stored->payload) && hand_out(get, stored->payload))
        nats_object_continue(get);
}

static void on_object_get_info(void *self, const struct nats_error *error,
                               const struct nats_object_info *info)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), chunks = BUF_INIT(NATS_SUBJECT_MAX);
    struct nats_object_reading *get = self;
    struct err err;

    if (error) {
        get->done(get->self, error, NULL);
        free(get);
        return;
    }
    get->info = *info;
    sha256_init(&get->sha);
    if (info->chunks == 0) {
        verify_object_digest(get);
        return;
    }
    if (get->objects.direct) {
        get->from = 1;
        ask_chunk(get);
        return;
    }
    nats_object_layout_stream(&get->objects, &stream);
    nats_object_layout_chunks(&get->objects, info->id, &chunks);
    get->ordered = nats_ordered_new(&get->objects.js,
                                    &(struct nats_ordered_options){
                                        .stream = buf_text(&stream),
                                        .filter_subject = buf_text(&chunks),
                                        .batch = BATCH,
                                        .message = on_object_chunk,
                                        .caught_up = on_chunks_caught_up,
                                        .failed = on_chunks_failed,
                                        .self = get,
                                    },
                                    &err);
    if (!get->ordered)
        fail_object_get(get, err.text);
}

static int begin_object_get(const struct nats_object_reading *options, const char *name,
                            struct err *err)
{
    struct nats_object_reading *get = mem_alloc(sizeof(*get));

    *get = *options;
    if (nats_object_info(&get->objects, name, on_object_get_info, get, err) == 0)
        return 0;
    free(get);
    return -1;
}

int nats_object_get(const struct nats_objects *objects, const char *name, nats_object_data_fn *data,
                    nats_object_fn *done, void *self, struct err *err)
{
    return begin_object_get(
        &(struct nats_object_reading){
            .objects = *objects, .data = data, .done = done, .self = self },
        name, err);
}

int nats_object_read(const struct nats_objects *objects, const char *name,
                     nats_object_part_fn *part, nats_object_fn *done, void *self, struct err *err)
{
    struct nats_object_reading reading = {
        .objects = *objects, .part = part, .done = done, .self = self
    };

    reading.objects.direct = true;
    return begin_object_get(&reading, name, err);
}

/*
 * The steps of a put: look what is there under the name; read a chunk, send it, and so on until the
 * end of the file; when all chunks are stored, the description; then purge what it replaced. A
 * worker reads while chunks are on their way, but only WINDOW of them are kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/object_layout.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/subject.h"
#include "core/sys/chance.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

#define WINDOW   8
#define META_MAX ((size_t)64 << 10)

struct put {
    struct background_task background_task; /* reads one chunk */
    struct nats_hub *hub;
    struct nats_objects objects;
    struct nats_publisher *publisher;
    struct nats_object_info info;
    struct sha256 sha;
    char old_id[NATS_OBJECT_ID_SIZE]; /* of what the put replaces */
    char *chunk;
    int fd;
    ssize_t got; /* of the last read */
    int errnum;
    bool reading, at_end, failed;
    struct nats_error error;
    nats_object_fn *fn;
    void *self;
};

static void read_source_more(struct put *put);

/* --- the end ------------------------------------------------------------------------ */

static void finish_object_put(struct put *put)
{
    if (put->failed)
        nats_error_wrap(&put->error, "object '%s' of bucket '%s'", put->info.name,
                        put->objects.bucket);
    if (!nats_publisher_is_closed(put->publisher)) /* else the connection may be gone */
        nats_object_layout_purge(&put->objects, put->failed ? put->info.id : put->old_id);
    nats_publisher_free(put->publisher);
    put->fn(put->self, put->failed ? &put->error : NULL, put->failed ? NULL : &put->info);
    free(put->chunk);
    free(put);
}

/* The first error counts. What is under way ends first. */
static void fail_object_put(struct put *put, const struct nats_error *error)
{
    if (!put->failed)
        put->error = *error;
    put->failed = true;
}

static void fail_text(struct put *put, enum nats_fault fault, const char *text)
{
    struct nats_error error;

    nats_error_set(&error, fault, 0, "%s", text);
    fail_object_put(put, &error);
}

/* The publisher did not take it. */
static void fail_send(struct put *put, const struct err *err)
{
    bool closed = nats_publisher_is_closed(put->publisher);

    fail_text(put, closed ? NATS_FAULT_CANCELED : NATS_FAULT_REFUSED, err->text);
}

static bool is_put_idle(const struct put *put)
{
    return !put->reading && nats_publisher_count(put->publisher) == 0;
}

/* --- the description ---------------------------------------------------------------- */

static void on_info_stored(void *self, const struct nats_error *error,
                           const struct nats_stored_ack *ack)
{
    struct put *put = self;

    (void)ack;
    if (error)
        fail_object_put(put, error);
    finish_object_put(put);
}

static void send_meta(struct put *put)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(META_MAX),
                        header = BUF_INIT(NATS_HEADER_MAX);
    struct err err;

    sha256_end(&put->sha, put->info.digest);
    put->info.time = clock_wall();
    nats_object_layout_meta(&put->objects, put->info.name, &subject);
    nats_object_layout_print(&put->objects, &put->info, &body);
    if (nats_header_add(&header, "Nats-Rollup", STR("sub"), &err) == 0 &&
        nats_publisher_send(put->publisher,
                            &(struct nats_store){ .subject = buf_view(&subject),
                                                  .header = buf_view(&header),
                                                  .payload = buf_view(&body) },
                            on_info_stored, put, &err) == 0)
        return;
    fail_send(put, &err);
    finish_object_put(put);
}

/* --- chunks ------------------------------------------------------------------------- */

static void continue_object_put(struct put *put)
{
    if (put->failed && is_put_idle(put))
        finish_object_put(put);
    else if (!put->failed && put->at_end && is_put_idle(put))
        send_meta(put);
    else if (!put->failed && !put->at_end && !put->reading &&
             nats_publisher_count(put->publisher) < WINDOW)
        read_source_more(put);
}

static void on_chunk_stored(void *self, const struct nats_error *error,
                            const struct nats_stored_ack *ack)
{
    struct put *put = self;

    (void)ack;
    if (error)
        fail_object_put(put, error);
    continue_object_put(put);
}

static void send_chunk(struct put *put)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), id = BUF_INIT(NATS_SUBJECT_MAX);
    const struct str data = { put->chunk, (size_t)put->got };
    struct err err;

    nats_object_layout_chunks(&put->objects, put->info.id, &subject);
    buf_printf(&id, "%s.%llu", put->info.id, (unsigned long long)put->info.chunks);
    sha256_add(&put->sha, data.p, data.n);
    put->info.size += data.n;
    put->info.chunks++;
    if (nats_publisher_send(put->publisher,
                            &(struct nats_store){ .subject = buf_view(&subject),
                                                  .payload = data,
                                                  .id = buf_view(&id) },
                            on_chunk_stored, put, &err) < 0)
        fail_send(put, &err);
}

static void read_source_block(struct background_task *background_task)
{
    struct put *put = container_of(background_task, struct put, background_task);
    size_t n = 0;

    put->errnum = 0;
    while (n < NATS_OBJECT_CHUNK) {
        ssize_t got = read(put->fd, put->chunk + n, NATS_OBJECT_CHUNK - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            put->errnum = errno;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    put->got = (ssize_t)n;
}

static void on_source_read(struct background_task *background_task)
{
    struct put *put = container_of(background_task, struct put, background_task);
    struct err err;

    put->reading = false;
    if (put->errnum != 0) {
        err_sys(&err, put->errnum, "read");
        fail_text(put, NATS_FAULT_CANCELED, err.text);
    } else {
        put->at_end = put->got < (ssize_t)NATS_OBJECT_CHUNK;
        if (put->got > 0 && !put->failed)
            send_chunk(put);
    }
    continue_object_put(put);
}

static void read_source_more(struct put *put)
{
    struct background_tasks *background_tasks;
    struct err err;

    if (nats_hub_workers(put->hub, &background_tasks, &err) < 0) {
        fail_text(put, NATS_FAULT_CANCELED, err.text);
        continue_object_put(put);
        return;
    }
    put->reading = true;
    background_task_begin(background_tasks, &put->background_task, read_source_block,
                          on_source_read);
}

/* --- the beginning ------------------------------------------------------------------ */

static void on_old_info(void *self, const struct nats_error *error,
                        const struct nats_stored *stored)
{
    struct put *put = self;
    struct nats_object_info old;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        fail_object_put(put, error);
    else if (stored && nats_object_layout_read(stored->payload, 0, &old, &err) == 0)
        memcpy(put->old_id, old.id, sizeof(put->old_id));
    continue_object_put(put);
}

int nats_object_put(const struct nats_objects *objects, const struct nats_object_put *what,
                    nats_object_fn *fn, void *self, struct err *err)
{
    struct put *put;

    if (nats_object_layout_check(objects, what->name, err) < 0)
        return -1;
    put = mem_zalloc(sizeof(*put));
    put->objects = *objects;
    put->hub = nats_conn_hub(objects->js.conn);
    put->fd = what->fd;
    put->fn = fn;
    put->self = self;
    put->chunk = mem_alloc(NATS_OBJECT_CHUNK);
    sha256_init(&put->sha);
    memcpy(put->info.name, what->name, strlen(what->name) + 1);
    (void)snprintf(put->info.id, sizeof(put->info.id), "%016llx",
                   (unsigned long long)chance_number());
    put->publisher = nats_publisher_new(
        &objects->js, &(struct nats_publisher_options){ .window = WINDOW, .in_order = true });
    if (nats_object_layout_find(objects, what->name, on_old_info, put, err) == 0)
        return 0;
    nats_publisher_free(put->publisher);
    free(put->chunk);
    free(put);
    return -1;
}

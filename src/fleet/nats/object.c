#include "fleet/nats/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/object_layout.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/request.h"
#include "fleet/nats/subject.h"

#define META_MAX ((size_t)64 << 10)
#define DIGEST   "SHA-256="

/* --- layout ------------------------------------------------------------------------- */

int nats_object_layout_check(const struct nats_objects *objects, const char *name, struct err *err)
{
    size_t n = strlen(name);

    if (!nats_subject_is_token(str_from(objects->bucket)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid bucket name", objects->bucket);
    if (n == 0 || n > NATS_OBJECT_NAME_MAX)
        return err_set(err, ERR_INVALID, "an object name has 1 to %d bytes", NATS_OBJECT_NAME_MAX);
    return 0;
}

void nats_object_layout_stream(const struct nats_objects *objects, struct buf *out)
{
    buf_printf(out, "OBJ_%s", objects->bucket);
}

void nats_object_layout_chunks(const struct nats_objects *objects, const char *id, struct buf *out)
{
    buf_printf(out, "$O.%s.C.%s", objects->bucket, id);
}

/* The alphabet of URLs, but with padding: so the others write it. */
static void print_base64(struct str bytes, struct buf *out)
{
    size_t begin = out->n;

    base64_encode(bytes, BASE64_URL, out);
    while ((out->n - begin) % 4 != 0)
        buf_add_char(out, '=');
}

void nats_object_layout_meta(const struct nats_objects *objects, const char *name, struct buf *out)
{
    buf_printf(out, "$O.%s.M.", objects->bucket);
    print_base64(str_from(name), out);
}

void nats_object_layout_print(const struct nats_objects *objects,
                              const struct nats_object_info *info, struct buf *out)
{
    buf_add_text(out, "{\"name\":");
    json_print_text(out, str_from(info->name), JSON_STYLE_COMPACT);
    buf_printf(out, ",\"options\":{\"max_chunk_size\":%zu},\"bucket\":\"%s\",\"nuid\":\"%s\"",
               NATS_OBJECT_CHUNK, objects->bucket, info->id);
    buf_printf(out, ",\"size\":%llu,\"mtime\":\"", (unsigned long long)info->size);
    time_print(out,
               (struct value_time){ info->time / 1000000000, (uint32_t)(info->time % 1000000000) });
    buf_printf(out, "\",\"chunks\":%llu", (unsigned long long)info->chunks);
    if (!info->deleted) {
        buf_add_text(out, ",\"digest\":\"" DIGEST);
        print_base64(str_bytes(info->digest, sizeof(info->digest)), out);
        buf_add_char(out, '"');
    } else {
        buf_add_text(out, ",\"deleted\":true");
    }
    buf_add_char(out, '}');
}

static bool copy_object_text(const struct value *v, char *to, size_t size)
{
    if (!value_is(v, VALUE_STR) || v->s.n >= size || memchr(v->s.p, '\0', v->s.n))
        return false;
    memcpy(to, v->s.p, v->s.n);
    to[v->s.n] = '\0';
    return true;
}

static bool read_digest(const struct value *v, unsigned char digest[static SHA256_SIZE])
{
    AUTO_BUF struct buf bytes = BUF_INIT(SHA256_SIZE);
    struct err err;

    if (!value_is(v, VALUE_STR) || !str_starts(v->s, STR(DIGEST)) ||
        base64_decode(str_from_offset(v->s, sizeof(DIGEST) - 1), BASE64_URL, &bytes, &err) < 0 ||
        bytes.n != SHA256_SIZE)
        return false;
    memcpy(digest, bytes.p, SHA256_SIZE);
    return true;
}

int nats_object_layout_read(struct str json, int64_t time, struct nats_object_info *ret_info,
                            struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_object_info info = { .time = time };
    const struct value *deleted;
    struct value meta;

    if (json_decode_lenient(&arena, json, &meta, err) < 0)
        return err_wrap(err, "description of an object");
    deleted = value_get(&meta, "deleted");
    info.deleted = value_is(deleted, VALUE_BOOL) && deleted->b;
    info.size = (uint64_t)nats_js_number(&meta, "size", 0);
    info.chunks = (uint64_t)nats_js_number(&meta, "chunks", 0);
    if (!copy_object_text(value_get(&meta, "name"), info.name, sizeof(info.name)) ||
        !copy_object_text(value_get(&meta, "nuid"), info.id, sizeof(info.id)) ||
        !nats_subject_is_token(str_from(info.id)))
        return err_set(err, ERR_INVALID, "description of an object without a name or id");
    if (!info.deleted && !read_digest(value_get(&meta, "digest"), info.digest))
        return err_set(err, ERR_INVALID, "description of an object without a SHA-256 digest");
    *ret_info = info;
    return 0;
}

int nats_object_layout_find(const struct nats_objects *objects, const char *name,
                            nats_stored_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (nats_object_layout_check(objects, name, err) < 0)
        return -1;
    nats_object_layout_stream(objects, &stream);
    nats_object_layout_meta(objects, name, &subject);
    /* from the leader, if we may: what was just put must be seen */
    return nats_stream_get(
        &objects->js, buf_text(&stream),
        &(struct nats_which){ .last_of = buf_text(&subject), .direct = objects->direct }, fn, self,
        err);
}

static void ignore_purge_answer(void *self, const struct nats_error *error)
{
    (void)self;
    (void)error; /* unreferenced chunks only cost space */
}

void nats_object_layout_purge(const struct nats_objects *objects, const char *id)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);
    struct err err;

    if (!id[0] || nats_conn_state(objects->js.conn) == NATS_CONN_CLOSED)
        return;
    nats_object_layout_stream(objects, &stream);
    nats_object_layout_chunks(objects, id, &subject);
    (void)nats_stream_purge(&objects->js, buf_text(&stream),
                            &(struct nats_purge){ .subject = buf_text(&subject) },
                            ignore_purge_answer, NULL, &err);
}

/* --- buckets ------------------------------------------------------------------------ */

int nats_objects_ensure(const struct nats_js *js, const struct nats_objects_config *config,
                        nats_done_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT(NATS_SUBJECT_MAX), chunks = BUF_INIT(NATS_SUBJECT_MAX),
                        meta = BUF_INIT(NATS_SUBJECT_MAX);
    const struct nats_objects objects = { .bucket = config->bucket };
    const char *subjects[2];

    nats_object_layout_stream(&objects, &name);
    nats_object_layout_chunks(&objects, ">", &chunks);
    buf_printf(&meta, "$O.%s.M.>", config->bucket);
    subjects[0] = buf_text(&chunks);
    subjects[1] = buf_text(&meta);
    return nats_stream_ensure_done(
        js,
        &(struct nats_stream_config){
            .name = buf_text(&name),
            .description = config->description,
            .subjects = { subjects, 2 },
            .storage = config->memory ? NATS_STORAGE_MEMORY : NATS_STORAGE_FILE,
            .discard = NATS_DISCARD_NEW,
            .max_age = config->ttl,
            .max_bytes = config->max_bytes,
            .keeps_max_bytes = config->keeps_max_bytes,
            .replicas = config->replicas,
            .allow_rollup = true,
            .allow_direct = true,
        },
        fn, self, err);
}

int nats_objects_destroy(const struct nats_js *js, const char *bucket, nats_done_fn *fn, void *self,
                         struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT(NATS_SUBJECT_MAX);

    nats_object_layout_stream(&(struct nats_objects){ .bucket = bucket }, &name);
    return nats_stream_delete(js, buf_text(&name), fn, self, err);
}

/* --- info --------------------------------------------------------------------------- */

enum info_wish { INFO_READ, INFO_DELETE, INFO_ERASE };

struct info_call {
    struct nats_objects objects;
    char *name;
    enum info_wish wish;
    struct nats_object_info info;
    nats_object_fn *fn;
    void *self;
};

static void finish_info(struct info_call *call, const struct nats_error *why)
{
    struct nats_error error;

    if (why) {
        error = *why;
        nats_error_wrap(&error, "object '%s' of bucket '%s'", call->name, call->objects.bucket);
    }
    call->fn(call->self, why ? &error : NULL, why ? NULL : &call->info);
    free(call->name);
    free(call);
}

static void on_meta_purged(void *self, const struct nats_error *error)
{
    finish_info(self, error);
}

static void fail_info(struct info_call *call, const struct err *err)
{
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_SLOW, 0, "%s", err->text);
    finish_info(call, &error);
}

static void on_chunks_purged(void *self, const struct nats_error *error)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);
    struct info_call *call = self;
    struct err err;

    if (error) {
        finish_info(call, error);
        return;
    }
    nats_object_layout_stream(&call->objects, &stream);
    nats_object_layout_meta(&call->objects, call->name, &subject);
    if (nats_stream_purge(&call->objects.js, buf_text(&stream),
                          &(struct nats_purge){ .subject = buf_text(&subject) }, on_meta_purged,
                          call, &err) < 0)
        fail_info(call, &err);
}

int nats_object_purge_id(const struct nats_objects *objects, const char *id, nats_done_fn *fn,
                         void *self, struct err *err)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (!nats_subject_is_token(str_from(id)))
        return err_set(err, ERR_INVALID, "'%s' is not the id of an object", id);
    nats_object_layout_stream(objects, &stream);
    nats_object_layout_chunks(objects, id, &subject);
    return nats_stream_purge(&objects->js, buf_text(&stream),
                             &(struct nats_purge){ .subject = buf_text(&subject) }, fn, self, err);
}

/* The mark goes last: as long as it is there, the chunks can be found. */
static void erase_deleted(struct info_call *call)
{
    struct err err;

    if (nats_object_purge_id(&call->objects, call->info.id, on_chunks_purged, call, &err) < 0)
        fail_info(call, &err);
}

static void on_meta_stored(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct info_call *call = self;
    struct nats_stored_ack ack;
    struct nats_error refused;

    if (!error && nats_stored_ack_decode(msg->payload, NULL, &ack, &refused) < 0)
        error = &refused;
    if (!error && call->wish == INFO_ERASE) {
        erase_deleted(call);
        return;
    }
    if (!error)
        nats_object_layout_purge(&call->objects, call->info.id);
    finish_info(call, error);
}

/* The description stays, and says that the object is gone. */
static void store_deleted(struct info_call *call)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(META_MAX),
                        header = BUF_INIT(NATS_HEADER_MAX);
    struct nats_object_info mark = call->info;
    struct err err;

    mark.deleted = true;
    mark.size = mark.chunks = 0;
    nats_object_layout_meta(&call->objects, call->name, &subject);
    nats_object_layout_print(&call->objects, &mark, &body);
    if (nats_header_add(&header, "Nats-Rollup", STR("sub"), &err) == 0 &&
        nats_request(call->objects.js.conn,
                     &(struct nats_pub){ .subject = buf_view(&subject),
                                         .header = buf_view(&header),
                                         .payload = buf_view(&body) },
                     nats_js_timeout(&call->objects.js), on_meta_stored, call, NULL, &err) == 0)
        return;
    fail_info(call, &err);
}

static void on_object_meta_stored(void *self, const struct nats_error *error,
                                  const struct nats_stored *stored)
{
    struct info_call *call = self;
    struct nats_error why;
    struct err err;

    if (error) {
        finish_info(call, error);
    } else if (nats_object_layout_read(stored->payload, stored->time, &call->info, &err) < 0) {
        nats_error_set(&why, NATS_FAULT_PROTOCOL, 0, "%s", err.text);
        finish_info(call, &why);
    } else if (call->info.deleted && call->wish == INFO_ERASE) {
        erase_deleted(call);
    } else if (call->info.deleted) {
        nats_error_set(&why, NATS_FAULT_NOT_FOUND, NATS_JS_MESSAGE_NOT_FOUND, "not found");
        finish_info(call, &why);
    } else if (call->wish != INFO_READ) {
        store_deleted(call);
    } else {
        finish_info(call, NULL);
    }
}

static int begin_info(const struct nats_objects *objects, const char *name, enum info_wish wish,
                      nats_object_fn *fn, void *self, struct err *err)
{
    struct info_call *call = mem_zalloc(sizeof(*call));

    *call = (struct info_call){
        .objects = *objects, .name = mem_strdup(name), .wish = wish, .fn = fn, .self = self
    };
    if (nats_object_layout_find(objects, name, on_object_meta_stored, call, err) == 0)
        return 0;
    free(call->name);
    free(call);
    return -1;
}

int nats_object_info(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                     void *self, struct err *err)
{
    return begin_info(objects, name, INFO_READ, fn, self, err);
}

int nats_object_delete(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                       void *self, struct err *err)
{
    return begin_info(objects, name, INFO_DELETE, fn, self, err);
}

int nats_object_erase(const struct nats_objects *objects, const char *name, nats_object_fn *fn,
                      void *self, struct err *err)
{
    return begin_info(objects, name, INFO_ERASE, fn, self, err);
}

/* --- lists -------------------------------------------------------------------------- */

struct list {
    struct nats_ordered *ordered;
    nats_object_fn *fn;
    void *self;
};

static void on_object_listed(void *self, const struct nats_msg *msg,
                             const struct nats_delivery *delivery)
{
    struct list *list = self;
    struct nats_object_info info;
    struct err err;

    if (nats_object_layout_read(msg->payload, delivery->time, &info, &err) == 0 && !info.deleted)
        list->fn(list->self, NULL, &info);
}

static void finish_object_list(struct list *list, const struct nats_error *error)
{
    nats_object_fn *fn = list->fn;
    void *self = list->self;

    nats_ordered_free(list->ordered);
    free(list);
    fn(self, error, NULL);
}

static void on_object_list_end(void *self)
{
    finish_object_list(self, NULL);
}

static void on_object_list_failed(void *self, const struct nats_error *error)
{
    finish_object_list(self, error);
}

int nats_object_list(const struct nats_objects *objects, nats_object_fn *fn, void *self,
                     struct err *err)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), filter = BUF_INIT(NATS_SUBJECT_MAX);
    struct list *list = mem_alloc(sizeof(*list));

    *list = (struct list){ NULL, fn, self };
    nats_object_layout_stream(objects, &stream);
    buf_printf(&filter, "$O.%s.M.>", objects->bucket);
    list->ordered = nats_ordered_new(&objects->js,
                                     &(struct nats_ordered_options){
                                         .stream = buf_text(&stream),
                                         .filter_subject = buf_text(&filter),
                                         .deliver = NATS_DELIVER_LAST_PER_SUBJECT,
                                         .message = on_object_listed,
                                         .caught_up = on_object_list_end,
                                         .failed = on_object_list_failed,
                                         .self = list,
                                     },
                                     err);
    if (list->ordered)
        return 0;
    free(list);
    return -1;
}

/* --- chunks ------------------------------------------------------------------------- */

struct id_list {
    char *prefix; /* of subjects */
    nats_object_id_fn *fn;
    void *self;
};

static void finish_ids(struct id_list *list, const struct nats_error *error)
{
    list->fn(list->self, error, NULL);
    free(list->prefix);
    free(list);
}

static void on_ids(void *self, const struct nats_error *error, const struct value *reply)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct id_list *list = self;
    const struct value *state = error ? NULL : value_get(reply, "state");
    const struct value *subjects = state ? value_get(state, "subjects") : NULL;

    for (size_t i = 0; value_is(subjects, VALUE_MAP) && i < subjects->map->count; i++) {
        const struct value *key = &subjects->map->pairs[i].key;

        if (value_is(key, VALUE_STR) && str_starts(key->s, str_from(list->prefix)))
            list->fn(list->self, NULL,
                     arena_str(&arena, str_from_offset(key->s, strlen(list->prefix))).p);
    }
    finish_ids(list, error);
}

int nats_object_list_ids(const struct nats_objects *objects, nats_object_id_fn *fn, void *self,
                         struct err *err)
{
    AUTO_BUF struct buf verb = BUF_INIT(NATS_SUBJECT_MAX), prefix = BUF_INIT(NATS_SUBJECT_MAX),
                        body = BUF_INIT(NATS_SUBJECT_MAX * 2);
    struct id_list *list = mem_alloc(sizeof(*list));

    buf_add_text(&verb, "STREAM.INFO.");
    nats_object_layout_stream(objects, &verb);
    nats_object_layout_chunks(objects, "", &prefix);
    buf_printf(&body, "{\"subjects_filter\":\"%s>\"}", buf_text(&prefix));
    *list = (struct id_list){ mem_strdup(buf_text(&prefix)), fn, self };
    if (nats_js_call(&objects->js, buf_text(&verb), buf_view(&body), on_ids, list, err) == 0)
        return 0;
    free(list->prefix);
    free(list);
    return -1;
}

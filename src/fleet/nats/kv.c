#include "fleet/nats/kv.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/kv_layout.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/request.h"
#include "fleet/nats/stream.h"
#include "fleet/nats/subject.h"

#define HISTORY_MAX      64
#define DEDUP_NS         (INT64_C(120) * 1000000000)
#define OPERATION_HEADER "KV-Operation"
#define ORIGIN_HEADER    "Nats-Stream"

/* --- names -------------------------------------------------------------------------- */

#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/."

bool nats_kv_is_key(const char *text)
{
    return nats_subject_is_plain(str_from(text)) && strspn(text, KEY_LETTERS) == strlen(text);
}

int nats_kv_layout_check(const struct nats_kv *kv, const char *key, bool pattern, struct err *err)
{
    struct str text = str_from(key);
    bool ok = pattern
                  ? nats_subject_is_pattern(text) && strspn(key, KEY_LETTERS "*>") == strlen(key)
                  : nats_kv_is_key(key);

    if (!nats_subject_is_token(str_from(kv->bucket)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid bucket name", kv->bucket);
    if (!ok)
        return err_set(err, ERR_INVALID, "'%s' is not a valid %s", key,
                       pattern ? "pattern of keys" : "key");
    return 0;
}

void nats_kv_layout_stream(const struct nats_kv *kv, struct buf *out)
{
    buf_printf(out, "KV_%s", kv->bucket);
}

void nats_kv_layout_subject(const struct nats_kv *kv, const char *key, struct buf *out)
{
    buf_printf(out, "$KV.%s.%s", kv->bucket, key);
}

struct str nats_kv_layout_key(const struct nats_kv *kv, struct str subject)
{
    return str_from_offset(subject, sizeof("$KV.") + strlen(kv->bucket));
}

static enum nats_kv_change read_kv_change(struct str header)
{
    struct str value;

    if (!nats_header_find(header, OPERATION_HEADER, &value))
        return NATS_KV_PUT;
    return str_is(value, "DEL")     ? NATS_KV_DELETE
           : str_is(value, "PURGE") ? NATS_KV_PURGE
                                    : NATS_KV_PUT;
}

/* Lines that servers add to what a direct get copies; to that of such a copy, once more. */
static bool is_copy(struct str header, bool is_direct)
{
    struct str name, value;
    size_t at = 0, count = 0;

    while (nats_header_next(header, &at, &name, &value))
        count += str_is(name, ORIGIN_HEADER);
    return count > is_direct;
}

/* How answers of JetStream begin: that a message is stored, or not, and all others. */
static bool is_js_reply(struct str value)
{
    static const char *const begins[] = { "{\"stream\":\"", "{\"error\":{",
                                          "{\"type\":\"io.nats." };

    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(value, str_from(begins[i])))
            return true;
    return false;
}

struct nats_kv_entry nats_kv_layout_entry(const struct nats_kv *kv,
                                          const struct nats_stored *stored, bool is_direct)
{
    const bool is_answer = nats_header_status(stored->header, NULL) != 0 ||
                           is_copy(stored->header, is_direct) || is_js_reply(stored->payload);

    return (struct nats_kv_entry){
        .key = nats_kv_layout_key(kv, stored->subject),
        .value = is_answer ? STR("") : stored->payload,
        .revision = stored->seq,
        .time = stored->time,
        .change = is_answer ? NATS_KV_PUT : read_kv_change(stored->header),
        .is_answer = is_answer,
    };
}

/* --- buckets ------------------------------------------------------------------------ */

static int ensure_stream(const struct nats_js *js, const struct nats_kv_config *config,
                         nats_done_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);
    const struct nats_kv kv = { .bucket = config->bucket };
    const char *subjects[1];
    int64_t dedup = config->ttl > 0 && config->ttl < DEDUP_NS ? config->ttl : DEDUP_NS;

    nats_kv_layout_stream(&kv, &name);
    nats_kv_layout_subject(&kv, ">", &subject);
    subjects[0] = buf_text(&subject);
    return nats_stream_ensure_done(
        js,
        &(struct nats_stream_config){
            .name = buf_text(&name),
            .description = config->description,
            .subjects = { subjects, 1 },
            .storage = config->memory ? NATS_STORAGE_MEMORY : NATS_STORAGE_FILE,
            .discard = config->discard_old ? NATS_DISCARD_OLD : NATS_DISCARD_NEW,
            .max_msgs_per_subject = config->history ? config->history : 1,
            .max_bytes = config->max_bytes,
            .keeps_max_bytes = config->keeps_max_bytes,
            .max_age = config->ttl,
            .max_msg_size = config->max_value_size,
            .replicas = config->replicas,
            .duplicate_window = dedup,
            .allow_rollup = !config->no_rollup,
            .deny_delete = true,
            .allow_direct = true,
            .republish_source = config->republish_source,
            .republish_destination = config->republish_destination,
        },
        fn, self, err);
}

int nats_kv_ensure(const struct nats_js *js, const struct nats_kv_config *config, nats_done_fn *fn,
                   void *self, struct err *err)
{
    if (config->history < 0 || config->history > HISTORY_MAX)
        return err_set(err, ERR_INVALID, "bucket '%s': history is not in 1..%d", config->bucket,
                       HISTORY_MAX);
    if (!nats_subject_is_token(str_from(config->bucket)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid bucket name", config->bucket);
    return ensure_stream(js, config, fn, self, err);
}

int nats_kv_destroy(const struct nats_js *js, const char *bucket, nats_done_fn *fn, void *self,
                    struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT(NATS_SUBJECT_MAX);

    nats_kv_layout_stream(&(struct nats_kv){ .bucket = bucket }, &name);
    return nats_stream_delete(js, buf_text(&name), fn, self, err);
}

/* --- reading ------------------------------------------------------------------------ */

struct get_call {
    struct nats_kv kv;
    char *key;
    bool marks; /* deleted entries are reported, too */
    nats_kv_entry_fn *fn;
    void *self;
};

static void finish_get(struct get_call *call, const struct nats_error *error,
                       const struct nats_kv_entry *entry)
{
    nats_kv_entry_fn *fn = call->fn;
    void *self = call->self;

    free(call->key);
    free(call);
    fn(self, error, entry);
}

static void fail_kv_get(struct get_call *call, const struct nats_error *why)
{
    struct nats_error error;

    if (why && why->fault != NATS_FAULT_NOT_FOUND)
        error = *why;
    else
        nats_error_set(&error, NATS_FAULT_NOT_FOUND, NATS_JS_MESSAGE_NOT_FOUND, "not found");
    nats_error_wrap(&error, "key '%s' of bucket '%s'", call->key, call->kv.bucket);
    finish_get(call, &error, NULL);
}

static void on_kv_entry(void *self, const struct nats_error *error,
                        const struct nats_stored *stored)
{
    struct get_call *call = self;
    struct nats_kv_entry entry;

    if (error) {
        fail_kv_get(call, error);
        return;
    }
    entry = nats_kv_layout_entry(&call->kv, stored, !call->kv.indirect);
    if (!str_eq_text(entry.key, call->key) || (entry.change != NATS_KV_PUT && !call->marks))
        fail_kv_get(call, NULL);
    else
        finish_get(call, NULL, &entry);
}

static int begin_kv_get(const struct nats_kv *kv, const char *key, uint64_t revision, bool marks,
                        nats_kv_entry_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);
    struct nats_which which = { .seq = revision, .direct = !kv->indirect };
    struct get_call *call;

    if (nats_kv_layout_check(kv, key, false, err) < 0)
        return -1;
    nats_kv_layout_stream(kv, &stream);
    nats_kv_layout_subject(kv, key, &subject);
    if (revision == 0)
        which.last_of = buf_text(&subject);
    call = mem_alloc(sizeof(*call));
    *call = (struct get_call){ *kv, mem_strdup(key), marks, fn, self };
    if (nats_stream_get(&kv->js, buf_text(&stream), &which, on_kv_entry, call, err) == 0)
        return 0;
    free(call->key);
    free(call);
    return -1;
}

int nats_kv_get(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                struct err *err)
{
    return begin_kv_get(kv, key, 0, false, fn, self, err);
}

int nats_kv_get_revision(const struct nats_kv *kv, const char *key, uint64_t revision,
                         nats_kv_entry_fn *fn, void *self, struct err *err)
{
    if (revision == 0)
        return err_set(err, ERR_INVALID, "revisions begin at 1");
    return begin_kv_get(kv, key, revision, false, fn, self, err);
}

/* --- writing ------------------------------------------------------------------------ */

struct put_call {
    struct nats_kv kv;
    char *key;
    struct buf value; /* kept for a create that must be tried again */
    nats_kv_revision_fn *fn;
    void *self;
    bool is_compared;  /* with a revision that is there */
    uint64_t revision; /* that it got, while it is settled or marked again */
    unsigned marks;    /* of a purge, that are still to be stored */
};

struct write {
    struct str value;
    int64_t expect; /* -1: nothing may be there; 0: anything */
    enum nats_kv_change change;
};

static void finish_put(struct put_call *call, const struct nats_error *why, uint64_t revision)
{
    struct put_call done = *call;
    struct nats_error error;

    free(call);
    if (why) {
        error = *why;
        nats_error_wrap(&error, "key '%s' of bucket '%s'", done.key, done.kv.bucket);
    }
    done.fn(done.self, why ? &error : NULL, revision);
    buf_done(&done.value);
    free(done.key);
}

/* The ack of another stream is none. */
static int read_ack(const struct put_call *call, const struct nats_msg *msg,
                    struct nats_stored_ack *ret, struct nats_error *reterr)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX);

    nats_kv_layout_stream(&call->kv, &stream);
    return nats_stored_ack_decode(msg->payload, buf_text(&stream), ret, reterr);
}

static void settle_put(struct put_call *call, uint64_t revision);
static void mark_again(struct put_call *call, uint64_t revision);

static void on_kv_put(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct put_call *call = self;
    struct nats_stored_ack ack;
    struct nats_error refused;

    if (error)
        finish_put(call, error, 0);
    else if (read_ack(call, msg, &ack, &refused) < 0)
        finish_put(call, &refused, 0);
    else if (call->marks > 0)
        mark_again(call, ack.seq);
    else if (call->kv.settled && call->is_compared)
        settle_put(call, ack.seq);
    else
        finish_put(call, NULL, ack.seq);
}

static int add_headers(const struct write *write, struct buf *header, struct err *err)
{
    AUTO_BUF struct buf digits = BUF_INIT(32);

    if (write->change == NATS_KV_DELETE &&
        nats_header_add(header, OPERATION_HEADER, STR("DEL"), err) < 0)
        return -1;
    if (write->change == NATS_KV_PURGE &&
        nats_header_add(header, OPERATION_HEADER, STR("PURGE"), err) < 0)
        return -1;
    if (write->expect == 0)
        return 0;
    buf_printf(&digits, "%lld", write->expect < 0 ? 0LL : (long long)write->expect);
    return nats_header_add(header, "Nats-Expected-Last-Subject-Sequence", buf_view(&digits), err);
}

static int send_write(struct put_call *call, const char *key, const struct write *write,
                      nats_reply_fn *fn, struct err *err)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX), subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (add_headers(write, &header, err) < 0)
        return -1;
    nats_kv_layout_subject(&call->kv, key, &subject);
    return nats_request(call->kv.js.conn,
                        &(struct nats_pub){ .subject = buf_view(&subject),
                                            .header = buf_view(&header),
                                            .payload = write->value },
                        nats_js_timeout(&call->kv.js), fn, call, NULL, err);
}

static int send_put(struct put_call *call, const struct write *write, nats_reply_fn *fn,
                    struct err *err)
{
    call->is_compared = write->expect > 0;
    return send_write(call, call->key, write, fn, err);
}

static int begin_put(const struct nats_kv *kv, const char *key, const struct write *write,
                     nats_reply_fn *reply, nats_kv_revision_fn *fn, void *self, struct err *err)
{
    struct put_call *call;

    if (nats_kv_layout_check(kv, key, false, err) < 0)
        return -1;
    call = mem_alloc(sizeof(*call));
    *call = (struct put_call){
        .kv = *kv, .key = mem_strdup(key), .value = BUF_INIT(BUF_NO_LIMIT), .fn = fn, .self = self
    };
    if (write->change == NATS_KV_PURGE && kv->history > 1)
        call->marks = kv->history - 1;
    if (reply != on_kv_put)
        buf_add_str(&call->value, write->value);
    if (send_put(call, write, reply, err) == 0)
        return 0;
    buf_done(&call->value);
    free(call->key);
    free(call);
    return -1;
}

int nats_kv_put(const struct nats_kv *kv, const char *key, struct str value,
                nats_kv_revision_fn *fn, void *self, struct err *err)
{
    return begin_put(kv, key, &(struct write){ .value = value }, on_kv_put, fn, self, err);
}

int nats_kv_update(const struct nats_kv *kv, const char *key, struct str value, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err)
{
    const struct write write = { .value = value, .expect = revision ? (int64_t)revision : -1 };

    return begin_put(kv, key, &write, on_kv_put, fn, self, err);
}

int nats_kv_publish(const struct nats_kv *kv, struct nats_publisher *publisher, const char *key,
                    struct str value, bool create, nats_stored_ack_fn *fn, void *self,
                    struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (nats_kv_layout_check(kv, key, false, err) < 0)
        return -1;
    nats_kv_layout_subject(kv, key, &subject);
    return nats_publisher_send(publisher,
                               &(struct nats_store){ .subject = buf_view(&subject),
                                                     .payload = value,
                                                     .expect_last_subject_seq = create ? -1 : 0 },
                               fn, self, err);
}

int nats_kv_delete(const struct nats_kv *kv, const char *key, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err)
{
    const struct write write = { .value = STR(""),
                                 .expect = (int64_t)revision,
                                 .change = NATS_KV_DELETE };

    return begin_put(kv, key, &write, on_kv_put, fn, self, err);
}

int nats_kv_purge(const struct nats_kv *kv, const char *key, uint64_t revision,
                  nats_kv_revision_fn *fn, void *self, struct err *err)
{
    const struct write write = { .value = STR(""),
                                 .expect = (int64_t)revision,
                                 .change = NATS_KV_PURGE };

    return begin_put(kv, key, &write, on_kv_put, fn, self, err);
}

/* --- purging ------------------------------------------------------------------------ */

static void fail_kv_put(struct put_call *call, enum nats_fault fault, const char *text)
{
    struct nats_error error;

    nats_error_set(&error, fault, fault == NATS_FAULT_CONFLICT ? NATS_JS_WRONG_LAST_SEQUENCE : 0,
                   "%s", text);
    finish_put(call, &error, 0);
}

static void on_kv_mark(void *self, const struct nats_error *error, const struct nats_msg *msg);

/* As many marks as the bucket keeps of a key leave nothing else of it. A roll-up would do it at
 * once, but nats-server 2.9 then skips, for everybody who watches the bucket, what it has not sent
 * them yet, whatever its key. */
static void mark_again(struct put_call *call, uint64_t revision)
{
    const struct write mark = { .value = STR(""),
                                .expect = (int64_t)revision,
                                .change = NATS_KV_PURGE };
    struct err err;

    call->marks--;
    call->revision = revision;
    if (send_write(call, call->key, &mark, on_kv_mark, &err) < 0)
        fail_kv_put(call, NATS_FAULT_SLOW, err.text);
}

/* A value that another writer put meanwhile is kept. */
static void on_kv_mark(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct put_call *call = self;
    struct nats_stored_ack ack;
    struct nats_error refused;

    if (!error && read_ack(call, msg, &ack, &refused) < 0 && refused.fault == NATS_FAULT_CONFLICT)
        finish_put(call, NULL, call->revision);
    else
        on_kv_put(call, error, msg);
}

/* --- settling ----------------------------------------------------------------------- */

static void on_put_settled(void *self, const struct nats_error *error,
                           const struct nats_kv_entry *entry)
{
    struct put_call *call = self;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        finish_put(call, error, 0);
    else if (error || entry->revision != call->revision)
        fail_kv_put(call, NATS_FAULT_CONFLICT, "another update was accepted beside it");
    else
        finish_put(call, NULL, call->revision);
}

/* Updates compared before our entry was stored are in the log before the fence. */
static void on_fence(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct put_call *call = self;
    struct nats_kv leader = call->kv;
    struct nats_stored_ack ack;
    struct nats_error refused;
    struct err err;

    leader.indirect = true;
    if (error)
        finish_put(call, error, 0);
    else if (read_ack(call, msg, &ack, &refused) < 0)
        finish_put(call, &refused, 0);
    else if (begin_kv_get(&leader, call->key, 0, true, on_put_settled, call, &err) < 0)
        fail_kv_put(call, NATS_FAULT_SLOW, err.text);
}

static void settle_put(struct put_call *call, uint64_t revision)
{
    const struct write fence = { .value = STR(""), .change = NATS_KV_DELETE };
    struct err err;

    call->revision = revision;
    if (send_write(call, NATS_KV_FENCE, &fence, on_fence, &err) < 0)
        fail_kv_put(call, NATS_FAULT_SLOW, err.text);
}

/* --- create ------------------------------------------------------------------------- */

/* The entry is a value, and the conflict stands; or a delete marker, and the new value is put over
 * it. */
static void on_blocker(void *self, const struct nats_error *error,
                       const struct nats_kv_entry *entry)
{
    struct put_call *call = self;
    struct err err;

    if (error) {
        finish_put(call, error, 0);
        return;
    }
    if (entry->change == NATS_KV_PUT) {
        fail_kv_put(call, NATS_FAULT_CONFLICT, "exists already");
        return;
    }
    if (send_put(
            call,
            &(struct write){ .value = buf_view(&call->value), .expect = (int64_t)entry->revision },
            on_kv_put, &err) == 0)
        return;
    fail_kv_put(call, NATS_FAULT_SLOW, err.text);
}

static void on_create(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct put_call *call = self;
    struct nats_kv leader = call->kv;
    struct nats_stored_ack ack;
    struct nats_error refused;
    struct err err;

    if (error || read_ack(call, msg, &ack, &refused) == 0) {
        finish_put(call, error, error ? 0 : ack.seq);
        return;
    }
    leader.indirect = true; /* which distinguishes a copy of a marker from a marker */
    if (refused.fault == NATS_FAULT_CONFLICT &&
        begin_kv_get(&leader, call->key, 0, true, on_blocker, call, &err) == 0)
        return;
    finish_put(call, &refused, 0);
}

int nats_kv_create(const struct nats_kv *kv, const char *key, struct str value,
                   nats_kv_revision_fn *fn, void *self, struct err *err)
{
    return begin_put(kv, key, &(struct write){ .value = value, .expect = -1 }, on_create, fn, self,
                     err);
}

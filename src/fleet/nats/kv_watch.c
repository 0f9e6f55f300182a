#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/kv_layout.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/stream.h"
#include "fleet/nats/subject.h"

struct nats_kv_watch {
    struct nats_grave grave;
    struct nats_hub *hub;
    struct nats_kv kv; /* the bucket is owned */
    char *bucket;
    struct nats_kv_watch_options options;
    struct nats_ordered *ordered;
    struct arena arena;
    struct map seen; /* keys, with `once` */
};

/* Was this key reported before? Marks it as reported. */
static bool mark_key_seen(struct nats_kv_watch *watch, struct str key)
{
    if (map_has(&watch->seen, key))
        return true;
    (void)map_set(&watch->seen, arena_str(&watch->arena, key), watch);
    return false;
}

static void on_watch_message(void *self, const struct nats_msg *msg,
                             const struct nats_delivery *delivery)
{
    struct nats_kv_watch *watch = self;
    const struct nats_kv_entry entry = nats_kv_layout_entry(
        &watch->kv,
        &(struct nats_stored){ .seq = delivery->stream_seq,
                               .time = delivery->time,
                               .subject = msg->subject,
                               .header = msg->header,
                               .payload = watch->options.without_values ? STR("") : msg->payload },
        false);

    if (str_is(entry.key, NATS_KV_FENCE))
        return;
    if (watch->options.once && mark_key_seen(watch, entry.key))
        return;
    if (entry.change == NATS_KV_PUT || !watch->options.without_deletes)
        watch->options.entry(watch->options.self, &entry);
}

static void on_watch_caught_up(void *self)
{
    struct nats_kv_watch *watch = self;

    if (watch->options.caught_up)
        watch->options.caught_up(watch->options.self);
}

static void on_watch_failure(void *self, const struct nats_error *error)
{
    struct nats_kv_watch *watch = self;

    if (watch->options.failed)
        watch->options.failed(watch->options.self, error);
}

static void bury_kv_watch(struct nats_grave *grave)
{
    struct nats_kv_watch *watch = container_of(grave, struct nats_kv_watch, grave);

    map_done(&watch->seen);
    arena_done(&watch->arena);
    free(watch->bucket);
    free(watch);
}

static struct nats_ordered *start_kv_watch(struct nats_kv_watch *watch, const char *pattern,
                                           struct err *err)
{
    AUTO_BUF struct buf stream = BUF_INIT(NATS_SUBJECT_MAX), filter = BUF_INIT(NATS_SUBJECT_MAX);
    const struct nats_kv_watch_options *options = &watch->options;

    nats_kv_layout_stream(&watch->kv, &stream);
    nats_kv_layout_subject(&watch->kv, pattern, &filter);
    return nats_ordered_new(&watch->kv.js,
                            &(struct nats_ordered_options){
                                .stream = buf_text(&stream),
                                .filter_subject = buf_text(&filter),
                                .deliver = options->new_only  ? NATS_DELIVER_NEW
                                           : options->history ? NATS_DELIVER_ALL
                                                              : NATS_DELIVER_LAST_PER_SUBJECT,
                                .headers_only = options->without_values,
                                .message = on_watch_message,
                                .caught_up = on_watch_caught_up,
                                .failed = on_watch_failure,
                                .self = watch,
                            },
                            err);
}

struct nats_kv_watch *nats_kv_watch_new(const struct nats_kv *kv,
                                        const struct nats_kv_watch_options *options,
                                        struct err *err)
{
    const char *pattern = options->pattern ? options->pattern : ">";
    struct nats_kv_watch *watch;

    if (nats_kv_layout_check(kv, pattern, true, err) < 0)
        return NULL;
    watch = mem_zalloc(sizeof(*watch));
    watch->hub = nats_conn_hub(kv->js.conn);
    watch->kv = *kv;
    watch->kv.bucket = watch->bucket = mem_strdup(kv->bucket);
    watch->options = *options;
    watch->ordered = start_kv_watch(watch, pattern, err);
    if (watch->ordered)
        return watch;
    bury_kv_watch(&watch->grave);
    return NULL;
}

void nats_kv_watch_free(struct nats_kv_watch *watch)
{
    if (!watch)
        return;
    nats_ordered_free(watch->ordered);
    nats_hub_bury(watch->hub, &watch->grave, bury_kv_watch);
}

/* --- lists -------------------------------------------------------------------------- */

struct list {
    struct nats_kv_watch *watch;
    nats_kv_entry_fn *fn;
    void *self;
};

static void on_list_entry(void *self, const struct nats_kv_entry *entry)
{
    struct list *list = self;

    list->fn(list->self, NULL, entry);
}

static void finish_kv_list(struct list *list, const struct nats_error *error)
{
    nats_kv_entry_fn *fn = list->fn;
    void *self = list->self;

    nats_kv_watch_free(list->watch);
    free(list);
    fn(self, error, NULL);
}

static void on_kv_list_end(void *self)
{
    finish_kv_list(self, NULL);
}

static void on_kv_list_failed(void *self, const struct nats_error *error)
{
    finish_kv_list(self, error);
}

static int begin_list(const struct nats_kv *kv, struct nats_kv_watch_options *options,
                      nats_kv_entry_fn *fn, void *self, struct err *err)
{
    struct list *list = mem_alloc(sizeof(*list));

    *list = (struct list){ NULL, fn, self };
    options->once = !options->history;
    options->entry = on_list_entry;
    options->caught_up = on_kv_list_end;
    options->failed = on_kv_list_failed;
    options->self = list;
    list->watch = nats_kv_watch_new(kv, options, err);
    if (list->watch)
        return 0;
    free(list);
    return -1;
}

int nats_kv_keys(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err)
{
    return begin_list(kv,
                      &(struct nats_kv_watch_options){
                          .pattern = pattern, .without_values = true, .without_deletes = true },
                      fn, self, err);
}

int nats_kv_list(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err)
{
    return begin_list(
        kv, &(struct nats_kv_watch_options){ .pattern = pattern, .without_deletes = true }, fn,
        self, err);
}

int nats_kv_history(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                    struct err *err)
{
    if (nats_kv_layout_check(kv, key, false, err) < 0)
        return -1;
    return begin_list(kv, &(struct nats_kv_watch_options){ .pattern = key, .history = true }, fn,
                      self, err);
}

#include "fleet/master/settings/sealed_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/base/vec.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/lease.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/secrets/secret_cache.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_tree.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/xkey.h"
#include "states/state/secrets.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* Peels per background task. */
#define BATCH 32
/* Maximum size of a peel's sealed secrets: that of a bucket value. */
#define SEALED_MAX ((size_t)1 << 20)
#define RETRY_NS   CLOCK_SECOND
#define NONCE_USE  "zester-seal-v1"

/* The stored secrets of a peel. */
struct sealed_secret {
    uint64_t revision;
    char sha256[SHA256_HEX_SIZE];  /* "": nothing */
    char problem[SHA256_HEX_SIZE]; /* sum of the last logged problem */
    bool is_due;                   /* to be sealed */
    struct {
        VEC(char *) list;
    } needs; /* needed back-end values */
    char peel[];
};

struct sealed_secrets {
    struct sealed_secrets_options options;
    char *folder;
    struct nats_kv kv;
    struct nats_kv_watch *watch;
    struct enrollment_cache_listener enrollments;
    struct roster_listener facts;
    struct map by_peel;         /* struct sealed_secret by peel */
    struct settings_tree *tree; /* NULL: not read yet */
    struct secret_cache *cache;
    struct nats_nkey account;
    char key[NATS_NKEY_TEXT_SIZE], stored_key[NATS_NKEY_TEXT_SIZE];
    struct timer retry;
    size_t under_way; /* background tasks and writes */
    bool is_caught_up, is_reading, is_read_again, is_sealing, is_gone;
};

static void advance_sealing(struct sealed_secrets *sealed_secrets);

static struct sealed_secret *get_sealed_secret(struct sealed_secrets *sealed_secrets,
                                               struct str peel)
{
    struct sealed_secret *sealed = map_find(&sealed_secrets->by_peel, peel);

    if (sealed)
        return sealed;
    sealed = mem_zalloc(sizeof(*sealed) + peel.n + 1);
    memcpy(sealed->peel, peel.p, peel.n);
    (void)map_set(&sealed_secrets->by_peel, str_from(sealed->peel), sealed);
    return sealed;
}

/* A pending call has ended. False: this is closed, and freed with the last call. */
static bool end_sealing_call(struct sealed_secrets *sealed_secrets)
{
    sealed_secrets->under_way--;
    if (!sealed_secrets->is_gone)
        return true;
    if (sealed_secrets->under_way == 0)
        sealed_secrets_free(sealed_secrets);
    return false;
}

static void on_sealing_retry(struct timer *timer)
{
    advance_sealing(container_of(timer, struct sealed_secrets, retry));
}

static void arm_sealing_retry(struct sealed_secrets *sealed_secrets)
{
    timer_set(loop_timers(sealed_secrets->options.master->loop), &sealed_secrets->retry,
              clock_after(clock_now(), RETRY_NS), on_sealing_retry);
}

/* --- the bucket ----------------------------------------------------------------------- */

static void on_sealed_entry(void *self, const struct nats_kv_entry *entry)
{
    struct sealed_secrets *sealed_secrets = self;
    struct sealed_secret *sealed;

    if (str_eq(entry->key, STR(STORE_CURVE_KEY))) {
        const size_t n = entry->value.n < sizeof(sealed_secrets->key) ? entry->value.n : 0;

        memcpy(sealed_secrets->stored_key, entry->value.p ? entry->value.p : "", n);
        sealed_secrets->stored_key[n] = '\0';
        return;
    }
    if (entry->key.n > 0 && entry->key.p[0] == '_')
        return;
    sealed = get_sealed_secret(sealed_secrets, entry->key);
    sealed->revision = entry->revision;
    sealed->sha256[0] = '\0';
    if (entry->change == NATS_KV_PUT)
        sha256_hex(entry->value.p, entry->value.n, sealed->sha256);
}

static void on_sealed_caught_up(void *self)
{
    struct sealed_secrets *sealed_secrets = self;

    sealed_secrets->is_caught_up = true;
    advance_sealing(sealed_secrets);
}

static void on_sealed_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_error("secrets cannot be watched error=%s", error->text);
}

/* --- writing -------------------------------------------------------------------------- */

struct write {
    struct sealed_secrets *sealed_secrets;
    char peel[];
};

static void on_sealed_entry_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;
    struct sealed_secrets *sealed_secrets = write->sealed_secrets;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED && !sealed_secrets->is_gone) {
        log_warning("secrets are not written peel=%s error=%s", write->peel, error->text);
        get_sealed_secret(sealed_secrets, str_from(write->peel))->is_due = write->peel[0] != '_';
        arm_sealing_retry(sealed_secrets);
    }
    free(write);
    (void)end_sealing_call(sealed_secrets);
}

/* An empty value removes the entry. */
static void write_sealed_entry(struct sealed_secrets *sealed_secrets, const char *key,
                               struct str value)
{
    struct write *write = mem_zalloc(sizeof(*write) + strlen(key) + 1);
    struct err err;
    int result;

    write->sealed_secrets = sealed_secrets;
    memcpy(write->peel, key, strlen(key));
    sealed_secrets->under_way++;
    result =
        value.n ? nats_kv_put(&sealed_secrets->kv, key, value, on_sealed_entry_written, write, &err)
                : nats_kv_purge(&sealed_secrets->kv, key, 0, on_sealed_entry_written, write, &err);
    if (result == 0)
        return;
    log_warning("secrets are not written peel=%s error=%s", key, err.text);
    sealed_secrets->under_way--;
    free(write);
    arm_sealing_retry(sealed_secrets);
}

/* Peels need the sealing key. */
static void write_key(struct sealed_secrets *sealed_secrets)
{
    if (strcmp(sealed_secrets->key, sealed_secrets->stored_key) == 0)
        return;
    memcpy(sealed_secrets->stored_key, sealed_secrets->key, sizeof(sealed_secrets->key));
    write_sealed_entry(sealed_secrets, STORE_CURVE_KEY, str_from(sealed_secrets->key));
}

/* --- sealing -------------------------------------------------------------------------- */

struct item {
    const char *peel, *key; /* key: NULL when it gets no secrets */
    struct value facts;
    struct str sealed; /* empty: nothing */
    char *problem;     /* NULL: none; then `sealed` is valid */
    struct secret_needs needs;
};

struct batch {
    struct background_task background_task;
    struct sealed_secrets *sealed_secrets;
    struct settings_tree *tree;
    struct arena arena;
    struct item items[BATCH];
    size_t count;
};

/* A nonce derived from value, name and receiver. */
static void make_secret_nonce(const struct nats_nkey *account, const struct nats_xkey *receiver,
                              const struct settings_secret *secret,
                              unsigned char nonce[static BOX_NONCE_SIZE])
{
    const struct str seed = { (const char *)account->seed, sizeof(account->seed) };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    unsigned char digest[SHA256_SIZE];

    buf_add(&bytes, NONCE_USE, sizeof(NONCE_USE));
    buf_add(&bytes, receiver->public_key, sizeof(receiver->public_key));
    buf_add(&bytes, secret->name, strlen(secret->name) + 1);
    buf_add_str(&bytes, secret->text);
    sha256_hmac(seed, buf_view(&bytes), digest);
    memcpy(nonce, digest, BOX_NONCE_SIZE);
    ed25519_wipe(bytes.p, bytes.n);
}

static int seal_secret(struct batch *batch, const struct nats_xkey *receiver,
                       const struct settings_secret *secret, struct value_map *out, struct err *err)
{
    const struct nats_nkey *account = &batch->sealed_secrets->account;
    AUTO_BUF struct buf sealed = BUF_INIT(SEALED_MAX), text = BUF_INIT(2 * SEALED_MAX);
    unsigned char nonce[BOX_NONCE_SIZE];

    make_secret_nonce(account, receiver, secret, nonce);
    if (nats_xkey_seal(account, receiver, nonce, secret->text, &sealed, err) < 0)
        return -1;
    buf_add_text(&text, STORE_SEALED_BEGIN);
    base64_encode(buf_view(&sealed), BASE64_STANDARD, &text);
    buf_add_text(&text, STORE_SEALED_END);
    if (sealed.full || text.full)
        return err_set(err, ERR_LIMIT, "the secret '%s' is too large", secret->name);
    value_map_append(&batch->arena, out, value_text(secret->name),
                     value_str(buf_copy(&text, &batch->arena)));
    return 0;
}

static int seal_view(struct batch *batch, struct item *item, const struct settings_view *view,
                     struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(SEALED_MAX);
    struct value_map *map = value_map_new(&batch->arena, view->secrets.n);
    const struct value v = value_map(map);
    struct nats_xkey receiver;

    if (view->secrets.n == 0)
        return 0;
    if (nats_xkey_parse(str_from(item->key), &receiver, err) < 0)
        return -1;
    VEC_EACH (&view->secrets, secret)
        if (seal_secret(batch, &receiver, secret, map, err) < 0)
            return -1;
    if (msgpack_encode(&bytes, &v, err) < 0)
        return -1;
    if (bytes.full)
        return err_set(err, ERR_LIMIT, "its secrets are more than %zu bytes", SEALED_MAX);
    item->sealed = buf_copy(&bytes, &batch->arena);
    return 0;
}

/* A template error may quote a secret. */
static char *hide_quoted_secrets(const struct settings_view *view, const char *text)
{
    struct secrets *secrets = secrets_new();
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&view->secrets, secret)
        secrets_add(secrets, secret->text);
    buf_add_text(&out, text);
    secrets_mask(secrets, &out);
    secrets_free(secrets);
    return mem_strdup(buf_text(&out));
}

static int resolve_item(const struct settings_tree *tree, struct arena *arena, struct item *item,
                        struct settings_view *ret, struct err *err)
{
    return settings_tree_resolve(tree, arena,
                                 &(struct settings_recipient){ .peel = item->peel,
                                                               .facts = &item->facts,
                                                               .fetch = secret_needs_fetch,
                                                               .self = &item->needs },
                                 ret, err);
}

static void seal_item(struct batch *batch, struct item *item)
{
    struct settings_view view = { 0 };
    struct err err;

    secret_needs_init(&item->needs, batch->sealed_secrets->cache, &batch->arena);
    if (item->key && (resolve_item(batch->tree, &batch->arena, item, &view, &err) < 0 ||
                      (!item->needs.is_waiting && seal_view(batch, item, &view, &err) < 0)))
        item->problem = hide_quoted_secrets(&view, err.text);
}

static void seal_batch(struct background_task *background_task)
{
    struct batch *batch = container_of(background_task, struct batch, background_task);

    for (size_t i = 0; i < batch->count; i++)
        seal_item(batch, &batch->items[i]);
}

static void report_sealing_problem(struct sealed_secret *sealed, const char *problem)
{
    char sum[SHA256_HEX_SIZE] = "";

    if (problem)
        sha256_hex(problem, strlen(problem), sum);
    if (problem && strcmp(sum, sealed->problem) != 0)
        log_error(
            "cannot render the settings of a peel, its secrets are unchanged peel=%s error=%s",
            sealed->peel, problem);
    memcpy(sealed->problem, sum, sizeof(sum));
}

static void clear_needs(struct sealed_secret *sealed)
{
    VEC_EACH (&sealed->needs.list, key)
        free(*key);
    vec_clear(&sealed->needs.list);
}

/* Looked-up values may have changed since. */
static void note_needs(struct sealed_secrets *sealed_secrets, struct sealed_secret *sealed,
                       const struct secret_needs *needs)
{
    clear_needs(sealed);
    VEC_EACH (&needs->keys, key) {
        VEC_PUSH(&sealed->needs.list, mem_strdup(*key));
        sealed->is_due |= secret_cache_want(sealed_secrets->cache, *key, needs->version);
    }
}

static void write_item(struct sealed_secrets *sealed_secrets, struct item *item)
{
    struct sealed_secret *sealed = get_sealed_secret(sealed_secrets, str_from(item->peel));
    char sum[SHA256_HEX_SIZE] = "";

    note_needs(sealed_secrets, sealed, &item->needs);
    if (item->needs.is_waiting)
        return;
    report_sealing_problem(sealed, item->problem);
    if (item->sealed.n)
        sha256_hex(item->sealed.p, item->sealed.n, sum);
    if (item->problem || strcmp(sum, sealed->sha256) == 0)
        return;
    log_info("secrets sealed peel=%s", item->peel);
    memcpy(sealed->sha256, sum, sizeof(sum)); /* as the watch will report */
    write_sealed_entry(sealed_secrets, item->peel, item->sealed);
}

/* Forget values that no peel needs. */
static void sweep_cache(struct sealed_secrets *sealed_secrets)
{
    secret_cache_begin_sweep(sealed_secrets->cache);
    MAP_EACH (&sealed_secrets->by_peel, entry) {
        struct sealed_secret *sealed = entry->value;

        VEC_EACH (&sealed->needs.list, key)
            (void)secret_cache_want(sealed_secrets->cache, *key, UINT64_MAX);
    }
    secret_cache_end_sweep(sealed_secrets->cache);
}

static void on_sealed(struct background_task *background_task)
{
    struct batch *batch = container_of(background_task, struct batch, background_task);
    struct sealed_secrets *sealed_secrets = batch->sealed_secrets;

    for (size_t i = 0; i < batch->count; i++) {
        if (!sealed_secrets->is_gone && lease_is_held(sealed_secrets->options.lease))
            write_item(sealed_secrets, &batch->items[i]);
        else if (!sealed_secrets->is_gone) /* we may hold the lease again */
            get_sealed_secret(sealed_secrets, str_from(batch->items[i].peel))->is_due = true;
        free(batch->items[i].problem);
    }
    settings_tree_drop(batch->tree);
    arena_done(&batch->arena);
    free(batch);
    sealed_secrets->is_sealing = false;
    if (!end_sealing_call(sealed_secrets))
        return;
    advance_sealing(sealed_secrets);
    if (!sealed_secrets->is_sealing && !sealed_secrets->is_reading)
        sweep_cache(sealed_secrets);
}

static void add_sealed_item(struct batch *batch, struct sealed_secret *sealed)
{
    const struct master *master = batch->sealed_secrets->options.master;
    const struct str peel = str_from(sealed->peel);
    const struct value *facts = roster_facts(master_roster(master), peel);
    const char *key =
        enrollment_cache_curve_key(master_find(master, &enrollment_cache_service), peel);

    sealed->is_due = false;
    batch->items[batch->count++] = (struct item){
        .peel = sealed->peel,
        .key = facts && key && settings_tree_secrets(batch->tree) ? arena_strdup(&batch->arena, key)
                                                                  : NULL,
        .facts = facts ? value_copy(&batch->arena, facts) : value_null(),
    };
}

static void begin_sealing_batch(struct sealed_secrets *sealed_secrets)
{
    struct batch *batch = mem_zalloc(sizeof(*batch));

    batch->sealed_secrets = sealed_secrets;
    batch->tree = sealed_secrets->tree;
    MAP_EACH (&sealed_secrets->by_peel, entry) {
        struct sealed_secret *sealed = entry->value;

        if (sealed->is_due && batch->count < BATCH)
            add_sealed_item(batch, sealed);
    }
    if (batch->count == 0) {
        free(batch);
        return;
    }
    batch->tree = settings_tree_hold(sealed_secrets->tree);
    sealed_secrets->is_sealing = true;
    sealed_secrets->under_way++;
    background_task_begin(sealed_secrets->options.background_tasks, &batch->background_task,
                          seal_batch, on_sealed);
}

/* --- the tree ------------------------------------------------------------------------- */

struct sealed_tree_reading {
    struct background_task background_task;
    struct sealed_secrets *sealed_secrets;
    struct settings_tree *tree; /* NULL: failed */
    struct err err;
};

static void read_sealed_tree(struct background_task *background_task)
{
    struct sealed_tree_reading *reading =
        container_of(background_task, struct sealed_tree_reading, background_task);

    reading->tree = settings_tree_read(reading->sealed_secrets->folder, &reading->err);
}

static void mark_all_sealed_due(struct sealed_secrets *sealed_secrets)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param_strs peels;
    struct err err;

    if (roster_resolve(master_roster(sealed_secrets->options.master), &arena,
                       &(struct roster_question){ .expr = "*", .type = "" }, &peels, &err) == 0)
        for (size_t i = 0; i < peels.n; i++)
            (void)get_sealed_secret(sealed_secrets, str_from(peels.p[i]));
    MAP_EACH (&sealed_secrets->by_peel, entry)
        ((struct sealed_secret *)entry->value)->is_due = true;
}

static void on_sealed_tree_read(struct background_task *background_task)
{
    struct sealed_tree_reading *reading =
        container_of(background_task, struct sealed_tree_reading, background_task);
    struct sealed_secrets *sealed_secrets = reading->sealed_secrets;

    sealed_secrets->is_reading = false;
    if (!reading->tree)
        log_error("the tree of settings cannot be read error=%s", reading->err.text);
    else if (!sealed_secrets->is_gone &&
             !settings_tree_equal(sealed_secrets->tree, reading->tree)) {
        settings_tree_drop(sealed_secrets->tree);
        sealed_secrets->tree = settings_tree_hold(reading->tree);
        mark_all_sealed_due(sealed_secrets);
    }
    settings_tree_drop(reading->tree);
    free(reading);
    if (end_sealing_call(sealed_secrets))
        advance_sealing(sealed_secrets);
}

static void begin_sealed_tree_reading(struct sealed_secrets *sealed_secrets)
{
    struct sealed_tree_reading *reading = mem_zalloc(sizeof(*reading));

    reading->sealed_secrets = sealed_secrets;
    sealed_secrets->is_reading = true;
    sealed_secrets->is_read_again = false;
    sealed_secrets->under_way++;
    background_task_begin(sealed_secrets->options.background_tasks, &reading->background_task,
                          read_sealed_tree, on_sealed_tree_read);
}

/* --- next steps ----------------------------------------------------------------------- */

/* Without all facts and enrollments a peel would lose its secrets. */
static bool is_sealing_ready(const struct sealed_secrets *sealed_secrets)
{
    const struct master *master = sealed_secrets->options.master;

    return sealed_secrets->is_caught_up && master_roster(master) &&
           roster_is_seeded(master_roster(master)) &&
           enrollment_cache_is_complete(master_find(master, &enrollment_cache_service));
}

static void advance_sealing(struct sealed_secrets *sealed_secrets)
{
    if (!lease_is_held(sealed_secrets->options.lease) || sealed_secrets->is_sealing ||
        sealed_secrets->is_reading)
        return;
    if (!is_sealing_ready(sealed_secrets)) {
        arm_sealing_retry(sealed_secrets);
        return;
    }
    write_key(sealed_secrets);
    if (sealed_secrets->is_read_again || !sealed_secrets->tree)
        begin_sealed_tree_reading(sealed_secrets);
    else
        begin_sealing_batch(sealed_secrets);
}

void sealed_secrets_reload(struct sealed_secrets *sealed_secrets)
{
    sealed_secrets->is_read_again = true;
    advance_sealing(sealed_secrets);
}

static void touch_peel(struct sealed_secrets *sealed_secrets, struct str peel)
{
    get_sealed_secret(sealed_secrets, peel)->is_due = true;
    if (sealed_secrets->tree)
        advance_sealing(sealed_secrets);
}

static void on_sealed_enrollment(struct enrollment_cache_listener *listener,
                                 const struct enrollment *record)
{
    touch_peel(container_of(listener, struct sealed_secrets, enrollments),
               str_from(record->peel_id));
}

static void on_sealed_facts(struct roster_listener *listener, struct str peel)
{
    touch_peel(container_of(listener, struct sealed_secrets, facts), peel);
}

/* Mark the peels that use the value. */
static void on_sealed_secret_changed(void *self, struct str key)
{
    struct sealed_secrets *sealed_secrets = self;

    MAP_EACH (&sealed_secrets->by_peel, entry) {
        struct sealed_secret *sealed = entry->value;

        VEC_EACH (&sealed->needs.list, need)
            sealed->is_due |= str_is(key, *need);
    }
    if (sealed_secrets->tree)
        advance_sealing(sealed_secrets);
}

void sealed_secrets_configure(struct sealed_secrets *sealed_secrets)
{
    secret_cache_configure(sealed_secrets->cache,
                           sealed_secrets->options.master->conf.secret_backends);
}

void sealed_secrets_yield(struct sealed_secrets *sealed_secrets)
{
    secret_cache_clear(sealed_secrets->cache);
    MAP_EACH (&sealed_secrets->by_peel, entry) {
        struct sealed_secret *sealed = entry->value;

        sealed->is_due |= sealed->needs.list.n > 0;
        clear_needs(sealed);
    }
}

bool sealed_secrets_is_failing(const struct sealed_secrets *sealed_secrets, char *ret_text,
                               size_t size)
{
    return secret_cache_is_failing(sealed_secrets->cache, ret_text, size);
}

/* --- for operators -------------------------------------------------------------------- */

struct viewing {
    struct background_task background_task;
    struct sealed_secrets *sealed_secrets;
    struct settings_tree *tree;
    struct arena arena;
    struct item item;
    struct value settings;
    sealed_secrets_show_fn *fn;
    void *self;
};

static void hide_marked(struct value *v)
{
    if (v->flags & VALUE_SECRET)
        *v = value_text(SECRETS_MASK);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        hide_marked(&v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        hide_marked(&v->map->pairs[i].value);
}

/* Mask marked values, and texts made from them. */
static void hide_secret_values(struct arena *arena, const struct settings_view *view,
                               struct value *v)
{
    struct secrets *secrets = secrets_new();

    VEC_EACH (&view->secrets, secret)
        secrets_add(secrets, secret->text);
    secrets_add_marked(secrets, v);
    hide_marked(v);
    secrets_mask_value(secrets, arena, v);
    secrets_free(secrets);
}

static void make_sealed_view(struct background_task *background_task)
{
    struct viewing *viewing = container_of(background_task, struct viewing, background_task);
    struct settings_view view = { 0 };
    struct err err;

    if (!viewing->tree)
        viewing->tree = settings_tree_read(viewing->sealed_secrets->folder, &err);
    if (!viewing->tree) {
        viewing->item.problem = mem_strdup(err.text);
        return;
    }
    secret_needs_init(&viewing->item.needs, viewing->sealed_secrets->cache, &viewing->arena);
    if (resolve_item(viewing->tree, &viewing->arena, &viewing->item, &view, &err) < 0) {
        viewing->item.problem = hide_quoted_secrets(&view, err.text);
        return;
    }
    viewing->settings = value_copy(&viewing->arena, view.settings);
    hide_secret_values(&viewing->arena, &view, &viewing->settings);
}

static void on_sealed_view_made(struct background_task *background_task)
{
    struct viewing *viewing = container_of(background_task, struct viewing, background_task);
    struct sealed_secrets *sealed_secrets = viewing->sealed_secrets;

    if (viewing->item.problem)
        viewing->fn(viewing->self, NULL, viewing->item.problem);
    else
        viewing->fn(viewing->self, &viewing->settings, "");
    free(viewing->item.problem);
    settings_tree_drop(viewing->tree);
    arena_done(&viewing->arena);
    free(viewing);
    (void)end_sealing_call(sealed_secrets);
}

void sealed_secrets_show(struct sealed_secrets *sealed_secrets, const char *peel,
                         sealed_secrets_show_fn *fn, void *self)
{
    const struct value *facts =
        roster_facts(master_roster(sealed_secrets->options.master), str_from(peel));
    struct viewing *viewing;

    if (!facts) {
        fn(self, NULL, "no facts known for this peel");
        return;
    }
    viewing = mem_zalloc(sizeof(*viewing));
    viewing->sealed_secrets = sealed_secrets;
    viewing->fn = fn;
    viewing->self = self;
    viewing->item.peel = arena_strdup(&viewing->arena, peel);
    viewing->item.facts = value_copy(&viewing->arena, facts);
    sealed_secrets->under_way++;
    background_task_begin(sealed_secrets->options.background_tasks, &viewing->background_task,
                          make_sealed_view, on_sealed_view_made);
}

/* --- life ----------------------------------------------------------------------------- */

struct sealed_secrets *sealed_secrets_new(const struct sealed_secrets_options *options,
                                          struct err *err)
{
    const struct authority *authority = master_find(options->master, &authority_service);
    struct sealed_secrets *sealed_secrets = mem_zalloc(sizeof(*sealed_secrets));
    struct nats_xkey key;

    sealed_secrets->options = *options;
    sealed_secrets->folder = mem_strdup(options->folder);
    sealed_secrets->kv = (struct nats_kv){ .js = options->master->js,
                                           .bucket = store_bucket_name(STORE_SECRETS),
                                           .history = store_bucket_history(STORE_SECRETS) };
    sealed_secrets->account = authority->account;
    nats_xkey_of(&sealed_secrets->account, &key);
    nats_xkey_print(&key, sealed_secrets->key);
    sealed_secrets->cache =
        secret_cache_new(&(struct secret_cache_options){ .loop = options->master->loop,
                                                         .background_tasks = options->fetchers,
                                                         .metrics = options->master->metrics,
                                                         .changed = on_sealed_secret_changed,
                                                         .self = sealed_secrets },
                         err);
    if (!sealed_secrets->cache) {
        sealed_secrets_free(sealed_secrets);
        return NULL;
    }
    sealed_secrets_configure(sealed_secrets);
    sealed_secrets->watch =
        nats_kv_watch_new(&sealed_secrets->kv,
                          &(struct nats_kv_watch_options){ .entry = on_sealed_entry,
                                                           .caught_up = on_sealed_caught_up,
                                                           .failed = on_sealed_watch_failed,
                                                           .self = sealed_secrets },
                          err);
    if (!sealed_secrets->watch) {
        sealed_secrets_free(sealed_secrets);
        return NULL;
    }
    sealed_secrets->enrollments.changed = on_sealed_enrollment;
    enrollment_cache_listen(master_find(options->master, &enrollment_cache_service),
                            &sealed_secrets->enrollments);
    sealed_secrets->facts.changed = on_sealed_facts;
    master_roster_listen(options->master, &sealed_secrets->facts);
    return sealed_secrets;
}

static void free_sealed_secret(struct sealed_secret *sealed)
{
    clear_needs(sealed);
    vec_done(&sealed->needs.list);
    free(sealed);
}

void sealed_secrets_free(struct sealed_secrets *sealed_secrets)
{
    if (!sealed_secrets)
        return;
    if (!sealed_secrets->is_gone) {
        sealed_secrets->is_gone = true;
        secret_cache_stop(sealed_secrets->cache);
        nats_kv_watch_free(sealed_secrets->watch);
        timer_clear(loop_timers(sealed_secrets->options.master->loop), &sealed_secrets->retry);
        enrollment_cache_forget(
            master_find(sealed_secrets->options.master, &enrollment_cache_service),
            &sealed_secrets->enrollments);
        master_roster_forget(sealed_secrets->options.master, &sealed_secrets->facts);
    }
    if (sealed_secrets->under_way > 0)
        return; /* the last pending call frees it */
    secret_cache_free(sealed_secrets->cache);
    MAP_EACH (&sealed_secrets->by_peel, entry)
        free_sealed_secret(entry->value);
    map_done(&sealed_secrets->by_peel);
    settings_tree_drop(sealed_secrets->tree);
    nats_nkey_done(&sealed_secrets->account);
    free(sealed_secrets->folder);
    free(sealed_secrets);
}

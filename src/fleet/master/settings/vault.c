#include "fleet/master/settings/vault.h"

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
#include "fleet/master/enroll/census.h"
#include "fleet/master/lease.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/secrets/secret_cache.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_tree.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/xkey.h"
#include "states/state/secrets.h"
#include "core/sys/chore.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* Peels that one chore seals for. */
#define BATCH 32
/* Of the sealed secrets of one peel: what a value of a bucket may have. */
#define SEALED_MAX ((size_t)1 << 20)
#define RETRY_NS   CLOCK_SECOND
#define NONCE_USE  "zester-seal-v1"

/* What the bucket has for a peel. */
struct box {
    uint64_t revision;
    char sha256[SHA256_HEX_SIZE];  /* "": nothing */
    char problem[SHA256_HEX_SIZE]; /* sum of what was logged last */
    bool is_due;                   /* to be sealed */
    struct {
        VEC(char *) list;
    } needs; /* values of secret back-ends */
    char peel[];
};

struct vault {
    struct vault_options options;
    char *folder;
    struct nats_kv kv;
    struct nats_kv_watch *watch;
    struct census_listener enrollments;
    struct roster_listener facts;
    struct map boxes;           /* struct box by peel */
    struct settings_tree *tree; /* NULL: not read yet */
    struct secret_cache *cache;
    struct nats_nkey account;
    char key[NATS_NKEY_TEXT_SIZE], stored_key[NATS_NKEY_TEXT_SIZE];
    struct timer retry;
    size_t under_way; /* chores and writes */
    bool is_caught_up, is_reading, is_read_again, is_sealing, is_gone;
};

static void advance(struct vault *vault);

static struct box *get_box(struct vault *vault, struct str peel)
{
    struct box *box = map_find(&vault->boxes, peel);

    if (box)
        return box;
    box = mem_zalloc(sizeof(*box) + peel.n + 1);
    memcpy(box->peel, peel.p, peel.n);
    (void)map_set(&vault->boxes, str_from(box->peel), box);
    return box;
}

/* Something that was begun has ended. False: the vault is gone, and freed with the last. */
static bool came_back(struct vault *vault)
{
    vault->under_way--;
    if (!vault->is_gone)
        return true;
    if (vault->under_way == 0)
        vault_free(vault);
    return false;
}

static void on_retry(struct timer *timer)
{
    advance(container_of(timer, struct vault, retry));
}

static void retry_later(struct vault *vault)
{
    timer_set(loop_timers(vault->options.master->loop), &vault->retry,
              clock_after(clock_now(), RETRY_NS), on_retry);
}

/* --- what the bucket has -------------------------------------------------------------- */

static void on_entry(void *self, const struct nats_kv_entry *entry)
{
    struct vault *vault = self;
    struct box *box;

    if (str_eq(entry->key, STR(STORE_CURVE_KEY))) {
        const size_t n = entry->value.n < sizeof(vault->key) ? entry->value.n : 0;

        memcpy(vault->stored_key, entry->value.p ? entry->value.p : "", n);
        vault->stored_key[n] = '\0';
        return;
    }
    if (entry->key.n > 0 && entry->key.p[0] == '_')
        return;
    box = get_box(vault, entry->key);
    box->revision = entry->revision;
    box->sha256[0] = '\0';
    if (entry->change == NATS_KV_PUT)
        sha256_hex(entry->value.p, entry->value.n, box->sha256);
}

static void on_caught_up(void *self)
{
    struct vault *vault = self;

    vault->is_caught_up = true;
    advance(vault);
}

static void on_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_error("secrets cannot be watched error=%s", error->text);
}

/* --- writing -------------------------------------------------------------------------- */

struct write {
    struct vault *vault;
    char peel[];
};

static void on_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;
    struct vault *vault = write->vault;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED && !vault->is_gone) {
        log_warning("secrets are not written peel=%s error=%s", write->peel, error->text);
        get_box(vault, str_from(write->peel))->is_due = write->peel[0] != '_';
        retry_later(vault);
    }
    free(write);
    (void)came_back(vault);
}

/* An empty value removes the entry. */
static void write_entry(struct vault *vault, const char *key, struct str value)
{
    struct write *write = mem_zalloc(sizeof(*write) + strlen(key) + 1);
    struct err err;
    int result;

    write->vault = vault;
    memcpy(write->peel, key, strlen(key));
    vault->under_way++;
    result = value.n ? nats_kv_put(&vault->kv, key, value, on_written, write, &err)
                     : nats_kv_purge(&vault->kv, key, 0, on_written, write, &err);
    if (result == 0)
        return;
    log_warning("secrets are not written peel=%s error=%s", key, err.text);
    vault->under_way--;
    free(write);
    retry_later(vault);
}

/* Peels must know who sealed. */
static void write_key(struct vault *vault)
{
    if (strcmp(vault->key, vault->stored_key) == 0)
        return;
    memcpy(vault->stored_key, vault->key, sizeof(vault->key));
    write_entry(vault, STORE_CURVE_KEY, str_from(vault->key));
}

/* --- sealing -------------------------------------------------------------------------- */

struct item {
    const char *peel, *key; /* key: NULL when it gets nothing */
    struct value facts;
    struct str sealed; /* empty: nothing */
    char *problem;     /* NULL: none; then `sealed` counts */
    struct secret_needs needs;
};

struct batch {
    struct chore chore;
    struct vault *vault;
    struct settings_tree *tree;
    struct arena arena;
    struct item items[BATCH];
    size_t count;
};

/* 24 bytes that belong to this value, this name and this receiver alone. */
static void make_nonce(const struct nats_nkey *account, const struct nats_xkey *receiver,
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
    const struct nats_nkey *account = &batch->vault->account;
    AUTO_BUF struct buf box = BUF_INIT(SEALED_MAX), text = BUF_INIT(2 * SEALED_MAX);
    unsigned char nonce[BOX_NONCE_SIZE];

    make_nonce(account, receiver, secret, nonce);
    if (nats_xkey_seal(account, receiver, nonce, secret->text, &box, err) < 0)
        return -1;
    buf_add_text(&text, STORE_SEALED_BEGIN);
    base64_encode(buf_view(&box), BASE64_STANDARD, &text);
    buf_add_text(&text, STORE_SEALED_END);
    if (box.full || text.full)
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

/* A mistake in a template may quote a secret. */
static char *hide_secrets(const struct settings_view *view, const char *text)
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

    secret_needs_init(&item->needs, batch->vault->cache, &batch->arena);
    if (item->key && (resolve_item(batch->tree, &batch->arena, item, &view, &err) < 0 ||
                      (!item->needs.is_waiting && seal_view(batch, item, &view, &err) < 0)))
        item->problem = hide_secrets(&view, err.text);
}

static void seal_batch(struct chore *chore)
{
    struct batch *batch = container_of(chore, struct batch, chore);

    for (size_t i = 0; i < batch->count; i++)
        seal_item(batch, &batch->items[i]);
}

static void report_problem(struct box *box, const char *problem)
{
    char sum[SHA256_HEX_SIZE] = "";

    if (problem)
        sha256_hex(problem, strlen(problem), sum);
    if (problem && strcmp(sum, box->problem) != 0)
        log_error(
            "settings of a peel cannot be made, its secrets stay as they are peel=%s error=%s",
            box->peel, problem);
    memcpy(box->problem, sum, sizeof(sum));
}

static void clear_needs(struct box *box)
{
    VEC_EACH (&box->needs.list, key)
        free(*key);
    vec_clear(&box->needs.list);
}

/* What was looked up may have changed since. */
static void note_needs(struct vault *vault, struct box *box, const struct secret_needs *needs)
{
    clear_needs(box);
    VEC_EACH (&needs->keys, key) {
        VEC_PUSH(&box->needs.list, mem_strdup(*key));
        box->is_due |= secret_cache_want(vault->cache, *key, needs->version);
    }
}

static void write_item(struct vault *vault, struct item *item)
{
    struct box *box = get_box(vault, str_from(item->peel));
    char sum[SHA256_HEX_SIZE] = "";

    note_needs(vault, box, &item->needs);
    if (item->needs.is_waiting)
        return;
    report_problem(box, item->problem);
    if (item->sealed.n)
        sha256_hex(item->sealed.p, item->sealed.n, sum);
    if (item->problem || strcmp(sum, box->sha256) == 0)
        return;
    log_info("secrets sealed peel=%s", item->peel);
    memcpy(box->sha256, sum, sizeof(sum)); /* the watch reports the same */
    write_entry(vault, item->peel, item->sealed);
}

/* Values that no peel needs any longer are forgotten. */
static void sweep_cache(struct vault *vault)
{
    secret_cache_begin_sweep(vault->cache);
    MAP_EACH (&vault->boxes, entry) {
        struct box *box = entry->value;

        VEC_EACH (&box->needs.list, key)
            (void)secret_cache_want(vault->cache, *key, UINT64_MAX);
    }
    secret_cache_end_sweep(vault->cache);
}

static void on_sealed(struct chore *chore)
{
    struct batch *batch = container_of(chore, struct batch, chore);
    struct vault *vault = batch->vault;

    for (size_t i = 0; i < batch->count; i++) {
        if (!vault->is_gone && lease_is_held(vault->options.lease))
            write_item(vault, &batch->items[i]);
        else if (!vault->is_gone) /* it may be ours again */
            get_box(vault, str_from(batch->items[i].peel))->is_due = true;
        free(batch->items[i].problem);
    }
    settings_tree_drop(batch->tree);
    arena_done(&batch->arena);
    free(batch);
    vault->is_sealing = false;
    if (!came_back(vault))
        return;
    advance(vault);
    if (!vault->is_sealing && !vault->is_reading)
        sweep_cache(vault);
}

static void add_item(struct batch *batch, struct box *box)
{
    const struct master *master = batch->vault->options.master;
    const struct str peel = str_from(box->peel);
    const struct value *facts = roster_facts(master_roster(master), peel);
    const char *key = census_curve_key(master_find(master, &census_service), peel);

    box->is_due = false;
    batch->items[batch->count++] = (struct item){
        .peel = box->peel,
        .key = facts && key && settings_tree_secrets(batch->tree) ? arena_strdup(&batch->arena, key)
                                                                  : NULL,
        .facts = facts ? value_copy(&batch->arena, facts) : value_null(),
    };
}

static void begin_batch(struct vault *vault)
{
    struct batch *batch = mem_zalloc(sizeof(*batch));

    batch->vault = vault;
    batch->tree = vault->tree;
    MAP_EACH (&vault->boxes, entry) {
        struct box *box = entry->value;

        if (box->is_due && batch->count < BATCH)
            add_item(batch, box);
    }
    if (batch->count == 0) {
        free(batch);
        return;
    }
    batch->tree = settings_tree_hold(vault->tree);
    vault->is_sealing = true;
    vault->under_way++;
    chore_begin(vault->options.chores, &batch->chore, seal_batch, on_sealed);
}

/* --- the tree ------------------------------------------------------------------------- */

struct reading {
    struct chore chore;
    struct vault *vault;
    struct settings_tree *tree; /* NULL: failed */
    struct err err;
};

static void read_tree(struct chore *chore)
{
    struct reading *reading = container_of(chore, struct reading, chore);

    reading->tree = settings_tree_read(reading->vault->folder, &reading->err);
}

static void mark_all_due(struct vault *vault)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param_strs peels;
    struct err err;

    if (roster_resolve(master_roster(vault->options.master), &arena,
                       &(struct roster_question){ .expr = "*", .type = "" }, &peels, &err) == 0)
        for (size_t i = 0; i < peels.n; i++)
            (void)get_box(vault, str_from(peels.p[i]));
    MAP_EACH (&vault->boxes, entry)
        ((struct box *)entry->value)->is_due = true;
}

static void on_tree(struct chore *chore)
{
    struct reading *reading = container_of(chore, struct reading, chore);
    struct vault *vault = reading->vault;

    vault->is_reading = false;
    if (!reading->tree)
        log_error("the tree of settings cannot be read error=%s", reading->err.text);
    else if (!vault->is_gone && !settings_tree_equal(vault->tree, reading->tree)) {
        settings_tree_drop(vault->tree);
        vault->tree = settings_tree_hold(reading->tree);
        mark_all_due(vault);
    }
    settings_tree_drop(reading->tree);
    free(reading);
    if (came_back(vault))
        advance(vault);
}

static void begin_reading(struct vault *vault)
{
    struct reading *reading = mem_zalloc(sizeof(*reading));

    reading->vault = vault;
    vault->is_reading = true;
    vault->is_read_again = false;
    vault->under_way++;
    chore_begin(vault->options.chores, &reading->chore, read_tree, on_tree);
}

/* --- what is next --------------------------------------------------------------------- */

/* Without all facts and enrollments a peel would lose its secrets. */
static bool is_ready(const struct vault *vault)
{
    const struct master *master = vault->options.master;

    return vault->is_caught_up && master_roster(master) &&
           roster_is_seeded(master_roster(master)) &&
           census_is_complete(master_find(master, &census_service));
}

static void advance(struct vault *vault)
{
    if (!lease_is_held(vault->options.lease) || vault->is_sealing || vault->is_reading)
        return;
    if (!is_ready(vault)) {
        retry_later(vault);
        return;
    }
    write_key(vault);
    if (vault->is_read_again || !vault->tree)
        begin_reading(vault);
    else
        begin_batch(vault);
}

void vault_reload(struct vault *vault)
{
    vault->is_read_again = true;
    advance(vault);
}

static void touch_peel(struct vault *vault, struct str peel)
{
    get_box(vault, peel)->is_due = true;
    if (vault->tree)
        advance(vault);
}

static void on_enrollment(struct census_listener *listener, const struct enrollment *record)
{
    touch_peel(container_of(listener, struct vault, enrollments), str_from(record->peel_id));
}

static void on_facts(struct roster_listener *listener, struct str peel)
{
    touch_peel(container_of(listener, struct vault, facts), peel);
}

/* Those that use the value. */
static void on_secret(void *self, struct str key)
{
    struct vault *vault = self;

    MAP_EACH (&vault->boxes, entry) {
        struct box *box = entry->value;

        VEC_EACH (&box->needs.list, need)
            box->is_due |= str_is(key, *need);
    }
    if (vault->tree)
        advance(vault);
}

void vault_configure(struct vault *vault)
{
    secret_cache_configure(vault->cache, vault->options.master->conf.secret_backends);
}

void vault_yield(struct vault *vault)
{
    secret_cache_clear(vault->cache);
    MAP_EACH (&vault->boxes, entry) {
        struct box *box = entry->value;

        box->is_due |= box->needs.list.n > 0;
        clear_needs(box);
    }
}

bool vault_is_failing(const struct vault *vault, char *ret_text, size_t size)
{
    return secret_cache_is_failing(vault->cache, ret_text, size);
}

/* --- for operators -------------------------------------------------------------------- */

struct viewing {
    struct chore chore;
    struct vault *vault;
    struct settings_tree *tree;
    struct arena arena;
    struct item item;
    struct value settings;
    vault_show_fn *fn;
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

/* Values that are marked, and texts that were made from them. */
static void hide_values(struct arena *arena, const struct settings_view *view, struct value *v)
{
    struct secrets *secrets = secrets_new();

    VEC_EACH (&view->secrets, secret)
        secrets_add(secrets, secret->text);
    secrets_add_marked(secrets, v);
    hide_marked(v);
    secrets_mask_value(secrets, arena, v);
    secrets_free(secrets);
}

static void make_view(struct chore *chore)
{
    struct viewing *viewing = container_of(chore, struct viewing, chore);
    struct settings_view view = { 0 };
    struct err err;

    if (!viewing->tree)
        viewing->tree = settings_tree_read(viewing->vault->folder, &err);
    if (!viewing->tree) {
        viewing->item.problem = mem_strdup(err.text);
        return;
    }
    secret_needs_init(&viewing->item.needs, viewing->vault->cache, &viewing->arena);
    if (resolve_item(viewing->tree, &viewing->arena, &viewing->item, &view, &err) < 0) {
        viewing->item.problem = hide_secrets(&view, err.text);
        return;
    }
    viewing->settings = value_copy(&viewing->arena, view.settings);
    hide_values(&viewing->arena, &view, &viewing->settings);
}

static void on_view(struct chore *chore)
{
    struct viewing *viewing = container_of(chore, struct viewing, chore);
    struct vault *vault = viewing->vault;

    if (viewing->item.problem)
        viewing->fn(viewing->self, NULL, viewing->item.problem);
    else
        viewing->fn(viewing->self, &viewing->settings, "");
    free(viewing->item.problem);
    settings_tree_drop(viewing->tree);
    arena_done(&viewing->arena);
    free(viewing);
    (void)came_back(vault);
}

void vault_show(struct vault *vault, const char *peel, vault_show_fn *fn, void *self)
{
    const struct value *facts = roster_facts(master_roster(vault->options.master), str_from(peel));
    struct viewing *viewing;

    if (!facts) {
        fn(self, NULL, "no facts of this peel are known");
        return;
    }
    viewing = mem_zalloc(sizeof(*viewing));
    viewing->vault = vault;
    viewing->fn = fn;
    viewing->self = self;
    viewing->item.peel = arena_strdup(&viewing->arena, peel);
    viewing->item.facts = value_copy(&viewing->arena, facts);
    vault->under_way++;
    chore_begin(vault->options.chores, &viewing->chore, make_view, on_view);
}

/* --- life ----------------------------------------------------------------------------- */

struct vault *vault_new(const struct vault_options *options, struct err *err)
{
    const struct authority *authority = master_find(options->master, &authority_service);
    struct vault *vault = mem_zalloc(sizeof(*vault));
    struct nats_xkey key;

    vault->options = *options;
    vault->folder = mem_strdup(options->folder);
    vault->kv = (struct nats_kv){ .js = options->master->js,
                                  .bucket = store_bucket_name(STORE_SECRETS),
                                  .history = store_bucket_history(STORE_SECRETS) };
    vault->account = authority->account;
    nats_xkey_of(&vault->account, &key);
    nats_xkey_print(&key, vault->key);
    vault->cache =
        secret_cache_new(&(struct secret_cache_options){ .loop = options->master->loop,
                                                         .chores = options->fetchers,
                                                         .metrics = options->master->metrics,
                                                         .changed = on_secret,
                                                         .self = vault },
                         err);
    if (!vault->cache) {
        vault_free(vault);
        return NULL;
    }
    vault_configure(vault);
    vault->watch = nats_kv_watch_new(&vault->kv,
                                     &(struct nats_kv_watch_options){ .entry = on_entry,
                                                                      .caught_up = on_caught_up,
                                                                      .failed = on_watch_failed,
                                                                      .self = vault },
                                     err);
    if (!vault->watch) {
        vault_free(vault);
        return NULL;
    }
    vault->enrollments.changed = on_enrollment;
    census_listen(master_find(options->master, &census_service), &vault->enrollments);
    vault->facts.changed = on_facts;
    master_roster_listen(options->master, &vault->facts);
    return vault;
}

static void free_box(struct box *box)
{
    clear_needs(box);
    vec_done(&box->needs.list);
    free(box);
}

void vault_free(struct vault *vault)
{
    if (!vault)
        return;
    if (!vault->is_gone) {
        vault->is_gone = true;
        secret_cache_stop(vault->cache);
        nats_kv_watch_free(vault->watch);
        timer_clear(loop_timers(vault->options.master->loop), &vault->retry);
        census_forget(master_find(vault->options.master, &census_service), &vault->enrollments);
        master_roster_forget(vault->options.master, &vault->facts);
    }
    if (vault->under_way > 0)
        return; /* the last that comes back frees it */
    secret_cache_free(vault->cache);
    MAP_EACH (&vault->boxes, entry)
        free_box(entry->value);
    map_done(&vault->boxes);
    settings_tree_drop(vault->tree);
    nats_nkey_done(&vault->account);
    free(vault->folder);
    free(vault);
}

#include "fleet/peel/peel_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "core/data/frame.h"
#include "core/data/msgpack.h"
#include "core/data/record.h"
#include "states/facts/facts.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/xkey.h"
#include "fleet/peel/basket.h"
#include "fleet/peel/snapshot.h"
#include "states/settings/seal.h"
#include "states/settings/settings.h"
#include "states/state/secrets.h"
#include "core/sys/cancel.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "fleet/wire/liveness.h"

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_MODE    0600
#define SNAPSHOT_MAX     ((size_t)32 << 20)
#define RETRY_NS         (INT64_C(5) * 1000000000)

/* Entries of the bucket of secrets: those of the machine, and who sealed them. */
enum secret_key { SECRET_MINE, SECRET_SENDER };
#define SECRET_KEYS (SECRET_SENDER + 1)

/* One resolution, in a worker. */
struct round {
    struct background_task background_task;
    struct peel_settings *peel_settings;
    struct snapshot *facts, *result;
    struct arena arena;
    struct str secrets[SECRET_KEYS]; /* as they were received */
    struct value sealed;             /* a map; null: none */
    struct nats_xkey sender;
    struct secrets *opened;
    bool has_sender, lacks_secret;
    bool has_asked; /* what other machines share */
    char *problem;
    char tree[LIVENESS_TREE_SIZE]; /* the files */
};

struct peel_settings {
    struct peel_settings_options options;
    struct arena arena;
    struct background_tasks background_tasks;
    struct nats_js js;
    struct nats_sub *news[SECRET_KEYS];
    struct buf secrets[SECRET_KEYS];
    uint64_t generation;
    struct snapshot *current; /* NULL: not known */
    struct timer retry, again;
    struct cancel cancel; /* of what the worker asks */
    char *problem;        /* that was logged */
    char tree[LIVENESS_TREE_SIZE], refused[LIVENESS_TREE_SIZE];
    bool is_busy, is_asked_again, may_resolve;
};

/* --- secrets ---------------------------------------------------------------------- */

/* The plain text of a sealed value, in the arena of the round. */
static int open_sealed_value(void *self, struct str name, struct str *ret, struct err *err)
{
    struct round *round = self;
    const struct value *sealed = value_get_str(&round->sealed, name);
    AUTO_BUF struct buf box = BUF_INIT(SNAPSHOT_MAX), text = BUF_INIT(SNAPSHOT_MAX);
    struct str body;
    const bool was_lacking = round->lacks_secret;
    int result;

    round->lacks_secret = true;
    if (!value_is(sealed, VALUE_STR) || !str_starts(sealed->s, STR(STORE_SEALED_BEGIN)) ||
        !str_ends(sealed->s, STR(STORE_SEALED_END)))
        return err_set(err, ERR_NOT_FOUND, "the secret '%.*s' is not sealed for this machine",
                       STR_ARG(name));
    if (!round->has_sender)
        return err_set(err, ERR_NOT_FOUND, "the key that secrets are sealed with is not known");
    body = str_slice(sealed->s, strlen(STORE_SEALED_BEGIN),
                     sealed->s.n - strlen(STORE_SEALED_BEGIN) - strlen(STORE_SEALED_END));
    if (base64_decode_strict(body, BASE64_STANDARD, &box, err) < 0 ||
        nats_xkey_open(round->peel_settings->options.key, &round->sender, buf_view(&box), &text,
                       err) < 0)
        return err_wrap(err, "secret '%.*s'", STR_ARG(name));
    round->lacks_secret = was_lacking;
    *ret = arena_str(&round->arena, buf_view(&text));
    secrets_add(round->opened, *ret);
    result = text.full ? err_set(err, ERR_LIMIT, "a secret is too large") : 0;
    ed25519_wipe(text.p, text.n);
    return result;
}

/* The documents go with the round. */
static void forget_places(struct value *v)
{
    v->source = NULL;
    v->line = 0;
    v->column = 0;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        forget_places(&v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++) {
        forget_places(&v->map->pairs[i].key);
        forget_places(&v->map->pairs[i].value);
    }
}

static void read_sealed_values(struct round *round)
{
    struct err ignored;

    round->sealed = value_map(value_map_new(&round->arena, 0));
    if (round->secrets[SECRET_MINE].n > 0 &&
        (msgpack_decode(&round->arena, round->secrets[SECRET_MINE], &round->sealed, &ignored) < 0 ||
         round->sealed.kind != VALUE_MAP))
        round->sealed = value_map(value_map_new(&round->arena, 0));
    if (!round->has_sender)
        round->has_sender =
            nats_xkey_parse(str_trim(round->secrets[SECRET_SENDER]), &round->sender, &ignored) == 0;
}

/* --- resolving -------------------------------------------------------------------- */

static void fail_settings_round(struct round *round, const char *text)
{
    round->problem = mem_strdup(text);
    snapshot_drop(round->result);
    round->result = NULL;
}

static int ask_settings_basket(void *user, const struct settings_shared *question,
                               struct arena *arena, struct value *ret, struct err *err)
{
    struct round *round = user;
    const struct peel_settings *peel_settings = round->peel_settings;

    round->has_asked = true;
    return peel_settings->options.ask(peel_settings->options.self,
                                      &(struct basket_question){ .target = question->target,
                                                                 .type = question->type,
                                                                 .name = question->name,
                                                                 .scope = question->scope,
                                                                 .cancel = &peel_settings->cancel },
                                      arena, ret, err);
}

static void hide_marked(void *user, const struct value *doc)
{
    secrets_add_marked(((struct round *)user)->opened, doc);
}

static void resolve_settings(struct round *round)
{
    const struct peel_settings_options *options = &round->peel_settings->options;
    AUTO_BUF struct buf text = BUF_INIT((size_t)1 << 20);
    struct diags diags = DIAGS_INIT(&round->arena);
    const struct settings_options how = {
        .folder = options->folder,
        .grains = facts_grains(&round->arena, &round->facts->value),
        .subject = { .id = str_from(options->peel_id), .facts = &round->facts->value },
        .environment = facts_environment(&round->facts->value),
        .open_secret = open_sealed_value,
        .secret_user = round,
        .read = hide_marked,
        .read_user = round,
        .basket = options->ask ? ask_settings_basket : NULL,
        .basket_user = round,
        .strict_templates = true,
    };
    const struct value *settings;

    read_sealed_values(round);
    round->result = snapshot_new();
    if (settings_load(&round->arena, &how, &settings, &diags) < 0) {
        diags_print(&diags, &text);
        secrets_mask(round->opened, &text); /* a mistake may quote one */
        fail_settings_round(round, buf_text(&text));
        return;
    }
    round->result->value = value_copy(&round->result->arena, settings);
    forget_places(&round->result->value);
}

/* --- the snapshot on disk --------------------------------------------------------- */

struct kept {
    struct value settings;
    struct param_strs secrets; /* texts in it that are never shown */
};

static const struct record_field kept_fields[] = {
    RECORD("settings", MAP, struct kept, settings, RECORD_REQUIRED),
    RECORD("secrets", TEXTS, struct kept, secrets, 0),
    { 0 },
};
static const struct record_type kept_type = RECORD_TYPE("settings", struct kept, kept_fields, 0);

static const char *snapshot_path(struct arena *arena, const struct peel_settings *peel_settings)
{
    return path_join(arena, peel_settings->options.data_dir, PEEL_SETTINGS_SNAPSHOT);
}

static void keep_settings_snapshot(struct round *round)
{
    const struct fs_replace_options options = { .attr = { SNAPSHOT_MODE, FS_KEEP, FS_KEEP } };
    struct kept kept = { .settings = round->result->value };
    AUTO_BUF struct buf bytes = BUF_INIT(SNAPSHOT_MAX);
    struct err err;

    kept.secrets = seal_texts(&round->arena, &round->result->value);
    if (record_append(&bytes, &kept_type, &kept, SNAPSHOT_VERSION, 0, &err) < 0 ||
        fs_keep(snapshot_path(&round->arena, round->peel_settings), buf_view(&bytes), &options,
                &err) < 0)
        log_warning("settings are not kept for the next start error=%s", err.text);
    if (bytes.p)
        ed25519_wipe(bytes.p, bytes.n);
}

int peel_settings_read(struct arena *arena, const char *data_dir, struct value *ret,
                       bool *ret_is_there, struct err *err)
{
    const char *path = path_join(arena, data_dir, PEEL_SETTINGS_SNAPSHOT);
    struct frame_scan scan = { 0 };
    struct kept kept = { 0 };
    struct frame frame;

    *ret_is_there = false;
    if (fs_read(arena, path, SNAPSHOT_MAX, &scan.bytes, err) < 0)
        return -1;
    if (!scan.bytes.p)
        return 0;
    if (frame_next(&scan, &frame) != FRAME_WHOLE)
        return err_set(err, ERR_INVALID, "'%s' is damaged", path);
    if (record_decode(arena, &kept_type, frame.version, frame.payload, &kept, err) < 0)
        return err_wrap(err, "'%s'", path);
    *ret = kept.settings;
    seal_restore(ret, &kept.secrets);
    *ret_is_there = true;
    return 0;
}

static void load_snapshot(struct peel_settings *peel_settings)
{
    struct snapshot *snapshot = snapshot_new();
    bool is_there;
    struct err err;

    if (peel_settings_read(&snapshot->arena, peel_settings->options.data_dir, &snapshot->value,
                           &is_there, &err) < 0 ||
        !is_there) {
        snapshot_drop(snapshot);
        return;
    }
    peel_settings->current = snapshot;
    log_info("settings of the last run are used until there are newer ones");
}

/* --- rounds ----------------------------------------------------------------------- */

static void begin_settings_round(struct peel_settings *peel_settings);

static void run_settings_round(struct background_task *background_task)
{
    struct round *round = container_of(background_task, struct round, background_task);

    round->opened = secrets_new();
    resolve_settings(round);
    secrets_free(round->opened);
    if (round->result)
        keep_settings_snapshot(round);
}

/* Secrets come after the files that need them. */
static void report_settings_problem(struct peel_settings *peel_settings, char *problem,
                                    bool lacks_secret)
{
    if (problem && (!peel_settings->problem || strcmp(peel_settings->problem, problem) != 0)) {
        if (lacks_secret)
            log_warning("settings need a secret, keeping the last ones error=%s", problem);
        else
            log_error("cannot resolve settings, keeping the last ones error=%s", problem);
    }
    free(peel_settings->problem);
    peel_settings->problem = problem;
}

/* Baskets of other peels are not watched, but polled. */
static void on_settings_due(struct timer *timer)
{
    begin_settings_round(container_of(timer, struct peel_settings, again));
}

static bool is_refusal(const struct round *round)
{
    return round->problem && !round->lacks_secret && !round->has_asked;
}

static void on_settings_done(struct background_task *background_task)
{
    struct round *round = container_of(background_task, struct round, background_task);
    struct peel_settings *peel_settings = round->peel_settings;
    bool changed = false;

    peel_settings->is_busy = false;
    if (round->has_asked && peel_settings->may_resolve)
        timer_set(loop_timers(peel_settings->options.loop), &peel_settings->again,
                  clock_after(clock_now(), round->result ? PEEL_SETTINGS_AGAIN : RETRY_NS),
                  on_settings_due);
    report_settings_problem(peel_settings, round->problem, round->lacks_secret);
    (void)snprintf(peel_settings->refused, sizeof(peel_settings->refused), "%s",
                   is_refusal(round) ? round->tree : "");
    if (round->result) {
        changed = !peel_settings->current ||
                  !value_equal(&peel_settings->current->value, &round->result->value);
        snapshot_drop(peel_settings->current);
        peel_settings->current = round->result;
        memcpy(peel_settings->tree, round->tree, sizeof(round->tree));
    }
    snapshot_drop(round->facts);
    arena_done(&round->arena);
    free(round);
    if (changed)
        peel_settings->options.changed(peel_settings->options.self);
    if (peel_settings->is_asked_again)
        begin_settings_round(peel_settings);
    if (!peel_settings->is_busy)
        peel_settings->options.ended(peel_settings->options.self);
}

/* Not a key that a server offers, when we know better. */
static void choose_sender(struct round *round)
{
    const struct peel_settings_options *options = &round->peel_settings->options;
    const struct nats_xkey *sealer = options->sealer ? options->sealer(options->self) : NULL;

    round->has_sender = sealer != NULL;
    if (sealer)
        round->sender = *sealer;
}

static void begin_settings_round(struct peel_settings *peel_settings)
{
    struct round *round;

    peel_settings->is_asked_again = peel_settings->is_busy;
    if (peel_settings->is_busy || !peel_settings->may_resolve)
        return;
    round = mem_zalloc(sizeof(*round));
    round->peel_settings = peel_settings;
    round->facts = peel_settings->options.facts(peel_settings->options.self);
    (void)snprintf(round->tree, sizeof(round->tree), "%s",
                   peel_settings->options.tree(peel_settings->options.self));
    choose_sender(round);
    for (size_t i = 0; i < SECRET_KEYS; i++)
        round->secrets[i] = arena_str(&round->arena, buf_view(&peel_settings->secrets[i]));
    peel_settings->is_busy = true;
    background_task_begin(&peel_settings->background_tasks, &round->background_task,
                          run_settings_round, on_settings_done);
}

bool peel_settings_is_busy(const struct peel_settings *peel_settings)
{
    return peel_settings->is_busy;
}

void peel_settings_refresh(struct peel_settings *peel_settings)
{
    peel_settings->may_resolve = true;
    begin_settings_round(peel_settings);
}

/* --- the bucket of secrets -------------------------------------------------------- */

/* One question; it outlives its connection by its last callback. */
struct question {
    struct peel_settings *peel_settings;
    enum secret_key key;
    uint64_t generation;
};

static const char *secret_key(const struct peel_settings *peel_settings, enum secret_key key)
{
    return key == SECRET_MINE ? peel_settings->options.peel_id : STORE_CURVE_KEY;
}

static void ask_secrets(struct peel_settings *peel_settings);

static void on_settings_retry(struct timer *timer)
{
    ask_secrets(container_of(timer, struct peel_settings, retry));
}

static void retry_settings_later(struct peel_settings *peel_settings)
{
    timer_set(loop_timers(peel_settings->options.loop), &peel_settings->retry,
              clock_after(clock_now(), RETRY_NS), on_settings_retry);
}

static void on_settings_secret(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    struct question *question = self;
    struct peel_settings *peel_settings = question->peel_settings;
    const struct str value = error ? STR("") : entry->value;
    const bool is_answer = !error || error->fault == NATS_FAULT_NOT_FOUND;

    if (error && error->fault == NATS_FAULT_CANCELED) {
        free(question); /* the peel settings may be gone */
        return;
    }
    if (question->generation == peel_settings->generation) {
        if (!is_answer)
            retry_settings_later(peel_settings);
        else if (!str_eq(buf_view(&peel_settings->secrets[question->key]), value)) {
            buf_clear(&peel_settings->secrets[question->key]);
            buf_add_str(&peel_settings->secrets[question->key], value);
            begin_settings_round(peel_settings);
        }
    }
    free(question);
}

static void ask_secrets(struct peel_settings *peel_settings)
{
    const struct nats_kv kv = { .js = peel_settings->js,
                                .bucket = store_bucket_name(STORE_SECRETS) };

    for (size_t i = 0; peel_settings->js.conn && i < SECRET_KEYS; i++) {
        struct question *question = mem_zalloc(sizeof(*question));
        struct err err;

        *question =
            (struct question){ peel_settings, (enum secret_key)i, peel_settings->generation };
        if (nats_kv_get(&kv, secret_key(peel_settings, (enum secret_key)i), on_settings_secret,
                        question, &err) < 0) {
            free(question);
            retry_settings_later(peel_settings);
        }
    }
}

static void on_settings_news(void *self, const struct nats_msg *msg)
{
    (void)msg;
    ask_secrets(self);
}

void peel_settings_connect(struct peel_settings *peel_settings, const struct nats_js *js)
{
    const bool is_same = js && peel_settings->js.conn == js->conn;

    if (!is_same) {
        peel_settings->generation++;
        peel_settings->js = js ? *js : (struct nats_js){ 0 };
        for (size_t i = 0; i < SECRET_KEYS; i++) {
            struct err err;

            nats_sub_free(peel_settings->news[i]);
            peel_settings->news[i] = NULL;
            if (js)
                peel_settings->news[i] = nats_sub_new(
                    js->conn,
                    &(struct nats_sub_options){
                        .subject = arena_printf(&peel_settings->arena, "$KV.%s.%s",
                                                store_bucket_name(STORE_SECRETS),
                                                secret_key(peel_settings, (enum secret_key)i)),
                        .message = on_settings_news,
                        .self = peel_settings },
                    &err);
        }
    }
    ask_secrets(peel_settings);
}

/* --- life ------------------------------------------------------------------------- */

struct peel_settings *peel_settings_new(const struct peel_settings_options *options,
                                        struct err *err)
{
    struct peel_settings *peel_settings = mem_zalloc(sizeof(*peel_settings));

    peel_settings->options = *options;
    for (size_t i = 0; i < SECRET_KEYS; i++)
        peel_settings->secrets[i].max = SNAPSHOT_MAX;
    if (cancel_init(&peel_settings->cancel, err) < 0) {
        free(peel_settings);
        return NULL;
    }
    if (background_tasks_open_workers(&peel_settings->background_tasks, options->loop, 1, err) <
        0) {
        peel_settings_free(peel_settings);
        return NULL;
    }
    load_snapshot(peel_settings);
    return peel_settings;
}

void peel_settings_free(struct peel_settings *peel_settings)
{
    if (!peel_settings)
        return;
    peel_settings->is_asked_again = false;
    peel_settings->may_resolve = false;
    cancel_raise(&peel_settings->cancel);
    background_tasks_close(&peel_settings->background_tasks);
    cancel_done(&peel_settings->cancel);
    timer_clear(loop_timers(peel_settings->options.loop), &peel_settings->retry);
    timer_clear(loop_timers(peel_settings->options.loop), &peel_settings->again);
    for (size_t i = 0; i < SECRET_KEYS; i++) {
        nats_sub_free(peel_settings->news[i]);
        buf_done(&peel_settings->secrets[i]);
    }
    snapshot_drop(peel_settings->current);
    free(peel_settings->problem);
    arena_done(&peel_settings->arena);
    free(peel_settings);
}

struct snapshot *peel_settings_hold(const struct peel_settings *peel_settings)
{
    return peel_settings->current ? snapshot_hold(peel_settings->current) : NULL;
}

const char *peel_settings_tree(const struct peel_settings *peel_settings)
{
    return peel_settings->tree;
}

const char *peel_settings_refused(const struct peel_settings *peel_settings)
{
    return peel_settings->refused;
}

const char *peel_settings_problem(const struct peel_settings *peel_settings)
{
    return peel_settings->problem ? peel_settings->problem : "";
}

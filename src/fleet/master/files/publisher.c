#include "fleet/master/files/publisher.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "fleet/master/lease.h"
#include "fleet/master/files/round_queue.h"
#include "fleet/master/files/tree_canary.h"
#include "fleet/master/files/tree_keys.h"
#include "fleet/master/files/tree_history.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/master/files/tree_signer.h"
#include "fleet/master/files/tree_sums.h"
#include "fleet/master/files/tree_write.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/background_task.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/liveness.h"

/* Maximum concurrent writes. */
#define WINDOW 32

enum step {
    STEP_IDLE,
    STEP_READING,
    STEP_CHECKING,
    STEP_WRITING,
    STEP_PRUNING,
    STEP_MANIFEST,
    STEP_SIGNATURE,
    STEP_REVISION,
    STEP_RECORDING
};

struct publisher {
    struct publisher_options options;
    char *folder;
    struct tree_write_place place;
    struct nats_kv_watch *watch;
    bool is_caught_up, is_wanted, is_gone, is_diverted, is_answering;
    unsigned pauses;
    struct tree_keys keys;
    struct tree_signer signer;
    uint64_t number;                   /* of the last change */
    uint64_t canary;                   /* the revision of its set */
    char trees[2][LIVENESS_TREE_SIZE]; /* names of what is published: for all, and the canary */
    struct str manifest, plain;        /* of the round, as published now, and for all */

    /* last sum recorded during the current lease */
    char recorded[SHA256_HEX_SIZE];
    int64_t recorded_since;
    uint64_t revision;

    /* the round */
    struct background_task background_task;
    enum step step;
    struct arena arena;
    struct tree_set set, sent; /* as in the folder, and as published */
    struct tree_sums sums;     /* of the worker while it reads */
    struct err err;
    bool has_failed, has_written, was_read, is_canary, is_new, is_refused;
    struct round_wishes wishes;   /* the cause is that below */
    struct publisher_cause cause; /* a copy: the caller may be gone before the recording ends */
    bool is_begun;                /* of a step with a single write */
    size_t next, pending;
    struct tree_canary_removed removed;
    struct round_queue queue;
};

static void advance_publisher(struct publisher *publisher);
static void begin_publisher_round(struct publisher *publisher);
static void begin_folder_reading(struct publisher *publisher);

/* --- the bucket --------------------------------------------------------------------- */

static void report_tree_news(const struct publisher *publisher)
{
    if (publisher->options.news)
        publisher->options.news(publisher->options.self);
}

static void name_tree(struct publisher *publisher, struct str manifest, bool of_canary)
{
    const struct publisher_options *options = &publisher->options;

    publisher->trees[of_canary][0] = '\0';
    if (manifest.p)
        liveness_name_tree(manifest, publisher->trees[of_canary]);
    if (options->tree)
        options->tree(options->self, of_canary);
}

static void note_special(struct publisher *publisher, const struct nats_kv_entry *entry)
{
    const struct publisher_options *options = &publisher->options;
    const bool is_there = entry->change == NATS_KV_PUT;

    if (str_is(entry->key, CANARY_MANIFEST))
        publisher->canary = is_there ? tree_canary_revision(entry->value) : 0;
    if (str_is(entry->key, CANARY_MANIFEST) || str_is(entry->key, FILESET_MANIFEST))
        name_tree(publisher, is_there ? entry->value : (struct str){ NULL, 0 },
                  str_is(entry->key, CANARY_MANIFEST));
    if (str_is(entry->key, CANARY_RECORD) && options->canary)
        options->canary(options->self, is_there ? entry->value : (struct str){ NULL, 0 },
                        entry->revision);
}

static void on_published_entry(void *self, const struct nats_kv_entry *entry)
{
    struct publisher *publisher = self;

    note_special(publisher, entry);
    if (entry->change != NATS_KV_PUT) {
        tree_keys_remove(&publisher->keys, entry->key, entry->revision);
        tree_signer_note(&publisher->signer, entry->key, (struct str){ NULL, 0 }, entry->revision);
        return;
    }
    tree_keys_put(&publisher->keys, entry->key, entry->value, entry->revision);
    tree_signer_note(&publisher->signer, entry->key, entry->value, entry->revision);
    if (!str_eq(entry->key, STR(FILESET_REVISION)))
        return;
    publisher->number = tree_keys_read_number(entry->value);
    if (publisher->is_caught_up)
        report_tree_news(publisher);
}

static void on_tree_caught_up(void *self)
{
    struct publisher *publisher = self;

    publisher->is_caught_up = true;
    if (publisher->is_wanted)
        begin_publisher_round(publisher);
    report_tree_news(publisher);
}

static void on_tree_watch_failed(void *self, const struct nats_error *error)
{
    struct publisher *publisher = self;

    if (error->fault != NATS_FAULT_CANCELED)
        log_error("watching %s: %s", publisher->place.kv.bucket, error->text);
}

/* --- the end of a round ------------------------------------------------------------- */

static void fail_publisher_round(struct publisher *publisher, const char *text)
{
    if (!publisher->has_failed)
        (void)err_set(&publisher->err, ERR_SYSTEM, "%s", text);
    publisher->has_failed = true;
}

/* A canary is recorded only when it ends. */
static bool is_unrecorded(const struct publisher *publisher)
{
    return publisher->wishes.only_tells || (publisher->is_canary && !publisher->wishes.cause);
}

static void finish_publisher_round(struct publisher *publisher)
{
    struct publisher_outcome outcome = {
        .files = publisher->set.files.n,
        .read = publisher->set.read,
        .changed = publisher->has_written,
        .is_new = publisher->is_new,
        .error = publisher->has_failed ? publisher->err.text : "",
        .manifest = publisher->has_failed ? STR("") : publisher->manifest,
        .revision = publisher->has_failed || is_unrecorded(publisher) ? 0 : publisher->revision,
        .sum = "",
    };
    char sum[SHA256_HEX_SIZE];

    if (outcome.manifest.n) {
        name_tree(publisher, publisher->manifest, publisher->is_canary);
        sha256_hex(publisher->plain.p, publisher->plain.n, sum);
        outcome.sum = sum;
    }
    publisher->step = STEP_IDLE;
    VEC_EACH (&publisher->set.refused, text)
        log_error("skipped a file of the %s: %s", publisher->options.kind->name, *text);
    if (publisher->set.refused.n && !publisher->has_failed)
        outcome.error = publisher->set.refused.p[0];
    if (publisher->has_failed && !publisher->is_refused)
        log_error("publishing %s: %s", publisher->options.kind->name, publisher->err.text);
    else if (!publisher->has_failed && publisher->has_written && !publisher->wishes.only_tells)
        log_info("published %s: %zu files, revision %" PRIu64 "%s", publisher->options.kind->name,
                 outcome.files, publisher->number, publisher->is_canary ? " (canary)" : "");
    publisher->is_answering = true;
    if (round_queue_answer(&publisher->queue, &outcome))
        publisher->is_wanted = true;
    publisher->is_answering = false;
    if (publisher->is_wanted)
        begin_publisher_round(publisher);
}

/* A write has ended. False: the publisher is gone. */
static bool end_publisher_write(struct publisher *publisher, const char *error)
{
    publisher->pending--;
    if (error)
        fail_publisher_round(publisher, error);
    if (!publisher->is_gone)
        return true;
    if (publisher->pending == 0)
        publisher_free(publisher);
    return false;
}

/* --- writing ------------------------------------------------------------------------ */

static void on_tree_file_written(void *self, const struct tree_set_file *file, const char *error,
                                 uint64_t revision)
{
    struct publisher *publisher = self;

    if (!error && !publisher->is_gone && !file->is_large)
        tree_keys_put(&publisher->keys, str_from(file->key), file->bytes, revision);
    if (end_publisher_write(publisher, error))
        advance_publisher(publisher);
}

static void begin_file_write(struct publisher *publisher, const struct tree_set_file *file)
{
    struct err err;

    if (tree_write_begin(&publisher->place, file, on_tree_file_written, publisher, &err) < 0) {
        fail_publisher_round(publisher, err.text);
        return;
    }
    publisher->pending++;
    publisher->has_written = publisher->has_written || !file->is_large;
}

/* For a small file. A canary never changes the general set. */
static bool is_write_needed(const struct publisher *publisher, const struct tree_set_file *file)
{
    if (publisher->wishes.is_forced &&
        (!publisher->is_canary || tree_canary_is_file(str_from(file->key))))
        return true;
    return !tree_keys_has(&publisher->keys, file->key, file->sha256);
}

static void write_changed_files(struct publisher *publisher)
{
    while (publisher->next < publisher->sent.files.n && publisher->pending < WINDOW &&
           !publisher->has_failed) {
        const struct tree_set_file *file = &publisher->sent.files.p[publisher->next++];

        if (file->is_large || is_write_needed(publisher, file))
            begin_file_write(publisher, file);
    }
}

static void on_removed_file_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    struct publisher *publisher = self;

    (void)revision;
    if (end_publisher_write(publisher, error ? error->text : NULL))
        advance_publisher(publisher);
}

static void prune_removed_files(struct publisher *publisher)
{
    struct err err;

    while (publisher->removed.list.n && publisher->pending < WINDOW && !publisher->has_failed) {
        const char *key = publisher->removed.list.p[--publisher->removed.list.n];

        if (nats_kv_purge(&publisher->place.kv, key, 0, on_removed_file_purged, publisher, &err) <
            0) {
            fail_publisher_round(publisher, err.text);
            return;
        }
        tree_keys_remove(&publisher->keys, str_from(key),
                         tree_keys_revision(&publisher->keys, key));
        publisher->pending++;
        publisher->has_written = publisher->has_written || key[0] != '_';
    }
}

/* --- manifest and number ------------------------------------------------------------ */

struct record_write {
    struct publisher *publisher;
    const char *key;
    struct str value;
};

static void on_publisher_record_put(void *self, const struct nats_error *error, uint64_t revision)
{
    struct record_write *write = self; /* in the arena of the round */
    struct publisher *publisher = write->publisher;

    if (!error && !publisher->is_gone) {
        tree_keys_put(&publisher->keys, str_from(write->key), write->value, revision);
        tree_signer_note(&publisher->signer, str_from(write->key), write->value, revision);
        publisher->has_written = true;
    }
    if (end_publisher_write(publisher, error ? error->text : NULL))
        advance_publisher(publisher);
}

static void put_publisher_record(struct publisher *publisher, const char *key, struct str value)
{
    struct record_write *write = ARENA_NEW(&publisher->arena, struct record_write);
    uint64_t revision = tree_keys_revision(&publisher->keys, key);
    struct err err;
    int result;

    *write = (struct record_write){ publisher, key, value };
    result = revision ? nats_kv_update(&publisher->place.kv, key, value, revision,
                                       on_publisher_record_put, write, &err)
                      : nats_kv_create(&publisher->place.kv, key, value, on_publisher_record_put,
                                       write, &err);
    if (result == 0)
        publisher->pending++;
    else
        fail_publisher_round(publisher, err.text);
}

static const char *get_manifest_key(const struct publisher *publisher)
{
    return publisher->is_canary ? CANARY_MANIFEST : FILESET_MANIFEST;
}

static int make_manifest(struct publisher *publisher, const struct tree_set *set, struct str *ret,
                         struct err *err)
{
    return tree_set_manifest(&publisher->arena, set, publisher->options.kind->is_bare, ret, err);
}

/* Does the bucket have the manifest of the round? */
static bool has_manifest(const struct publisher *publisher)
{
    char sum[SHA256_HEX_SIZE];

    sha256_hex(publisher->manifest.p, publisher->manifest.n, sum);
    return tree_keys_has(&publisher->keys, get_manifest_key(publisher), sum);
}

/* A canary manifest also has its revision: the number written after it. */
static int renew_canary(struct publisher *publisher, struct err *err)
{
    if (!publisher->is_canary)
        return 0;
    publisher->canary = publisher->sent.canary = publisher->number + 1;
    return make_manifest(publisher, &publisher->sent, &publisher->manifest, err);
}

static void put_tree_manifest(struct publisher *publisher)
{
    struct err err;

    publisher->sent.canary = publisher->is_canary ? publisher->canary : 0;
    if (make_manifest(publisher, &publisher->sent, &publisher->manifest, &err) < 0 ||
        (publisher->is_canary &&
         make_manifest(publisher, &publisher->set, &publisher->plain, &err) < 0)) {
        fail_publisher_round(publisher, err.text);
        return;
    }
    if (!publisher->is_canary)
        publisher->plain = publisher->manifest;
    publisher->is_new = publisher->is_new || !has_manifest(publisher);
    if (has_manifest(publisher) && !publisher->has_written)
        return;
    if (renew_canary(publisher, &err) == 0)
        put_publisher_record(publisher, get_manifest_key(publisher), publisher->manifest);
    else
        fail_publisher_round(publisher, err.text);
}

/* A number later than the manifest tells readers that it is complete. */
static bool is_number_needed(const struct publisher *publisher)
{
    return publisher->has_written || publisher->wishes.must_tell ||
           tree_keys_revision(&publisher->keys, FILESET_REVISION) <=
               tree_keys_revision(&publisher->keys, get_manifest_key(publisher));
}

/* Also signs publications of a master that signs nothing. The general set is signed for its number,
 * so its first round after a canary, which raised the number, is later than the canary's. A canary
 * manifest contains its revision. */
static void put_tree_signature(struct publisher *publisher)
{
    const struct tree_signer *signer = &publisher->signer;
    char sum[SHA256_HEX_SIZE];
    struct tree_signer_tree tree = { .manifest = get_manifest_key(publisher),
                                     .sum = sum,
                                     .number = publisher->is_canary ? publisher->canary
                                                                    : publisher->number };

    sha256_hex(publisher->manifest.p, publisher->manifest.n, sum);
    if (!signer->account || ((publisher->is_canary || !is_number_needed(publisher)) &&
                             tree_signer_is_good(signer, &tree)))
        return;
    tree.number += !publisher->is_canary;
    put_publisher_record(publisher, signature_key(&publisher->arena, tree.manifest),
                         tree_signer_sign(signer, &publisher->arena, &tree));
}

static void write_number(struct publisher *publisher)
{
    if (!is_number_needed(publisher))
        return;
    publisher->number++;
    put_publisher_record(publisher, FILESET_REVISION,
                         str_from(arena_printf(&publisher->arena, "%" PRIu64, publisher->number)));
}

/* --- history ------------------------------------------------------------------------ */

/* The history lacks unchanged files that were not read: read all. */
static void reread_folder(struct publisher *publisher)
{
    tree_sums_forget(&publisher->sums);
    publisher->step = STEP_READING;
    begin_folder_reading(publisher);
}

static void on_history_recorded(void *self, const struct tree_history_result *result)
{
    struct publisher *publisher = self;

    if (!result->error && !publisher->is_gone) {
        publisher->revision = result->revision;
        publisher->recorded_since = publisher->options.lease->since;
        sha256_hex(publisher->plain.p, publisher->plain.n, publisher->recorded);
    } else if (result->error && !result->lacks_bytes) {
        log_warning("cannot record this revision of the %s: %s", publisher->options.kind->name,
                    result->error);
    }
    if (!end_publisher_write(publisher, NULL))
        return;
    if (result->lacks_bytes)
        reread_folder(publisher);
    else
        advance_publisher(publisher);
}

/* After the publication, since only publications are recorded; the next round makes up for an
 * aborted one. */
static void record_revision(struct publisher *publisher)
{
    const struct publisher_options *options = &publisher->options;
    char sum[SHA256_HEX_SIZE];
    struct err err;

    sha256_hex(publisher->plain.p, publisher->plain.n, sum);
    if (!options->kind->history || !options->keep || is_unrecorded(publisher) ||
        (strcmp(sum, publisher->recorded) == 0 &&
         publisher->recorded_since == options->lease->since))
        return;
    publisher->revision = 0;
    publisher->recorded[0] = '\0';
    if (tree_history_record(
            &(struct tree_history_now){ .js = options->js,
                                        .tree = options->kind->history,
                                        .master = options->master,
                                        .prefix = options->kind->prefix,
                                        .set = &publisher->set,
                                        .manifest = publisher->plain,
                                        .account = options->account,
                                        .number = publisher->number,
                                        .keep = *options->keep + publisher->is_canary,
                                        .by = publisher->cause.by,
                                        .restored = publisher->cause.restored,
                                        .note = publisher->cause.note },
            on_history_recorded, publisher, &err) == 0)
        publisher->pending++;
    else
        log_warning("cannot record this revision of the %s: %s", options->kind->name, err.text);
}

/* --- rounds ------------------------------------------------------------------------- */

/* The steps after reading, each when the one before it has nothing left under way. Those that
 * write one entry are done once. */
static const struct {
    void (*run)(struct publisher *publisher);
    bool is_single;
} steps[] = {
    [STEP_WRITING] = { write_changed_files, false },
    [STEP_PRUNING] = { prune_removed_files, false },
    [STEP_MANIFEST] = { put_tree_manifest, true },
    [STEP_SIGNATURE] = { put_tree_signature, true },
    [STEP_REVISION] = { write_number, true },
    [STEP_RECORDING] = { record_revision, true },
};

static void do_publisher_step(struct publisher *publisher)
{
    if (!publisher->is_begun || !steps[publisher->step].is_single)
        steps[publisher->step].run(publisher);
    publisher->is_begun = true;
}

static const enum step plain_order[] = { STEP_WRITING,  STEP_MANIFEST, STEP_SIGNATURE,
                                         STEP_REVISION, STEP_PRUNING,  STEP_RECORDING,
                                         STEP_IDLE };
static const enum step bare_order[] = { STEP_WRITING,   STEP_PRUNING,  STEP_MANIFEST,
                                        STEP_SIGNATURE, STEP_REVISION, STEP_IDLE };

static enum step next_step(const struct publisher *publisher)
{
    const enum step *order = publisher->options.kind->is_bare ? bare_order : plain_order;

    while (*order != publisher->step)
        order++;
    return order[1];
}

static bool is_done_with_step(const struct publisher *publisher)
{
    if (publisher->step == STEP_WRITING)
        return publisher->next == publisher->sent.files.n;
    return publisher->step != STEP_PRUNING || publisher->removed.list.n == 0;
}

static void advance_publisher(struct publisher *publisher)
{
    for (;;) {
        if (!lease_is_held(publisher->options.lease))
            fail_publisher_round(publisher, "this master no longer publishes");
        if (!publisher->has_failed)
            do_publisher_step(publisher);
        if (publisher->pending > 0)
            return;
        if (publisher->has_failed) {
            finish_publisher_round(publisher);
            return;
        }
        if (!is_done_with_step(publisher))
            continue;
        publisher->step = next_step(publisher);
        publisher->is_begun = false;
        if (publisher->step == STEP_IDLE) {
            finish_publisher_round(publisher);
            return;
        }
    }
}

/* Must an unread file be written, because the bucket has lost it? */
static bool lacks_published_bytes(const struct publisher *publisher)
{
    VEC_EACH (&publisher->sent.files, file)
        if (!file->is_large && !file->bytes.p && is_write_needed(publisher, file))
            return true;
    return false;
}

/* A refusal is reported by who checked. */
void publisher_go_on(struct publisher *publisher, const char *refusal)
{
    if (!end_publisher_write(publisher, refusal))
        return;
    publisher->is_refused = refusal != NULL;
    publisher->step = STEP_WRITING;
    tree_canary_find_removed(&publisher->keys, &publisher->sent, publisher->is_canary,
                             &publisher->removed);
    advance_publisher(publisher);
}

static void ask_for_check(struct publisher *publisher)
{
    const struct publisher_options *options = &publisher->options;
    struct publisher_question question = { .mode = publisher->wishes.mode };
    char sum[SHA256_HEX_SIZE];
    struct err err;

    publisher->step = STEP_CHECKING;
    publisher->pending++;
    if (!options->check || publisher->has_failed ||
        tree_set_sum(&publisher->arena, &publisher->set, options->kind->is_bare, sum, &err) < 0) {
        publisher_go_on(publisher, NULL); /* a manifest that cannot be made fails later */
        return;
    }
    question.sum = sum;
    question.is_published =
        !publisher->is_canary && tree_keys_has(&publisher->keys, FILESET_MANIFEST, sum);
    options->check(options->self, &question);
}

static void on_folder_read(struct background_task *background_task)
{
    struct publisher *publisher = container_of(background_task, struct publisher, background_task);

    if (!end_publisher_write(publisher, NULL))
        return;
    publisher->sent = publisher->set;
    if (publisher->is_canary)
        tree_canary_make(&publisher->arena, &publisher->set, &publisher->keys, &publisher->sent);
    if (publisher->was_read && lacks_published_bytes(publisher)) {
        tree_sums_forget(&publisher->sums);
        begin_folder_reading(publisher);
        return;
    }
    publisher->next = 0;
    if (!publisher->was_read) {
        publisher->has_failed = true;
    } else if (publisher->set.files.n == 0 && tree_keys_next_file(&publisher->keys, NULL)) {
        fail_publisher_round(publisher, "folder is empty: the published tree is unchanged");
    } else if (publisher->set.files.n == 0 && !publisher->set.refused.n) {
        publisher->step = STEP_IDLE; /* empty before and after */
        finish_publisher_round(publisher);
        return;
    }
    ask_for_check(publisher);
}

static void read_publisher_folder(struct background_task *background_task)
{
    struct publisher *publisher = container_of(background_task, struct publisher, background_task);
    const struct publisher_kind *kind = publisher->options.kind;

    publisher->was_read =
        tree_set_read(&publisher->arena,
                      &(struct tree_set_options){ .folder = publisher->folder,
                                                  .prefix = kind->prefix,
                                                  .prepare = kind->prepare,
                                                  .self = publisher->options.secret,
                                                  .markers = kind->markers,
                                                  .sums = &publisher->sums },
                      &publisher->set, &publisher->err) == 0;
    if (publisher->was_read)
        log_debug("read %s: %zu files, %zu changed", kind->name, publisher->set.files.n,
                  publisher->set.read);
}

static void begin_folder_reading(struct publisher *publisher)
{
    arena_clear(&publisher->arena);
    publisher->set = publisher->sent = (struct tree_set){ 0 };
    publisher->pending = 1;
    background_task_begin(publisher->options.background_tasks, &publisher->background_task,
                          read_publisher_folder, on_folder_read);
}

/* Publish only a new number. */
static void begin_telling(struct publisher *publisher)
{
    arena_clear(&publisher->arena);
    publisher->set = publisher->sent = (struct tree_set){ 0 };
    publisher->removed.list.n = 0;
    publisher->is_begun = false;
    advance_publisher(publisher);
}

static void begin_publisher_round(struct publisher *publisher)
{
    publisher->is_wanted = true;
    if (!publisher->is_caught_up || publisher->pauses > 0 || publisher->step != STEP_IDLE ||
        publisher->is_answering || publisher->is_gone)
        return;
    publisher->is_wanted = false;
    tree_keys_forget_removed(&publisher->keys);
    publisher->has_failed = publisher->has_written = publisher->is_new = false;
    publisher->is_refused = false;
    publisher->is_canary = publisher->is_diverted;
    publisher->wishes = round_queue_read(&publisher->queue);
    round_cause_copy(&publisher->cause, publisher->wishes.cause);
    if (publisher->wishes.cause)
        publisher->wishes.cause = &publisher->cause;
    publisher->manifest = publisher->plain = STR("");
    publisher->step = publisher->wishes.only_tells ? STEP_REVISION : STEP_READING;
    if (publisher->wishes.only_tells)
        begin_telling(publisher);
    else
        begin_folder_reading(publisher);
}

static void add_waiter(struct publisher *publisher, const struct round_waiter *waiter)
{
    const bool is_late = publisher_is_busy(publisher);

    round_queue_add(&publisher->queue, waiter, is_late);
    if (!is_late)
        begin_publisher_round(publisher);
}

void publisher_round(struct publisher *publisher, const struct publisher_wish *wish)
{
    add_waiter(publisher, &(struct round_waiter){ .wish = *wish });
}

void publisher_tell(struct publisher *publisher, publisher_fn *fn, void *self)
{
    add_waiter(publisher,
               &(struct round_waiter){ .wish = { .fn = fn, .self = self }, .is_tell = true });
}

void publisher_divert(struct publisher *publisher, bool to_canary)
{
    publisher->is_diverted = to_canary;
}

const char *publisher_tree(const struct publisher *publisher, bool of_canary)
{
    return publisher->trees[of_canary];
}

uint64_t publisher_canary(const struct publisher *publisher)
{
    return publisher->is_caught_up ? publisher->canary : 0;
}

void publisher_pause(struct publisher *publisher)
{
    publisher->pauses++;
}

bool publisher_is_busy(const struct publisher *publisher)
{
    return publisher->step != STEP_IDLE;
}

void publisher_resume(struct publisher *publisher)
{
    assert(publisher->pauses > 0);
    if (--publisher->pauses == 0 && publisher->is_wanted)
        begin_publisher_round(publisher);
}

uint64_t publisher_number(const struct publisher *publisher)
{
    return publisher->is_caught_up ? publisher->number : 0;
}

bool publisher_is_caught_up(const struct publisher *publisher)
{
    return publisher->is_caught_up;
}

/* --- life --------------------------------------------------------------------------- */

struct publisher *publisher_new(const struct publisher_options *options, struct err *err)
{
    struct publisher *publisher = mem_zalloc(sizeof(*publisher));

    publisher->options = *options;
    publisher->sums = (struct tree_sums)TREE_SUMS_INIT;
    publisher->folder = mem_strdup(options->folder);
    publisher->place = (struct tree_write_place){
        .kv = { .js = options->js,
                .bucket = store_bucket_name(options->kind->bucket),
                .history = store_bucket_history(options->kind->bucket) },
        .objects = { .js = options->js, .bucket = STORE_FILES },
    };
    publisher->signer =
        (struct tree_signer){ .account = options->account, .bucket = publisher->place.kv.bucket };
    publisher->watch =
        nats_kv_watch_new(&publisher->place.kv,
                          &(struct nats_kv_watch_options){ .entry = on_published_entry,
                                                           .caught_up = on_tree_caught_up,
                                                           .failed = on_tree_watch_failed,
                                                           .self = publisher },
                          err);
    if (publisher->watch)
        return publisher;
    publisher_free(publisher);
    return NULL;
}

void publisher_free(struct publisher *publisher)
{
    if (!publisher)
        return;
    if (!publisher->is_gone) {
        publisher->is_gone = true;
        nats_kv_watch_free(publisher->watch);
        round_queue_close(&publisher->queue,
                          &(struct publisher_outcome){ .error = "this master is shutting down" });
    }
    if (publisher->pending > 0)
        return; /* pending calls free it */
    tree_keys_done(&publisher->keys);
    vec_done(&publisher->removed.list);
    round_queue_done(&publisher->queue);
    arena_done(&publisher->arena);
    tree_sums_done(&publisher->sums);
    free(publisher->folder);
    round_cause_drop(&publisher->cause);
    free(publisher);
}

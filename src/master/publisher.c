#include "master/publisher.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/map.h"
#include "base/sha256.h"
#include "data/msgpack.h"
#include "data/record.h"
#include "master/lease.h"
#include "master/tree_set.h"
#include "master/tree_sums.h"
#include "nats/error.h"
#include "nats/kv.h"
#include "nats/object.h"
#include "sys/chore.h"
#include "wire/fileset.h"

/* Writes under way at once. */
#define WINDOW 32

/* What the bucket has under a key. */
struct stored {
    char sha256[SHA256_HEX_SIZE]; /* "": deleted */
    uint64_t revision;
    char key[];
};

/* Somebody who waits for the end of a round. */
struct waiter {
    publisher_fn *fn;
    void *self;
    bool force;
};

enum step { STEP_IDLE, STEP_READING, STEP_WRITING, STEP_PRUNING, STEP_MANIFEST, STEP_REVISION };

struct publisher {
    struct publisher_options options;
    char *folder;
    struct nats_kv kv;
    struct nats_objects objects;
    struct nats_kv_watch *watch;
    bool is_caught_up, is_wanted, is_gone;
    struct map stored;   /* struct stored by key */
    uint64_t number;     /* of the last change */
    struct str manifest; /* of the round */

    /* the round */
    struct chore chore;
    enum step step;
    struct arena arena;
    struct tree_set set;
    struct tree_sums sums; /* of the worker while it reads */
    struct err err;
    bool has_failed, has_written, was_read, is_forced;
    bool is_begun; /* the step, when it is a single write */
    size_t next, pending;
    VEC(const char *) removed;
    VEC(struct waiter) waiters, later;
};

static void advance(struct publisher *publisher);
static void begin_round(struct publisher *publisher);

/* --- what the bucket has ------------------------------------------------------------- */

static struct stored *get_stored(struct publisher *publisher, struct str key)
{
    struct stored *stored = map_find(&publisher->stored, key);

    if (stored)
        return stored;
    stored = mem_zalloc(sizeof(*stored) + key.n + 1);
    memcpy(stored->key, key.p, key.n);
    (void)map_set(&publisher->stored, str_from(stored->key), stored);
    return stored;
}

static void note_stored(struct publisher *publisher, struct str key, struct str value,
                        uint64_t revision)
{
    struct stored *stored = get_stored(publisher, key);

    if (revision < stored->revision)
        return;
    stored->revision = revision;
    sha256_hex(value.p, value.n, stored->sha256);
}

static void note_removed(struct publisher *publisher, struct str key, uint64_t revision)
{
    struct stored *stored = get_stored(publisher, key);

    if (revision < stored->revision)
        return;
    stored->revision = revision;
    stored->sha256[0] = '\0';
}

/* Decimal digits; anything else ends them. */
static uint64_t read_number(struct str text)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.n && i < 18 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.p[i] - '0');
    return number;
}

static void tell_news(const struct publisher *publisher)
{
    if (publisher->options.news)
        publisher->options.news(publisher->options.self);
}

static void on_entry(void *self, const struct nats_kv_entry *entry)
{
    struct publisher *publisher = self;

    if (entry->change != NATS_KV_PUT) {
        note_removed(publisher, entry->key, entry->revision);
        return;
    }
    note_stored(publisher, entry->key, entry->value, entry->revision);
    if (!str_eq(entry->key, STR(FILESET_REVISION)))
        return;
    publisher->number = read_number(entry->value);
    if (publisher->is_caught_up)
        tell_news(publisher);
}

static void on_caught_up(void *self)
{
    struct publisher *publisher = self;

    publisher->is_caught_up = true;
    if (publisher->is_wanted)
        begin_round(publisher);
    tell_news(publisher);
}

static void on_watch_failed(void *self, const struct nats_error *error)
{
    struct publisher *publisher = self;

    if (error->fault != NATS_FAULT_CANCELED)
        log_error("watching %s: %s", publisher->kv.bucket, error->text);
}

static bool has_key(const struct publisher *publisher, const char *key, const char *sha256)
{
    const struct stored *stored = map_find(&publisher->stored, str_from(key));

    return stored && stored->sha256[0] && (!sha256 || strcmp(stored->sha256, sha256) == 0);
}

static uint64_t revision_of(const struct publisher *publisher, const char *key)
{
    const struct stored *stored = map_find(&publisher->stored, str_from(key));

    return stored && stored->sha256[0] ? stored->revision : 0;
}

/* --- the end of a round ------------------------------------------------------------- */

static void fail_round(struct publisher *publisher, const char *text)
{
    if (!publisher->has_failed)
        (void)err_set(&publisher->err, ERR_SYSTEM, "%s", text);
    publisher->has_failed = true;
}

static void finish(struct publisher *publisher)
{
    struct publisher_outcome outcome = {
        .files = publisher->set.files.n,
        .read = publisher->set.read,
        .changed = publisher->has_written,
        .error = publisher->has_failed ? publisher->err.text : "",
        .manifest = publisher->has_failed ? STR("") : publisher->manifest,
    };
    struct waiter *waiters = publisher->waiters.p;
    size_t count = publisher->waiters.n;

    publisher->step = STEP_IDLE;
    VEC_EACH (&publisher->set.refused, text)
        log_error("a file of the %s is not published: %s", publisher->options.kind->name, *text);
    if (publisher->set.refused.n && !publisher->has_failed)
        outcome.error = publisher->set.refused.p[0];
    if (publisher->has_failed)
        log_error("publishing %s: %s", publisher->options.kind->name, publisher->err.text);
    else if (publisher->has_written)
        log_info("published %s: %zu files, revision %" PRIu64, publisher->options.kind->name,
                 outcome.files, publisher->number);
    publisher->waiters.p = NULL;
    publisher->waiters.n = publisher->waiters.cap = 0;
    for (size_t i = 0; i < count; i++)
        waiters[i].fn(waiters[i].self, &outcome);
    free(waiters);
    if (publisher->later.n) {
        VEC_EACH (&publisher->later, waiter)
            VEC_PUSH(&publisher->waiters, *waiter);
        vec_clear(&publisher->later);
        begin_round(publisher);
    }
}

/* A write has come back. False: the publisher is gone. */
static bool came_back(struct publisher *publisher, const struct nats_error *error)
{
    publisher->pending--;
    if (error)
        fail_round(publisher, error->text);
    if (!publisher->is_gone)
        return true;
    if (publisher->pending == 0)
        publisher_free(publisher);
    return false;
}

/* --- writing ------------------------------------------------------------------------ */

struct write {
    struct publisher *publisher;
    const struct tree_set_file *file;
    int fd;
};

static void on_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;
    struct publisher *publisher = write->publisher;

    if (!error && !publisher->is_gone)
        note_stored(publisher, str_from(write->file->key), write->file->bytes, revision);
    free(write);
    if (came_back(publisher, error))
        advance(publisher);
}

/* Does the object have the content that its name says? */
static bool is_object_of(const struct nats_object_info *info, const struct tree_set_file *file)
{
    char sum[SHA256_HEX_SIZE];

    hex_write(info->digest, sizeof(info->digest), sum);
    return strcmp(sum, file->sha256) == 0;
}

static void on_object(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct write *write = self;
    struct publisher *publisher = write->publisher;

    /* the next round finds that it differs, and replaces it */
    if (!error && !is_object_of(info, write->file))
        fail_round(publisher, "a file changed while it was published");
    (void)close(write->fd);
    free(write);
    if (came_back(publisher, error))
        advance(publisher);
}

static int put_object(struct publisher *publisher, struct write *write, struct err *err)
{
    write->fd = open(write->file->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (write->fd < 0)
        return err_set(err, ERR_SYSTEM, "%s: cannot be opened", write->file->file);
    if (nats_object_put(&publisher->objects,
                        &(struct nats_object_put){ .name = write->file->sha256, .fd = write->fd },
                        on_object, write, err) == 0)
        return 0;
    (void)close(write->fd);
    return -1;
}

static void on_object_info(void *self, const struct nats_error *error,
                           const struct nats_object_info *info)
{
    struct write *write = self;
    struct publisher *publisher = write->publisher;
    struct err err;

    bool is_missing =
        error ? error->fault == NATS_FAULT_NOT_FOUND : !is_object_of(info, write->file);

    if (is_missing && !publisher->is_gone) {
        if (put_object(publisher, write, &err) == 0)
            return; /* the same call goes on */
        fail_round(publisher, err.text);
        error = NULL;
    }
    free(write);
    if (came_back(publisher, error))
        advance(publisher);
}

static void begin_write(struct publisher *publisher, const struct tree_set_file *file)
{
    struct write *write = mem_zalloc(sizeof(*write));
    struct err err;
    int result;

    *write = (struct write){ publisher, file, -1 };
    if (!file->is_large)
        result = nats_kv_put(&publisher->kv, file->key, file->bytes, on_written, write, &err);
    else
        result = nats_object_info(&publisher->objects, file->sha256, on_object_info, write, &err);
    if (result == 0) {
        publisher->pending++;
        publisher->has_written = publisher->has_written || !file->is_large;
        return;
    }
    fail_round(publisher, err.text);
    free(write);
}

static void write_files(struct publisher *publisher)
{
    while (publisher->next < publisher->set.files.n && publisher->pending < WINDOW &&
           !publisher->has_failed) {
        const struct tree_set_file *file = &publisher->set.files.p[publisher->next++];

        if (file->is_large || publisher->is_forced || !has_key(publisher, file->key, file->sha256))
            begin_write(publisher, file);
    }
}

static void on_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    struct publisher *publisher = self;

    (void)revision;
    if (came_back(publisher, error))
        advance(publisher);
}

static void find_removed(struct publisher *publisher)
{
    struct map wanted = MAP_INIT_IN(&publisher->arena);

    VEC_EACH (&publisher->set.files, file)
        if (!file->is_large)
            (void)map_set(&wanted, str_from(file->key), publisher);
    publisher->removed.n = 0;
    MAP_EACH (&publisher->stored, entry) {
        const struct stored *stored = entry->value;

        if (stored->sha256[0] && stored->key[0] != '_' && !map_has(&wanted, entry->key))
            VEC_PUSH(&publisher->removed, stored->key);
    }
}

static void prune(struct publisher *publisher)
{
    struct err err;

    while (publisher->removed.n && publisher->pending < WINDOW && !publisher->has_failed) {
        const char *key = publisher->removed.p[--publisher->removed.n];

        if (nats_kv_purge(&publisher->kv, key, 0, on_purged, publisher, &err) < 0) {
            fail_round(publisher, err.text);
            return;
        }
        note_removed(publisher, str_from(key), revision_of(publisher, key));
        publisher->pending++;
        publisher->has_written = true;
    }
}

/* --- manifest and number ------------------------------------------------------------ */

static struct str print_manifest(struct publisher *publisher)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct fileset_manifest manifest = { 0 };
    struct value v;
    struct err err;

    VEC_EACH (&publisher->set.files, file)
        VEC_PUSH_IN(&publisher->arena, &manifest.files.list,
                    (struct fileset_file){ .key = file->key,
                                           .sha256 = file->sha256,
                                           .path = file->path,
                                           .size = file->is_large ? (int64_t)file->size : 0 });
    v = record_value(&publisher->arena, &fileset_manifest_type, &manifest);
    if (publisher->options.kind->is_bare)
        v = *value_get(&v, "files");
    if (msgpack_encode(&bytes, &v, &err) < 0)
        fail_round(publisher, err.text);
    return buf_copy(&bytes, &publisher->arena);
}

struct record_write {
    struct publisher *publisher;
    const char *key;
    struct str value;
};

static void on_record(void *self, const struct nats_error *error, uint64_t revision)
{
    struct record_write *write = self; /* in the arena of the round */
    struct publisher *publisher = write->publisher;

    if (!error && !publisher->is_gone) {
        note_stored(publisher, str_from(write->key), write->value, revision);
        publisher->has_written = true;
    }
    if (came_back(publisher, error))
        advance(publisher);
}

static void put_record(struct publisher *publisher, const char *key, struct str value)
{
    struct record_write *write = ARENA_NEW(&publisher->arena, struct record_write);
    uint64_t revision = revision_of(publisher, key);
    struct err err;
    int result;

    *write = (struct record_write){ publisher, key, value };
    result = revision ? nats_kv_update(&publisher->kv, key, value, revision, on_record, write, &err)
                      : nats_kv_create(&publisher->kv, key, value, on_record, write, &err);
    if (result == 0)
        publisher->pending++;
    else
        fail_round(publisher, err.text);
}

static void write_manifest(struct publisher *publisher)
{
    char sum[SHA256_HEX_SIZE];

    publisher->manifest = print_manifest(publisher);
    sha256_hex(publisher->manifest.p, publisher->manifest.n, sum);
    if (!has_key(publisher, FILESET_MANIFEST, sum) || publisher->has_written)
        put_record(publisher, FILESET_MANIFEST, publisher->manifest);
}

/* Only readers that see a number after the manifest know that it is whole. */
static void write_number(struct publisher *publisher)
{
    if (!publisher->has_written &&
        revision_of(publisher, FILESET_REVISION) > revision_of(publisher, FILESET_MANIFEST))
        return;
    publisher->number++;
    put_record(publisher, FILESET_REVISION,
               str_from(arena_printf(&publisher->arena, "%" PRIu64, publisher->number)));
}

/* --- rounds ------------------------------------------------------------------------- */

/* The steps after reading, each when the one before it has nothing left under way. Those that
 * write one entry are done once. */
static const struct {
    void (*run)(struct publisher *publisher);
    bool is_single;
} steps[] = {
    [STEP_WRITING] = { write_files, false },
    [STEP_PRUNING] = { prune, false },
    [STEP_MANIFEST] = { write_manifest, true },
    [STEP_REVISION] = { write_number, true },
};

static void do_step(struct publisher *publisher)
{
    if (!publisher->is_begun || !steps[publisher->step].is_single)
        steps[publisher->step].run(publisher);
    publisher->is_begun = true;
}

static const enum step plain_order[] = { STEP_WRITING, STEP_MANIFEST, STEP_REVISION, STEP_PRUNING,
                                         STEP_IDLE };
static const enum step bare_order[] = { STEP_WRITING, STEP_PRUNING, STEP_MANIFEST, STEP_REVISION,
                                        STEP_IDLE };

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
        return publisher->next == publisher->set.files.n;
    return publisher->step != STEP_PRUNING || publisher->removed.n == 0;
}

static void advance(struct publisher *publisher)
{
    for (;;) {
        if (!lease_is_held(publisher->options.lease))
            fail_round(publisher, "this master no longer publishes");
        if (!publisher->has_failed)
            do_step(publisher);
        if (publisher->pending > 0)
            return;
        if (publisher->has_failed) {
            finish(publisher);
            return;
        }
        if (!is_done_with_step(publisher))
            continue;
        publisher->step = next_step(publisher);
        publisher->is_begun = false;
        if (publisher->step == STEP_IDLE) {
            finish(publisher);
            return;
        }
    }
}

static bool is_populated(const struct publisher *publisher)
{
    MAP_EACH (&publisher->stored, entry) {
        const struct stored *stored = entry->value;

        if (stored->sha256[0] && stored->key[0] != '_')
            return true;
    }
    return false;
}

/* Must a file be written that was not read, because it has not changed? The bucket has lost it. */
static bool lacks_bytes(const struct publisher *publisher)
{
    VEC_EACH (&publisher->set.files, file)
        if (!file->is_large && !file->bytes.p &&
            (publisher->is_forced || !has_key(publisher, file->key, file->sha256)))
            return true;
    return false;
}

static void begin_reading(struct publisher *publisher);

static void on_read(struct chore *chore)
{
    struct publisher *publisher = container_of(chore, struct publisher, chore);

    publisher->pending--;
    if (publisher->is_gone) {
        if (publisher->pending == 0)
            publisher_free(publisher);
        return;
    }
    if (publisher->was_read && lacks_bytes(publisher)) {
        tree_sums_forget(&publisher->sums);
        begin_reading(publisher);
        return;
    }
    publisher->step = STEP_WRITING;
    publisher->next = 0;
    if (!publisher->was_read) {
        publisher->has_failed = true;
    } else if (publisher->set.files.n == 0 && is_populated(publisher)) {
        fail_round(publisher, "the folder is empty: what is published stays as it is");
    } else if (publisher->set.files.n == 0 && !publisher->set.refused.n) {
        publisher->step = STEP_IDLE; /* nothing is there, and nothing was */
        finish(publisher);
        return;
    }
    find_removed(publisher);
    advance(publisher);
}

static void read_folder(struct chore *chore)
{
    struct publisher *publisher = container_of(chore, struct publisher, chore);
    const struct publisher_kind *kind = publisher->options.kind;

    publisher->was_read =
        tree_set_read(&publisher->arena,
                      &(struct tree_set_options){ .folder = publisher->folder,
                                                  .prefix = kind->prefix,
                                                  .prepare = kind->prepare,
                                                  .self = publisher->options.secret,
                                                  .marker = kind->marker,
                                                  .sums = &publisher->sums },
                      &publisher->set, &publisher->err) == 0;
    if (publisher->was_read)
        log_debug("read %s: %zu files, %zu of them because they changed", kind->name,
                  publisher->set.files.n, publisher->set.read);
}

static void begin_reading(struct publisher *publisher)
{
    arena_clear(&publisher->arena);
    publisher->set = (struct tree_set){ 0 };
    publisher->pending = 1;
    chore_begin(publisher->options.chores, &publisher->chore, read_folder, on_read);
}

/* Keys that are gone are not kept for ever. */
static void forget_removed(struct publisher *publisher)
{
    MAP_EACH (&publisher->stored, entry) {
        struct stored *stored = entry->value;

        if (stored->sha256[0])
            continue;
        (void)map_remove(&publisher->stored, entry->key);
        free(stored);
    }
}

static void begin_round(struct publisher *publisher)
{
    publisher->is_wanted = true;
    if (!publisher->is_caught_up || publisher->step != STEP_IDLE)
        return;
    publisher->is_wanted = false;
    forget_removed(publisher);
    publisher->step = STEP_READING;
    publisher->has_failed = publisher->has_written = publisher->is_forced = false;
    VEC_EACH (&publisher->waiters, waiter)
        publisher->is_forced = publisher->is_forced || waiter->force;
    publisher->manifest = STR("");
    begin_reading(publisher);
}

void publisher_round(struct publisher *publisher, bool force, publisher_fn *fn, void *self)
{
    const struct waiter waiter = { fn, self, force };

    if (publisher->step != STEP_IDLE) {
        VEC_PUSH(&publisher->later, waiter);
        return;
    }
    VEC_PUSH(&publisher->waiters, waiter);
    begin_round(publisher);
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
    publisher->kv = (struct nats_kv){ .js = options->js,
                                      .bucket = store_bucket_name(options->kind->bucket),
                                      .history = store_bucket_history(options->kind->bucket) };
    publisher->objects = (struct nats_objects){ .js = options->js, .bucket = STORE_FILES };
    publisher->watch = nats_kv_watch_new(&publisher->kv,
                                         &(struct nats_kv_watch_options){ .entry = on_entry,
                                                                          .caught_up = on_caught_up,
                                                                          .failed = on_watch_failed,
                                                                          .self = publisher },
                                         err);
    if (publisher->watch)
        return publisher;
    publisher_free(publisher);
    return NULL;
}

static void tell_gone(struct publisher *publisher)
{
    const struct publisher_outcome gone = { .error = "this master is shutting down" };

    VEC_EACH (&publisher->waiters, waiter)
        waiter->fn(waiter->self, &gone);
    VEC_EACH (&publisher->later, waiter)
        waiter->fn(waiter->self, &gone);
    publisher->waiters.n = publisher->later.n = 0;
}

void publisher_free(struct publisher *publisher)
{
    if (!publisher)
        return;
    if (!publisher->is_gone) {
        publisher->is_gone = true;
        nats_kv_watch_free(publisher->watch);
        tell_gone(publisher);
    }
    if (publisher->pending > 0)
        return; /* what is under way frees it */
    MAP_EACH (&publisher->stored, entry)
        free(entry->value);
    map_done(&publisher->stored);
    vec_done(&publisher->removed);
    vec_done(&publisher->waiters);
    vec_done(&publisher->later);
    arena_done(&publisher->arena);
    tree_sums_done(&publisher->sums);
    free(publisher->folder);
    free(publisher);
}

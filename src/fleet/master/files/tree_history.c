#include "fleet/master/files/tree_history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "fleet/nats/stream.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/signature.h"

/* Maximum concurrent requests. */
#define WINDOW 32

struct known {
    uint64_t number;
    char manifest[SHA256_HEX_SIZE];
};

struct recording {
    struct tree_history_now now;
    tree_history_fn *fn;
    void *self;
    struct nats_kv kv;
    struct arena arena;
    char sum[SHA256_HEX_SIZE]; /* of the manifest */
    VEC(struct known) known;   /* existing revisions, in order; ours is the last */
    struct fileset_revision revision;
    VEC(const struct tree_set_file *) blobs; /* missing in the history */
    struct map named;                        /* sums of files in kept revisions */
    VEC(const char *) unwanted;              /* keys to remove */
    size_t next, pending;
    void (*go_on)(struct recording *recording); /* continues the step */
    void (*then)(struct recording *recording);  /* the next step */
    bool has_failed;
    char problem[ERR_TEXT_SIZE];
};

/* --- the end ------------------------------------------------------------------------ */

static void end_recording(struct recording *recording, const struct tree_history_result *result)
{
    recording->fn(recording->self, result);
    arena_done(&recording->arena);
    free(recording);
}

static void fail_recording(struct recording *recording, const char *text)
{
    end_recording(recording, &(struct tree_history_result){ .error = text });
}

static void end_recorded(struct recording *recording)
{
    end_recording(recording, &(struct tree_history_result){
                                 .revision = recording->known.p[recording->known.n - 1].number });
}

/* Note a problem; the step fails when all its requests have ended. */
static void note_history_problem(struct recording *recording, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(recording->problem) - 1);

    if (recording->has_failed)
        return;
    recording->has_failed = true;
    memcpy(recording->problem, part.p, part.n);
    recording->problem[part.n] = '\0';
}

/* One of the requests of a step has ended; `text` NULL: success. The next step begins after the
 * last one. */
static void end_request(struct recording *recording, const char *text)
{
    recording->pending--;
    if (text)
        note_history_problem(recording, text);
    if (!recording->has_failed)
        recording->go_on(recording);
    if (recording->pending > 0)
        return;
    if (recording->has_failed)
        fail_recording(recording, recording->problem);
    else
        recording->then(recording);
}

/* Begin a step of many requests. */
static void begin_history_step(struct recording *recording,
                               void (*go_on)(struct recording *recording),
                               void (*then)(struct recording *recording))
{
    recording->go_on = go_on;
    recording->then = then;
    recording->next = 0;
    recording->pending = 1; /* our own, so that the step cannot end early */
    end_request(recording, NULL);
}

static const char *make_revision_key(struct recording *recording, uint64_t number)
{
    return arena_printf(&recording->arena, FILESET_PAST_REVISION, recording->now.tree, number);
}

static const char *make_history_key(struct recording *recording, uint64_t number)
{
    return arena_printf(&recording->arena, FILESET_PAST_MANIFEST, recording->now.tree, number);
}

/* Returns the part of a key after "<tree>.<what>."; empty for other keys. */
static struct str get_history_key_rest(const struct recording *recording, struct str key,
                                       const char *what)
{
    const size_t head = strlen(recording->now.tree) + 1 + strlen(what) + 1;

    return str_slice(key, head, key.n);
}

/* --- expiry ------------------------------------------------------------------------- */

static void on_history_purged(void *self, const struct nats_error *error)
{
    end_request(self, error ? error->text : NULL);
}

int tree_history_purge(const struct nats_js *js, const char *key, nats_done_fn *fn, void *self,
                       struct err *err)
{
    const char *bucket = store_bucket_name(STORE_TREE_HISTORY);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_purge purge = { .subject = arena_printf(&arena, "$KV.%s.%s", bucket, key) };

    return nats_stream_purge(js, arena_printf(&arena, "KV_%s", bucket), &purge, fn, self, err);
}

static void purge_more(struct recording *recording)
{
    struct err err;

    while (recording->next < recording->unwanted.n && recording->pending < WINDOW &&
           !recording->has_failed) {
        if (tree_history_purge(&recording->now.js, recording->unwanted.p[recording->next++],
                               on_history_purged, recording, &err) == 0)
            recording->pending++;
        else
            note_history_problem(recording, err.text);
    }
}

static void on_blob_key(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct recording *recording = self;

    if (error)
        fail_recording(recording, error->text);
    else if (!entry)
        begin_history_step(recording, purge_more, end_recorded);
    else if (!map_has(&recording->named, get_history_key_rest(recording, entry->key, "blob")))
        VEC_PUSH_IN(&recording->arena, &recording->unwanted,
                    arena_strndup(&recording->arena, entry->key.p, entry->key.n));
}

static void list_blobs(struct recording *recording)
{
    struct err err;

    if (nats_kv_keys(&recording->kv,
                     arena_printf(&recording->arena, "%s.blob.*", recording->now.tree), on_blob_key,
                     recording, &err) < 0)
        fail_recording(recording, err.text);
}

static bool is_kept_revision(const struct recording *recording, struct str number)
{
    AUTO_BUF struct buf text = BUF_INIT(32);

    VEC_EACH (&recording->known, known) {
        buf_clear(&text);
        buf_printf(&text, "%" PRIu64, known->number);
        if (str_eq(number, buf_view(&text)))
            return true;
    }
    return false;
}

static void add_history_files(struct recording *recording, struct str manifest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_files files;
    struct err err;

    if (tree_files_parse(&arena, manifest, &files, &err) < 0)
        return; /* cannot be restored */
    for (size_t i = 0; i < files.n; i++) {
        const struct str sum = str_from(files.p[i].sha256);

        if (!map_has(&recording->named, sum))
            (void)map_set(&recording->named, arena_str(&recording->arena, sum), recording);
    }
}

/* Removes the signature first, so that none is left behind. */
static void drop_manifest(struct recording *recording, const char *key)
{
    VEC_PUSH_IN(&recording->arena, &recording->unwanted, signature_key(&recording->arena, key));
    VEC_PUSH_IN(&recording->arena, &recording->unwanted, key);
}

static void on_history_manifest(void *self, const struct nats_error *error,
                                const struct nats_kv_entry *entry)
{
    struct recording *recording = self;

    if (error)
        fail_recording(recording, error->text);
    else if (!entry)
        list_blobs(recording);
    else if (is_kept_revision(recording, get_history_key_rest(recording, entry->key, "manifest")))
        add_history_files(recording, entry->value);
    else
        drop_manifest(recording, arena_strndup(&recording->arena, entry->key.p, entry->key.n));
}

/* Also finds leftovers of a killed master. */
static void list_manifests(struct recording *recording)
{
    struct err err;

    recording->unwanted.n = 0;
    if (nats_kv_list(&recording->kv,
                     arena_printf(&recording->arena, "%s.manifest.*", recording->now.tree),
                     on_history_manifest, recording, &err) < 0)
        fail_recording(recording, err.text);
}

/* Removes revisions first, so that listed ones are complete. */
static void expire_revisions(struct recording *recording)
{
    const size_t keep = recording->now.keep < 1 ? 1 : (size_t)recording->now.keep;
    const size_t gone = recording->known.n > keep ? recording->known.n - keep : 0;

    if (gone == 0) {
        end_recorded(recording);
        return;
    }
    for (size_t i = 0; i < gone; i++)
        VEC_PUSH_IN(&recording->arena, &recording->unwanted,
                    make_revision_key(recording, recording->known.p[i].number));
    memmove(recording->known.p, &recording->known.p[gone],
            (recording->known.n - gone) * sizeof(recording->known.p[0]));
    recording->known.n -= gone;
    begin_history_step(recording, purge_more, list_manifests);
}

/* --- a new revision ----------------------------------------------------------------- */

static void on_revision_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct recording *recording = self;
    struct known known = { .number = recording->revision.revision };

    (void)revision;
    if (error) {
        fail_recording(recording, error->text);
        return;
    }
    memcpy(known.manifest, recording->sum, sizeof(known.manifest));
    VEC_PUSH_IN(&recording->arena, &recording->known, known);
    expire_revisions(recording);
}

static void write_revision(struct recording *recording)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (record_encode(&bytes, &fileset_revision_type, &recording->revision, &err) < 0 ||
        nats_kv_create(&recording->kv, make_revision_key(recording, recording->revision.revision),
                       buf_copy(&bytes, &recording->arena), on_revision_written, recording,
                       &err) < 0)
        fail_recording(recording, err.text);
}

static void on_signed(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error)
        fail_recording(self, error->text);
    else
        write_revision(self);
}

/* A restored revision is published and signed as a new one, so it must be our own. */
static struct str sign_manifest(struct recording *recording, const char *key)
{
    const struct ed25519_pair pair = nats_nkey_pair(recording->now.account);
    const struct signature_mark mark = { .revision = recording->revision.revision,
                                         .time = bus_time() };

    return signature_sign_tree(&recording->arena, &pair,
                               signature_place(&recording->arena, recording->kv.bucket, key),
                               recording->sum, &mark);
}

static void put_history_signature(struct recording *recording)
{
    const char *key = make_history_key(recording, recording->revision.revision);
    struct err err;

    if (!recording->now.account)
        write_revision(recording);
    else if (nats_kv_put(&recording->kv, signature_key(&recording->arena, key),
                         sign_manifest(recording, key), on_signed, recording, &err) < 0)
        fail_recording(recording, err.text);
}

static void on_manifest_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error)
        fail_recording(self, error->text);
    else
        put_history_signature(self);
}

static void put_history_manifest(struct recording *recording)
{
    struct err err;

    if (nats_kv_put(&recording->kv, make_history_key(recording, recording->revision.revision),
                    recording->now.manifest, on_manifest_written, recording, &err) < 0)
        fail_recording(recording, err.text);
}

static void on_blob(void *self, const struct nats_error *error, uint64_t revision)
{
    /* an existing file with this sum is the same */
    const bool is_there = !error || error->fault == NATS_FAULT_CONFLICT;

    (void)revision;
    end_request(self, is_there ? NULL : error->text);
}

static void write_blobs(struct recording *recording)
{
    struct err err;

    while (recording->next < recording->blobs.n && recording->pending < WINDOW &&
           !recording->has_failed) {
        const struct tree_set_file *file = recording->blobs.p[recording->next++];

        if (nats_kv_create(&recording->kv,
                           arena_printf(&recording->arena, FILESET_PAST_BLOB, recording->now.tree,
                                        file->sha256),
                           file->bytes, on_blob, recording, &err) == 0)
            recording->pending++;
        else
            note_history_problem(recording, err.text);
    }
}

/* --- changes since the last revision ------------------------------------------------ */

static void add_history_change(struct recording *recording, uint64_t *count, const char *change,
                               const char *path)
{
    ++*count;
    if (recording->revision.changes.list.n < FILESET_CHANGES_MAX)
        VEC_PUSH_IN(&recording->arena, &recording->revision.changes.list,
                    (struct fileset_change){ change, path });
}

static int compare_changes(const void *a, const void *b)
{
    return strcmp(((const struct fileset_change *)a)->path,
                  ((const struct fileset_change *)b)->path);
}

/* The path, for a file whose key is its path. */
static const char *strip_key_prefix(const struct recording *recording, const char *key)
{
    const size_t n = strlen(recording->now.prefix);

    return strncmp(key, recording->now.prefix, n) == 0 ? key + n : key;
}

static void compare_history_file(struct recording *recording, const struct tree_set_file *file,
                                 struct map *before, const struct map *sums)
{
    struct fileset_revision *revision = &recording->revision;
    const char *path = file->path[0] ? file->path : strip_key_prefix(recording, file->key);
    const char *last = map_remove(before, str_from(path));

    if (!last)
        add_history_change(recording, &revision->added, "added", path);
    else if (strcmp(last, file->sha256) != 0)
        add_history_change(recording, &revision->changed, "changed", path);
    if (!file->is_large && !map_has(sums, str_from(file->sha256)))
        VEC_PUSH_IN(&recording->arena, &recording->blobs, file);
}

static void compare_history_files(struct recording *recording, const struct tree_files *last)
{
    struct fileset_revision *revision = &recording->revision;
    struct map before = MAP_INIT_IN(&recording->arena), sums = MAP_INIT_IN(&recording->arena);

    for (size_t i = 0; i < last->n; i++) {
        const struct tree_file *file = &last->p[i];
        const char *path =
            file->path == file->key ? strip_key_prefix(recording, file->key) : file->path;

        (void)map_set(&before, str_from(path), (void *)(uintptr_t)file->sha256);
        (void)map_set(&sums, str_from(file->sha256), recording);
    }
    VEC_EACH (&recording->now.set->files, file)
        compare_history_file(recording, file, &before, &sums);
    MAP_EACH (&before, entry)
        add_history_change(recording, &revision->removed, "removed", entry->key.p);
    if (revision->changes.list.n)
        qsort(revision->changes.list.p, revision->changes.list.n,
              sizeof(revision->changes.list.p[0]), compare_changes);
}

static bool lacks_history_bytes(const struct recording *recording)
{
    VEC_EACH (&recording->blobs, file)
        if (!(*file)->bytes.p)
            return true;
    return false;
}

static void record_changes(struct recording *recording, const struct tree_files *last)
{
    const struct tree_history_now *now = &recording->now;
    const uint64_t free =
        recording->known.n ? recording->known.p[recording->known.n - 1].number + 1 : 1;

    recording->revision = (struct fileset_revision){
        .tree = now->tree,
        .revision = now->number > free ? now->number : free,
        .time_unix = bus_time_seconds(),
        .master = now->master,
        .operator= now->by,
        .restored = now->restored,
        .note = now->note,
        .files = now->set->files.n,
        .manifest = recording->sum,
    };
    compare_history_files(recording, last);
    if (lacks_history_bytes(recording))
        end_recording(recording, &(struct tree_history_result){ .error = "a file was not read",
                                                                .lacks_bytes = true });
    else
        begin_history_step(recording, write_blobs, put_history_manifest);
}

static void on_last(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct recording *recording = self;
    struct tree_files last = { 0 };
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        fail_recording(recording, error->text);
        return;
    }
    /* an unreadable one counts as missing */
    if (!error && tree_files_parse(&recording->arena, arena_str(&recording->arena, entry->value),
                                   &last, &err) < 0)
        last = (struct tree_files){ 0 };
    record_changes(recording, &last);
}

/* --- existing revisions ------------------------------------------------------------- */

static int compare_known(const void *a, const void *b)
{
    const uint64_t left = ((const struct known *)a)->number;
    const uint64_t right = ((const struct known *)b)->number;

    return left < right ? -1 : left > right;
}

static void begin_recording(struct recording *recording)
{
    const struct known *last;
    struct err err;

    if (recording->known.n == 0) {
        record_changes(recording, &(struct tree_files){ 0 });
        return;
    }
    qsort(recording->known.p, recording->known.n, sizeof(recording->known.p[0]), compare_known);
    last = &recording->known.p[recording->known.n - 1];
    if (strcmp(last->manifest, recording->sum) == 0)
        end_recorded(recording);
    else if (nats_kv_get(&recording->kv, make_history_key(recording, last->number), on_last,
                         recording, &err) < 0)
        fail_recording(recording, err.text);
}

static void note_known(struct recording *recording, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fileset_revision revision;
    struct known known;
    struct err err;

    if (record_decode(&arena, &fileset_revision_type, 1, entry->value, &revision, &err) < 0 ||
        strlen(revision.manifest) >= sizeof(known.manifest))
        return; /* not a revision */
    known.number = revision.revision;
    memcpy(known.manifest, revision.manifest, strlen(revision.manifest) + 1);
    VEC_PUSH_IN(&recording->arena, &recording->known, known);
}

static void on_history_known(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct recording *recording = self;

    if (error)
        fail_recording(recording, error->text);
    else if (entry)
        note_known(recording, entry);
    else
        begin_recording(recording);
}

int tree_history_record(const struct tree_history_now *now, tree_history_fn *fn, void *self,
                        struct err *err)
{
    struct recording *recording = mem_zalloc(sizeof(*recording));

    recording->now = *now;
    recording->fn = fn;
    recording->self = self;
    recording->named = (struct map)MAP_INIT_IN(&recording->arena);
    recording->kv = (struct nats_kv){ .js = now->js,
                                      .bucket = store_bucket_name(STORE_TREE_HISTORY),
                                      .indirect = true };
    sha256_hex(now->manifest.p, now->manifest.n, recording->sum);
    if (nats_kv_list(&recording->kv, arena_printf(&recording->arena, "%s.revision.*", now->tree),
                     on_history_known, recording, err) == 0)
        return 0;
    arena_done(&recording->arena);
    free(recording);
    return -1;
}

#include "fleet/bus/tree_fetch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"
#include "core/sys/chore.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"

#define FOLDER_MODE 0755
#define FILE_MODE   0644
/* Files under way at once. */
#define WINDOW 8

struct tree_fetch {
    struct chore chore;
    struct tree_fetch_options options;
    struct arena arena;
    const char *bucket, *staging, *manifest, *blobs;
    struct tree_trust_offer offer;
    struct tree_files files;
    size_t next, under_way;
    bool is_dropped, is_broken, is_published;
    char problem[ERR_TEXT_SIZE];
};

/* --- manifests ---------------------------------------------------------------------- */

static int read_manifest(struct arena *arena, struct str bytes, struct fileset_manifest *ret,
                         struct err *err)
{
    struct value document, wrapped;

    if (msgpack_decode(arena, bytes, &document, err) < 0)
        return -1;
    if (document.kind == VALUE_LIST) {
        wrapped = value_map(value_map_new(arena, 1));
        value_map_set(arena, wrapped.map, value_text("files"), document);
        document = wrapped;
    }
    return record_read(arena, &fileset_manifest_type, 0, &document, ret, err);
}

int tree_files_parse(struct arena *arena, struct str manifest, struct tree_files *ret,
                     struct err *err)
{
    struct fileset_manifest read = { 0 };

    *ret = (struct tree_files){ .manifest = manifest };
    if (read_manifest(arena, manifest, &read, err) < 0)
        return -1;
    ret->revision = read.revision;
    if (read.files.list.n > TREE_FETCH_FILES_MAX)
        return err_set(err, ERR_LIMIT, "the manifest has more than %d files", TREE_FETCH_FILES_MAX);
    ret->p = ARENA_ARRAY(arena, struct tree_file, read.files.list.n);
    VEC_EACH (&read.files.list, file) {
        const char *path = file->path[0] ? file->path : file->key;

        if (!fileset_path_is_safe(path))
            return err_set(err, ERR_INVALID, "the manifest has a file '%s'", path);
        ret->p[ret->n++] = (struct tree_file){
            .key = file->key, .path = path, .sha256 = file->sha256, .size = file->size
        };
    }
    return 0;
}

bool tree_file_has_hash(const char *path, const char *sha256)
{
    static const size_t part = (size_t)1 << 16;
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char hash[SHA256_HEX_SIZE];
    struct sha256 sum;
    char *room;
    ssize_t got;

    if (fd < 0)
        return false;
    room = mem_alloc(part);
    sha256_init(&sum);
    while ((got = read(fd, room, part)) > 0)
        sha256_add(&sum, room, (size_t)got);
    free(room);
    sha256_end_hex(&sum, hash);
    return got == 0 && strcasecmp(hash, sha256) == 0;
}

/* --- the end ------------------------------------------------------------------------ */

static void break_fetch(struct tree_fetch *fetch, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(fetch->problem) - 1);

    if (fetch->is_broken)
        return;
    fetch->is_broken = true;
    memcpy(fetch->problem, part.p, part.n);
    fetch->problem[part.n] = '\0';
}

static void free_fetch(struct tree_fetch *fetch)
{
    arena_done(&fetch->arena);
    free(fetch);
}

static void end_fetch(struct tree_fetch *fetch)
{
    const bool is_known = fetch->is_published && !fetch->is_broken;

    if (!fetch->is_dropped)
        fetch->options.done(fetch->options.self, fetch->is_broken ? fetch->problem : NULL,
                            is_known ? &fetch->files : NULL);
    free_fetch(fetch);
}

static void run_finish(struct chore *chore)
{
    struct tree_fetch *fetch = container_of(chore, struct tree_fetch, chore);
    struct err err;

    /* noted first: a machine that stops in between accepts no older tree than this one */
    if (!fetch->is_broken && (tree_trust_note(&fetch->options.trust, &fetch->offer, &err) < 0 ||
                              fetch->options.finish(fetch->options.self, &fetch->files, &err) < 0))
        break_fetch(fetch, err.text);
    (void)tree_remove(fetch->staging, &err); /* what was not moved away is of no use */
}

static void on_finished(struct chore *chore)
{
    end_fetch(container_of(chore, struct tree_fetch, chore));
}

static void finish_fetch(struct tree_fetch *fetch)
{
    if (fetch->is_dropped)
        end_fetch(fetch);
    else
        chore_begin(fetch->options.chores, &fetch->chore, run_finish, on_finished);
}

/* --- one file ----------------------------------------------------------------------- */

/* A file on its way to the disk: whole, or part by part. */
struct parcel {
    struct chore chore;
    struct tree_fetch *fetch;
    const struct tree_file *file;
    struct arena arena;
    struct str bytes;                    /* a copy */
    struct nats_object_reading *reading; /* of an object; waits while a part is written */
    int64_t size;                        /* of the parts so far */
    struct draft draft;
    bool has_draft;
    const char *problem; /* of the worker; NULL */
};

static void fetch_more(struct tree_fetch *fetch);

static void end_parcel(struct parcel *parcel, const char *problem)
{
    struct tree_fetch *fetch = parcel->fetch;

    if (problem)
        break_fetch(fetch, arena_printf(&fetch->arena, "'%s': %s", parcel->file->path, problem));
    if (parcel->has_draft)
        draft_done(&parcel->draft);
    arena_done(&parcel->arena);
    free(parcel);
    fetch->under_way--;
    fetch_more(fetch);
}

static int open_draft(struct parcel *parcel, enum fs_sync sync, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = sync };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, parcel->fetch->staging, parcel->file->path);

    if (parcel->has_draft)
        return 0;
    if (fs_mkdirs(path_dirname(&arena, path), FOLDER_MODE, err) < 0 ||
        draft_open(&parcel->draft, path, &options, err) < 0)
        return -1;
    parcel->has_draft = true;
    return 0;
}

static void note_problem(struct parcel *parcel, const struct err *err)
{
    parcel->problem = arena_strdup(&parcel->arena, err->text);
}

static void write_whole(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);
    struct err err;

    if (open_draft(parcel, FS_NO_SYNC, &err) < 0 ||
        draft_add(&parcel->draft, parcel->bytes, &err) < 0 ||
        draft_commit(&parcel->draft, &err) < 0)
        note_problem(parcel, &err);
}

static void on_stored(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);

    end_parcel(parcel, parcel->problem);
}

static void on_value(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct parcel *parcel = self;
    struct tree_fetch *fetch = parcel->fetch;
    char hash[SHA256_HEX_SIZE] = "";

    if (!error)
        sha256_hex(entry->value.p, entry->value.n, hash);
    if (error || strcasecmp(hash, parcel->file->sha256) != 0) {
        end_parcel(parcel, error ? error->text : "not the hash of the manifest");
    } else if (fetch->is_dropped) {
        end_parcel(parcel, NULL);
    } else {
        parcel->bytes = arena_str(&parcel->arena, entry->value);
        chore_begin(fetch->options.chores, &parcel->chore, write_whole, on_stored);
    }
}

/* --- one that comes in parts -------------------------------------------------------- */

static void write_part(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);
    struct err err;

    if (open_draft(parcel, FS_SYNC, &err) < 0 || draft_add(&parcel->draft, parcel->bytes, &err) < 0)
        note_problem(parcel, &err);
}

static void on_part_written(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);

    if (!parcel->problem && !parcel->fetch->is_dropped) {
        arena_clear(&parcel->arena);
        nats_object_continue(parcel->reading);
        return;
    }
    nats_object_stop(parcel->reading);
    end_parcel(parcel, parcel->problem);
}

static bool on_part(void *self, struct nats_object_reading *reading, struct str data)
{
    struct parcel *parcel = self;

    parcel->size += (int64_t)data.n;
    if (parcel->fetch->is_dropped || parcel->size > parcel->file->size)
        return true; /* the end says what is wrong */
    parcel->reading = reading;
    parcel->bytes = arena_str(&parcel->arena, data);
    chore_begin(parcel->fetch->options.chores, &parcel->chore, write_part, on_part_written);
    return false;
}

static void commit_parts(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);
    struct err err;

    if (draft_commit(&parcel->draft, &err) < 0)
        note_problem(parcel, &err);
}

static void on_object(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct parcel *parcel = self;
    char hash[SHA256_HEX_SIZE] = "";

    if (!error)
        hex_write(info->digest, sizeof(info->digest), hash);
    if (error)
        end_parcel(parcel, error->text);
    else if (strcasecmp(hash, parcel->file->sha256) != 0 || parcel->size != parcel->file->size)
        end_parcel(parcel, "not the hash of the manifest");
    else if (parcel->fetch->is_dropped)
        end_parcel(parcel, NULL);
    else
        chore_begin(parcel->fetch->options.chores, &parcel->chore, commit_parts, on_stored);
}

/* --- all of them -------------------------------------------------------------------- */

static const char *key_of(struct parcel *parcel)
{
    const char *blobs = parcel->fetch->blobs;

    return blobs ? arena_printf(&parcel->arena, "%s%s", blobs, parcel->file->sha256)
                 : parcel->file->key;
}

/* A value of the bucket, or an object that is named by its hash. */
static int begin_file(const struct tree_fetch *fetch, struct parcel *parcel, struct err *err)
{
    const struct nats_kv kv = { .js = fetch->options.js, .bucket = fetch->bucket };
    const struct nats_objects objects = { .js = fetch->options.js,
                                          .bucket = STORE_FILES,
                                          .direct = true };

    if (parcel->file->size == 0)
        return nats_kv_get(&kv, key_of(parcel), on_value, parcel, err);
    return nats_object_read(&objects, parcel->file->sha256, on_part, on_object, parcel, err);
}

static void fetch_file(struct tree_fetch *fetch, const struct tree_file *file)
{
    struct parcel *parcel = mem_zalloc(sizeof(*parcel));
    struct err err;

    parcel->fetch = fetch;
    parcel->file = file;
    fetch->under_way++;
    if (begin_file(fetch, parcel, &err) == 0)
        return;
    break_fetch(fetch, err.text);
    fetch->under_way--;
    arena_done(&parcel->arena);
    free(parcel);
}

static void fetch_more(struct tree_fetch *fetch)
{
    while (!fetch->is_dropped && !fetch->is_broken && fetch->under_way < WINDOW &&
           fetch->next < fetch->files.n) {
        const struct tree_file *file = &fetch->files.p[fetch->next++];

        if (file->is_needed)
            fetch_file(fetch, file);
    }
    if (fetch->under_way == 0)
        finish_fetch(fetch);
}

/* Better said at once than found when the disk is full. */
static int check_room(const struct tree_fetch *fetch, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    uint64_t needed = 0, room;
    struct statvfs vfs;

    for (size_t i = 0; i < fetch->files.n; i++)
        needed += fetch->files.p[i].is_needed ? (uint64_t)fetch->files.p[i].size : 0;
    if (needed == 0)
        return 0;
    if (fs_mkdirs(path_dirname(&arena, fetch->staging), FOLDER_MODE, err) < 0)
        return -1;
    if (statvfs(path_dirname(&arena, fetch->staging), &vfs) < 0)
        return 0; /* the disk says it, then */
    room = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    if (needed <= room)
        return 0;
    return err_set(err, ERR_LIMIT, "%llu bytes are needed in '%s', %llu are free",
                   (unsigned long long)needed, path_dirname(&arena, fetch->staging),
                   (unsigned long long)room);
}

static void run_choose(struct chore *chore)
{
    struct tree_fetch *fetch = container_of(chore, struct tree_fetch, chore);
    struct err err;

    if (tree_remove(fetch->staging, &err) < 0 ||
        tree_trust_check(&fetch->options.trust, &fetch->offer, &err) < 0 ||
        fetch->options.choose(fetch->options.self, &fetch->files, &err) < 0 ||
        check_room(fetch, &err) < 0)
        break_fetch(fetch, err.text);
}

static void on_chosen(struct chore *chore)
{
    fetch_more(container_of(chore, struct tree_fetch, chore));
}

static void end_or_choose(struct tree_fetch *fetch)
{
    if (!fetch->is_published || fetch->is_broken || fetch->is_dropped)
        end_fetch(fetch);
    else
        chore_begin(fetch->options.chores, &fetch->chore, run_choose, on_chosen);
}

static void on_signature(void *self, const struct nats_error *error,
                         const struct nats_kv_entry *entry)
{
    struct tree_fetch *fetch = self;

    if (!error)
        fetch->offer.signature = arena_str(&fetch->arena, entry->value);
    else if (error->fault != NATS_FAULT_NOT_FOUND)
        break_fetch(fetch, error->text);
    end_or_choose(fetch);
}

static int ask_signature(struct tree_fetch *fetch, struct err *err)
{
    const struct nats_kv kv = { .js = fetch->options.js, .bucket = fetch->bucket };

    return nats_kv_get(&kv, signature_key(&fetch->arena, fetch->manifest), on_signature, fetch,
                       err);
}

static void on_manifest(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct tree_fetch *fetch = self;
    struct err err;

    fetch->is_published = !error;
    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        break_fetch(fetch, error->text);
    if (!error)
        fetch->offer.manifest = arena_str(&fetch->arena, entry->value);
    if (!error && tree_files_parse(&fetch->arena, fetch->offer.manifest, &fetch->files, &err) < 0)
        break_fetch(fetch, err.text);
    if (error || fetch->is_broken || fetch->is_dropped)
        end_fetch(fetch);
    else if (fetch->options.trust.mode == TREE_TRUST_IGNORE)
        end_or_choose(fetch);
    else if (ask_signature(fetch, &err) < 0) {
        break_fetch(fetch, err.text);
        end_fetch(fetch);
    }
}

static void do_nothing(struct chore *chore)
{
    (void)chore;
}

struct tree_fetch *tree_fetch_begin(const struct tree_fetch_options *options)
{
    struct tree_fetch *fetch = mem_zalloc(sizeof(*fetch));
    const struct nats_kv kv = { .js = options->js, .bucket = options->bucket };
    struct err err;

    fetch->options = *options;
    fetch->bucket = arena_strdup(&fetch->arena, options->bucket);
    fetch->staging = arena_strdup(&fetch->arena, options->staging);
    fetch->blobs = options->blobs ? arena_strdup(&fetch->arena, options->blobs) : NULL;
    fetch->manifest =
        arena_strdup(&fetch->arena, options->manifest ? options->manifest : FILESET_MANIFEST);
    fetch->offer.place = signature_place(&fetch->arena, fetch->bucket, fetch->manifest);
    if (strcmp(fetch->manifest, CANARY_MANIFEST) == 0)
        fetch->offer.base = signature_place(&fetch->arena, fetch->bucket, FILESET_MANIFEST);
    if (nats_kv_get(&kv, fetch->manifest, on_manifest, fetch, &err) < 0) {
        break_fetch(fetch, err.text);
        chore_begin(fetch->options.chores, &fetch->chore, do_nothing, on_finished);
    }
    return fetch;
}

void tree_fetch_drop(struct tree_fetch *fetch)
{
    if (fetch)
        fetch->is_dropped = true; /* its last callback frees it */
}

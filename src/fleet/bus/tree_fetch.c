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
#include "core/sys/background_task.h"
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
    struct background_task background_task;
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

static int read_fetched_manifest(struct arena *arena, struct str bytes,
                                 struct fileset_manifest *ret, struct err *err)
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
    if (read_fetched_manifest(arena, manifest, &read, err) < 0)
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

static void end_tree_fetch(struct tree_fetch *fetch)
{
    const bool is_known = fetch->is_published && !fetch->is_broken;

    if (!fetch->is_dropped)
        fetch->options.done(fetch->options.self, fetch->is_broken ? fetch->problem : NULL,
                            is_known ? &fetch->files : NULL);
    free_fetch(fetch);
}

static void run_finish(struct background_task *background_task)
{
    struct tree_fetch *fetch = container_of(background_task, struct tree_fetch, background_task);
    struct err err;

    /* noted first: a machine that stops in between accepts no older tree than this one */
    if (!fetch->is_broken && (tree_trust_note(&fetch->options.trust, &fetch->offer, &err) < 0 ||
                              fetch->options.finish(fetch->options.self, &fetch->files, &err) < 0))
        break_fetch(fetch, err.text);
    (void)tree_remove(fetch->staging, &err); /* what was not moved away is of no use */
}

static void on_finished(struct background_task *background_task)
{
    end_tree_fetch(container_of(background_task, struct tree_fetch, background_task));
}

static void finish_tree_fetch(struct tree_fetch *fetch)
{
    if (fetch->is_dropped)
        end_tree_fetch(fetch);
    else
        background_task_begin(fetch->options.background_tasks, &fetch->background_task, run_finish,
                              on_finished);
}

/* --- one file ----------------------------------------------------------------------- */

/* A file on its way to the disk: whole, or part by part. */
struct tree_download {
    struct background_task background_task;
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

static void end_download(struct tree_download *tree_download, const char *problem)
{
    struct tree_fetch *fetch = tree_download->fetch;

    if (problem)
        break_fetch(fetch,
                    arena_printf(&fetch->arena, "'%s': %s", tree_download->file->path, problem));
    if (tree_download->has_draft)
        draft_done(&tree_download->draft);
    arena_done(&tree_download->arena);
    free(tree_download);
    fetch->under_way--;
    fetch_more(fetch);
}

static int open_download_draft(struct tree_download *tree_download, enum fs_sync sync,
                               struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = sync };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, tree_download->fetch->staging, tree_download->file->path);

    if (tree_download->has_draft)
        return 0;
    if (fs_mkdirs(path_dirname(&arena, path), FOLDER_MODE, err) < 0 ||
        draft_open(&tree_download->draft, path, &options, err) < 0)
        return -1;
    tree_download->has_draft = true;
    return 0;
}

static void note_download_problem(struct tree_download *tree_download, const struct err *err)
{
    tree_download->problem = arena_strdup(&tree_download->arena, err->text);
}

static void write_whole(struct background_task *background_task)
{
    struct tree_download *tree_download =
        container_of(background_task, struct tree_download, background_task);
    struct err err;

    if (open_download_draft(tree_download, FS_NO_SYNC, &err) < 0 ||
        draft_add(&tree_download->draft, tree_download->bytes, &err) < 0 ||
        draft_commit(&tree_download->draft, &err) < 0)
        note_download_problem(tree_download, &err);
}

static void on_tree_file_stored(struct background_task *background_task)
{
    struct tree_download *tree_download =
        container_of(background_task, struct tree_download, background_task);

    end_download(tree_download, tree_download->problem);
}

static void on_tree_value(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct tree_download *tree_download = self;
    struct tree_fetch *fetch = tree_download->fetch;
    char hash[SHA256_HEX_SIZE] = "";

    if (!error)
        sha256_hex(entry->value.p, entry->value.n, hash);
    if (error || strcasecmp(hash, tree_download->file->sha256) != 0) {
        end_download(tree_download, error ? error->text : "not the hash of the manifest");
    } else if (fetch->is_dropped) {
        end_download(tree_download, NULL);
    } else {
        tree_download->bytes = arena_str(&tree_download->arena, entry->value);
        background_task_begin(fetch->options.background_tasks, &tree_download->background_task,
                              write_whole, on_tree_file_stored);
    }
}

/* --- one that comes in parts -------------------------------------------------------- */

static void write_part(struct background_task *background_task)
{
    struct tree_download *tree_download =
        container_of(background_task, struct tree_download, background_task);
    struct err err;

    if (open_download_draft(tree_download, FS_SYNC, &err) < 0 ||
        draft_add(&tree_download->draft, tree_download->bytes, &err) < 0)
        note_download_problem(tree_download, &err);
}

static void on_part_written(struct background_task *background_task)
{
    struct tree_download *tree_download =
        container_of(background_task, struct tree_download, background_task);

    if (!tree_download->problem && !tree_download->fetch->is_dropped) {
        arena_clear(&tree_download->arena);
        nats_object_continue(tree_download->reading);
        return;
    }
    nats_object_stop(tree_download->reading);
    end_download(tree_download, tree_download->problem);
}

static bool on_part(void *self, struct nats_object_reading *reading, struct str data)
{
    struct tree_download *tree_download = self;

    tree_download->size += (int64_t)data.n;
    if (tree_download->fetch->is_dropped || tree_download->size > tree_download->file->size)
        return true; /* the end says what is wrong */
    tree_download->reading = reading;
    tree_download->bytes = arena_str(&tree_download->arena, data);
    background_task_begin(tree_download->fetch->options.background_tasks,
                          &tree_download->background_task, write_part, on_part_written);
    return false;
}

static void commit_parts(struct background_task *background_task)
{
    struct tree_download *tree_download =
        container_of(background_task, struct tree_download, background_task);
    struct err err;

    if (draft_commit(&tree_download->draft, &err) < 0)
        note_download_problem(tree_download, &err);
}

static void on_tree_object(void *self, const struct nats_error *error,
                           const struct nats_object_info *info)
{
    struct tree_download *tree_download = self;
    char hash[SHA256_HEX_SIZE] = "";

    if (!error)
        hex_write(info->digest, sizeof(info->digest), hash);
    if (error)
        end_download(tree_download, error->text);
    else if (strcasecmp(hash, tree_download->file->sha256) != 0 ||
             tree_download->size != tree_download->file->size)
        end_download(tree_download, "not the hash of the manifest");
    else if (tree_download->fetch->is_dropped)
        end_download(tree_download, NULL);
    else
        background_task_begin(tree_download->fetch->options.background_tasks,
                              &tree_download->background_task, commit_parts, on_tree_file_stored);
}

/* --- all of them -------------------------------------------------------------------- */

static const char *find_download_key(struct tree_download *tree_download)
{
    const char *blobs = tree_download->fetch->blobs;

    return blobs ? arena_printf(&tree_download->arena, "%s%s", blobs, tree_download->file->sha256)
                 : tree_download->file->key;
}

/* A value of the bucket, or an object that is named by its hash. */
static int begin_tree_file(const struct tree_fetch *fetch, struct tree_download *tree_download,
                           struct err *err)
{
    const struct nats_kv kv = { .js = fetch->options.js, .bucket = fetch->bucket };
    const struct nats_objects objects = { .js = fetch->options.js,
                                          .bucket = STORE_FILES,
                                          .direct = true };

    if (tree_download->file->size == 0)
        return nats_kv_get(&kv, find_download_key(tree_download), on_tree_value, tree_download,
                           err);
    return nats_object_read(&objects, tree_download->file->sha256, on_part, on_tree_object,
                            tree_download, err);
}

static void fetch_file(struct tree_fetch *fetch, const struct tree_file *file)
{
    struct tree_download *tree_download = mem_zalloc(sizeof(*tree_download));
    struct err err;

    tree_download->fetch = fetch;
    tree_download->file = file;
    fetch->under_way++;
    if (begin_tree_file(fetch, tree_download, &err) == 0)
        return;
    break_fetch(fetch, err.text);
    fetch->under_way--;
    arena_done(&tree_download->arena);
    free(tree_download);
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
        finish_tree_fetch(fetch);
}

/* Better said at once than found when the disk is full. */
static int check_disk_room(const struct tree_fetch *fetch, struct err *err)
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

static void run_choose(struct background_task *background_task)
{
    struct tree_fetch *fetch = container_of(background_task, struct tree_fetch, background_task);
    struct err err;

    if (tree_remove(fetch->staging, &err) < 0 ||
        tree_trust_check(&fetch->options.trust, &fetch->offer, &err) < 0 ||
        fetch->options.choose(fetch->options.self, &fetch->files, &err) < 0 ||
        check_disk_room(fetch, &err) < 0)
        break_fetch(fetch, err.text);
}

static void on_chosen(struct background_task *background_task)
{
    fetch_more(container_of(background_task, struct tree_fetch, background_task));
}

static void end_or_choose(struct tree_fetch *fetch)
{
    if (!fetch->is_published || fetch->is_broken || fetch->is_dropped)
        end_tree_fetch(fetch);
    else
        background_task_begin(fetch->options.background_tasks, &fetch->background_task, run_choose,
                              on_chosen);
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

static void on_tree_manifest(void *self, const struct nats_error *error,
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
        end_tree_fetch(fetch);
    else if (fetch->options.trust.mode == TREE_TRUST_IGNORE)
        end_or_choose(fetch);
    else if (ask_signature(fetch, &err) < 0) {
        break_fetch(fetch, err.text);
        end_tree_fetch(fetch);
    }
}

static void skip_work(struct background_task *background_task)
{
    (void)background_task;
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
    if (nats_kv_get(&kv, fetch->manifest, on_tree_manifest, fetch, &err) < 0) {
        break_fetch(fetch, err.text);
        background_task_begin(fetch->options.background_tasks, &fetch->background_task, skip_work,
                              on_finished);
    }
    return fetch;
}

void tree_fetch_drop(struct tree_fetch *fetch)
{
    if (fetch)
        fetch->is_dropped = true; /* its last callback frees it */
}

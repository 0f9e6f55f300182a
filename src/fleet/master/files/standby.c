#include "fleet/master/files/standby.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/master/files/publisher.h"
#include "fleet/master/files/tree_place.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/master/files/tree_sums.h"
#include "core/sys/background_task.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"
#include "fleet/wire/fileset.h"

#define STAGING     ".zester-incoming"
#define LOCK_FILE   ".zester-lock"
#define JOURNAL     ".zester-rollback"
#define JOURNAL_MAX 64
#define BASE_MAX    ((size_t)64 << 20)
#define SEALED_MAX  (FILESET_INLINE_MAX * 2)

/* An action on a file of the folder. */
struct act {
    const char *path;
    const struct tree_file *file; /* NULL: remove it */
    bool is_kept;                 /* save the local version first */
};

struct standby {
    struct standby_options options;
    struct arena arena;
    struct background_tasks background_tasks;
    const char *base, *staging, *lock_file, *journal;
    struct tree_fetch *fetch;
    bool is_leading;
    standby_restored_fn *restored; /* of the current restore */
    uint64_t restoring;
    char noted[SHA256_HEX_SIZE]; /* of the last noted manifest */
    char problem[ERR_TEXT_SIZE]; /* last logged problem */

    struct lock lock; /* of the worker: held while this master publishes from the folder */

    /* used by the worker, between choosing and finishing */
    struct arena plan;
    VEC(struct act) acts;
    size_t edits; /* locally changed files */
    bool has_base, is_foreign;
    struct tree_sums sums;
};

/* --- three versions ---------------------------------------------------------------------- */

/* Hash by path. */
struct version {
    struct map map;
};

static const char *find_file_hash(const struct version *version, const char *path)
{
    return map_find(&version->map, str_from(path));
}

static bool is_same_path(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

/* A key is the prefix of its kind and the path; other paths are unchanged. */
static const char *get_standby_path(const struct standby *standby, const struct tree_file *file)
{
    return file->path == file->key ? file->key + strlen(standby->options.kind->prefix) : file->path;
}

static void add_hash(struct arena *arena, struct version *version, const char *path,
                     const char *hash)
{
    (void)map_set(&version->map, str_from(path), arena_strdup(arena, hash));
}

static int read_here(struct standby *standby, struct version *ret, struct err *err)
{
    const struct publisher_kind *kind = standby->options.kind;
    struct tree_set set;

    if (tree_set_read(&standby->plan,
                      &(struct tree_set_options){ .folder = standby->options.folder,
                                                  .prefix = kind->prefix,
                                                  .prepare = kind->prepare,
                                                  .self = standby->options.secret,
                                                  .markers = kind->markers,
                                                  .sums = &standby->sums },
                      &set, err) < 0)
        return -1;
    VEC_EACH (&set.files, file)
        add_hash(&standby->plan, ret, file->path[0] ? file->path : file->key + strlen(kind->prefix),
                 file->sha256);
    return 0;
}

static int read_standby_base(struct standby *standby, struct version *ret, struct err *err)
{
    struct tree_files files;
    struct str manifest;

    if (fs_read(&standby->plan, standby->base, BASE_MAX, &manifest, err) < 0)
        return -1;
    /* changes by an interrupted rollback are not edits */
    standby->has_base = manifest.p && access(standby->journal, F_OK) < 0 &&
                        tree_files_parse(&standby->plan, manifest, &files, err) == 0;
    for (size_t i = 0; standby->has_base && i < files.n; i++)
        add_hash(&standby->plan, ret, get_standby_path(standby, &files.p[i]), files.p[i].sha256);
    return 0;
}

/* --- planning ---------------------------------------------------------------------------- */

static void plan_published(struct standby *standby, struct tree_file *file,
                           const struct version *here, const struct version *base)
{
    const char *path = get_standby_path(standby, file);
    const char *mine = find_file_hash(here, path), *last = find_file_hash(base, path);

    if (is_same_path(mine, file->sha256))
        return;
    if (is_same_path(last, file->sha256) ||
        (mine && standby->is_leading && !is_same_path(mine, last))) {
        standby->edits++;
        return;
    }
    file->is_needed = true;
    VEC_PUSH_IN(&standby->plan, &standby->acts,
                (struct act){ path, file, mine && !is_same_path(mine, last) });
}

static void plan_unpublished(struct standby *standby, const char *path, const char *mine,
                             const struct version *base)
{
    const char *last = find_file_hash(base, path);

    if (standby->has_base && !last)
        standby->edits++;
    else
        VEC_PUSH_IN(&standby->plan, &standby->acts,
                    (struct act){ path, NULL, !is_same_path(mine, last) });
}

static void plan_all(struct standby *standby, const struct tree_files *files,
                     const struct version *here, const struct version *base)
{
    struct map published = MAP_INIT_IN(&standby->plan);

    for (size_t i = 0; i < files->n; i++) {
        plan_published(standby, &files->p[i], here, base);
        (void)map_set(&published, str_from(get_standby_path(standby, &files->p[i])), standby);
    }
    MAP_EACH (&here->map, entry)
        if (!map_has(&published, entry->key))
            plan_unpublished(standby, entry->key.p, entry->value, base);
}

/* Another master on this machine publishes from the same folder. */
static bool is_shared(const struct standby *standby)
{
    pid_t holder = 0;
    struct err err;

    return lock_holder(standby->lock_file, &holder, &err) == 0 && holder != 0;
}

static bool is_foreign_tree(const struct standby *standby)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = standby->options.folder;

    return access(path_join(&arena, folder, ".git"), F_OK) == 0 ||
           (access(folder, F_OK) == 0 && access(folder, W_OK) < 0);
}

static void clear_plan(struct standby *standby)
{
    arena_clear(&standby->plan);
    standby->acts.p = NULL;
    standby->acts.n = standby->acts.cap = standby->edits = 0;
}

static int choose_standby_files(void *self, struct tree_files *files, struct err *err)
{
    struct standby *standby = self;
    struct version here = { MAP_INIT_IN(&standby->plan) }, base = { MAP_INIT_IN(&standby->plan) };

    clear_plan(standby);
    lock_drop(&standby->lock);
    standby->is_foreign = is_foreign_tree(standby) || is_shared(standby);
    if (standby->is_foreign)
        return 0;
    if (read_here(standby, &here, err) < 0 || read_standby_base(standby, &base, err) < 0)
        return -1;
    if (standby->has_base || !standby->is_leading)
        plan_all(standby, files, &here, &base);
    return 0;
}

/* --- acting ------------------------------------------------------------------------------ */

static int keep_aside(const struct standby *standby, const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *from = path_join(&arena, standby->options.folder, path);
    const char *to =
        path_join(&arena, path_join(&arena, standby->options.folder, STANDBY_KEPT), path);

    log_warning("'%s' conflicts with the published file: the published one is used, the local one "
                "is kept as '%s'",
                from, to);
    if (fs_mkdirs(path_dirname(&arena, to), 0700, err) < 0)
        return -1;
    return fs_copy(from, to, NULL, err);
}

static int place_file(const struct standby *standby, const struct act *act, struct err *err)
{
    const struct publisher_kind *kind = standby->options.kind;
    const mode_t mode = kind->open ? 0600 : FS_NEW_MODE;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *from = path_join(&arena, standby->staging, act->file->path);
    struct str bytes;

    if (!kind->open || act->file->size > 0)
        return tree_place_copy(standby->options.folder, act->path, from, mode, err);
    if (fs_read(&arena, from, SEALED_MAX, &bytes, err) < 0 ||
        kind->open(standby->options.secret, &arena, act->path, &bytes, err) < 0)
        return -1;
    return tree_place_text(standby->options.folder, act->path, bytes, mode, err);
}

static int do_act(const struct standby *standby, const struct act *act, struct err *err)
{
    if (act->is_kept && keep_aside(standby, act->path, err) < 0)
        return -1;
    return act->file ? place_file(standby, act, err)
                     : tree_place_remove(standby->options.folder, act->path, err);
}

static int write_base(const struct standby *standby, struct str manifest, struct err *err)
{
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP } };

    return fs_keep(standby->base, manifest, &options, err);
}

/* Removals come first: a folder may replace a file of the same name. */
static int do_acts(const struct standby *standby, struct err *err)
{
    if (standby->acts.n && fs_mkdirs(standby->options.folder, 0755, err) < 0)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        VEC_EACH (&standby->acts, act)
            if ((pass == 0) == !act->file) {
                if (do_act(standby, act, err) < 0)
                    return -1;
                crash_point("tree-file-placed");
            }
    return 0;
}

static int finish_files(void *self, const struct tree_files *files, struct err *err)
{
    struct standby *standby = self;

    if (do_acts(standby, err) < 0)
        return -1;
    if (standby->is_foreign || (standby->is_leading && !standby->has_base))
        return 0;
    if (fs_mkdirs(standby->options.folder, 0755, err) < 0 ||
        write_base(standby, files->manifest, err) < 0)
        return -1;
    return fs_unlink(standby->journal, err); /* of a rollback: superseded by other publications */
}

static void report_sync(struct standby *standby, const char *error)
{
    const struct str text = str_slice(str_from(error ? error : ""), 0, ERR_TEXT_SIZE - 1);

    if (error && strcmp(error, standby->problem) != 0)
        log_error("%s is not in sync: %s", standby->options.folder, error);
    memcpy(standby->problem, text.p, text.n);
    standby->problem[text.n] = '\0';
    if (error)
        return;
    if (standby->is_foreign)
        log_info("%s is left alone: it is a git checkout, is not writable, or another master "
                 "publishes from it",
                 standby->options.folder);
    else if (standby->acts.n || standby->edits)
        log_info("%s is in sync: changed=%zu edited_here=%zu", standby->options.folder,
                 standby->acts.n, standby->edits);
}

static void on_standby_fetched(void *self, const char *error, const struct tree_files *files)
{
    struct standby *standby = self;

    (void)files;
    standby->fetch = NULL;
    report_sync(standby, error);
    standby->options.synced(standby->options.self, error);
}

void standby_sync(struct standby *standby, bool is_leading, const char *manifest)
{
    if (standby->fetch)
        return;
    standby->is_leading = is_leading;
    standby->noted[0] = '\0';
    standby->fetch = tree_fetch_begin(
        &(struct tree_fetch_options){ .js = standby->options.js,
                                      .bucket = store_bucket_name(standby->options.kind->bucket),
                                      .manifest = manifest,
                                      .staging = standby->staging,
                                      .background_tasks = &standby->background_tasks,
                                      .trust = *standby->options.trust,
                                      .choose = choose_standby_files,
                                      .finish = finish_files,
                                      .done = on_standby_fetched,
                                      .self = standby });
}

/* --- an earlier revision ----------------------------------------------------------------- */

int standby_check(const struct standby *standby, struct err *err)
{
    const char *folder = standby->options.folder;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (access(path_join(&arena, folder, ".git"), F_OK) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' is a git checkout: revert the commit there instead", folder);
    if (access(folder, F_OK) == 0 && access(folder, W_OK) < 0)
        return err_set(err, ERR_UNSUPPORTED, "'%s' is not writable by this master", folder);
    return 0;
}

/* All differences. The local files were recorded before. */
static int choose_restored(void *self, struct tree_files *files, struct err *err)
{
    struct standby *standby = self;
    struct version here = { MAP_INIT_IN(&standby->plan) };

    clear_plan(standby);
    if (read_here(standby, &here, err) < 0)
        return -1;
    for (size_t i = 0; i < files->n; i++) {
        struct tree_file *file = &files->p[i];
        const char *path = get_standby_path(standby, file);

        file->is_needed = !is_same_path(map_remove(&here.map, str_from(path)), file->sha256);
        if (file->is_needed)
            VEC_PUSH_IN(&standby->plan, &standby->acts, (struct act){ path, file, false });
    }
    MAP_EACH (&here.map, entry)
        VEC_PUSH_IN(&standby->plan, &standby->acts, (struct act){ entry->key.p, NULL, false });
    return standby->acts.n ? standby_check(standby, err) : 0;
}

/* The journal exists until everything is done, so a killed master finishes the rollback before it
 * publishes anything. */
static int finish_restored(void *self, const struct tree_files *files, struct err *err)
{
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    struct standby *standby = self;
    AUTO_BUF struct buf text = BUF_INIT(32);

    (void)files;
    buf_printf(&text, "%" PRIu64 "\n", standby->restoring);
    if (fs_mkdirs(standby->options.folder, 0755, err) < 0 ||
        fs_replace(standby->journal, buf_view(&text), &options, err) < 0)
        return -1;
    if (do_acts(standby, err) < 0)
        return -1;
    return fs_unlink(standby->journal, err);
}

static void on_standby_restored(void *self, const char *error, const struct tree_files *files)
{
    struct standby *standby = self;
    AUTO_BUF struct buf text = BUF_INIT(ERR_TEXT_SIZE);
    struct err err;

    standby->fetch = NULL;
    standby->noted[0] = '\0';
    if (!error && !files) { /* then the rollback cannot be finished */
        buf_printf(&text, "revision %" PRIu64 " is not recorded", standby->restoring);
        (void)fs_unlink(standby->journal, &err);
    }
    if (error)
        buf_add_text(&text, error);
    standby->restored(standby->options.self, text.n ? buf_text(&text) : NULL, standby->acts.n);
}

void standby_restore(struct standby *standby, uint64_t revision, standby_restored_fn *fn)
{
    const char *tree = standby->options.kind->history;
    struct tree_trust trust = *standby->options.trust;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    trust.seen = NULL; /* older than the published tree on purpose */
    standby->restored = fn;
    standby->restoring = revision;
    standby->fetch = tree_fetch_begin(&(struct tree_fetch_options){
        .js = standby->options.js,
        .bucket = store_bucket_name(STORE_TREE_HISTORY),
        .manifest = arena_printf(&arena, FILESET_PAST_MANIFEST, tree, revision),
        .blobs = arena_printf(&arena, FILESET_PAST_BLOB, tree, ""),
        .staging = standby->staging,
        .background_tasks = &standby->background_tasks,
        .trust = trust,
        .choose = choose_restored,
        .finish = finish_restored,
        .done = on_standby_restored,
        .self = standby,
    });
}

uint64_t standby_unfinished(const struct standby *standby)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text;
    struct err err;

    if (fs_read(&arena, standby->journal, JOURNAL_MAX, &text, &err) < 0 || !text.p)
        return 0;
    return strtoull(text.p, NULL, 10);
}

bool standby_is_busy(const struct standby *standby)
{
    return standby->fetch != NULL;
}

/* --- own publications -------------------------------------------------------------------- */

struct note {
    struct background_task background_task;
    struct standby *standby;
    struct arena arena;
    struct str manifest;
};

static void write_note(struct background_task *background_task)
{
    const struct note *note = container_of(background_task, struct note, background_task);
    struct standby *standby = note->standby;
    struct err err;

    if (is_foreign_tree(standby))
        return;
    if ((standby->lock.fd < 0 &&
         lock_take(&standby->lock, standby->lock_file, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err) < 0) ||
        write_base(standby, note->manifest, &err) < 0)
        log_warning("%s: %s", standby->options.folder, err.text);
}

static void on_standby_noted(struct background_task *background_task)
{
    struct note *note = container_of(background_task, struct note, background_task);

    arena_done(&note->arena);
    free(note);
}

void standby_note(struct standby *standby, struct str manifest)
{
    struct note *note;
    char sum[SHA256_HEX_SIZE];

    sha256_hex(manifest.p, manifest.n, sum);
    if (strcmp(sum, standby->noted) == 0)
        return;
    memcpy(standby->noted, sum, sizeof(sum));
    note = mem_zalloc(sizeof(*note));
    note->standby = standby;
    note->manifest = arena_str(&note->arena, manifest);
    background_task_begin(&standby->background_tasks, &note->background_task, write_note,
                          on_standby_noted);
}

/* --- life -------------------------------------------------------------------------------- */

struct standby *standby_new(const struct standby_options *options, struct err *err)
{
    struct standby *standby = mem_zalloc(sizeof(*standby));

    standby->options = *options;
    standby->base = path_join(&standby->arena, options->folder, STANDBY_BASE);
    standby->staging = path_join(&standby->arena, options->folder, STAGING);
    standby->journal = path_join(&standby->arena, options->folder, JOURNAL);
    standby->lock_file = path_join(&standby->arena, options->folder, LOCK_FILE);
    standby->lock = (struct lock)LOCK_NONE;
    standby->sums = (struct tree_sums)TREE_SUMS_INIT;
    if (background_tasks_open_workers(&standby->background_tasks, options->loop, 1, err) == 0)
        return standby;
    standby_free(standby);
    return NULL;
}

void standby_free(struct standby *standby)
{
    if (!standby)
        return;
    tree_fetch_drop(standby->fetch);
    background_tasks_close(&standby->background_tasks);
    lock_drop(&standby->lock);
    tree_sums_done(&standby->sums);
    arena_done(&standby->plan);
    arena_done(&standby->arena);
    free(standby);
}

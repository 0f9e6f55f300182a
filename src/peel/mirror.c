#include "peel/mirror.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/sha256.h"
#include "bus/store.h"
#include "data/msgpack.h"
#include "nats/error.h"
#include "nats/kv.h"
#include "nats/object.h"
#include "sys/chance.h"
#include "sys/chore.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/path.h"
#include "sys/tree.h"
#include "wire/fileset.h"

#define FOLDER_MODE 0755
#define FILE_MODE   0644
#define FILE_MAX    ((size_t)64 << 20)
/* Files under way at once. */
#define WINDOW 8

/* One file of the manifest. */
struct item {
    const char *key, *path;
    const char *sha256;
    bool is_object; /* too large for a value */
    bool is_here;   /* in the folder, with this hash */
};

/* One pass from a manifest to the folder; belongs to the mirror, and outlives it until its last
 * callback. */
struct pass {
    struct chore chore;
    struct mirror *mirror; /* NULL: nobody waits for it */
    struct arena arena;
    struct nats_js js;
    const char *bucket, *folder, *staging;
    struct item *items;
    size_t count, next, under_way;
    bool is_broken, is_in_step;
    char problem[ERR_TEXT_SIZE];
};

struct mirror {
    struct mirror_options options;
    struct arena arena;
    struct chores chores;
    const char *staging;
    struct nats_js js;
    struct nats_sub *news;
    struct timer timer;
    struct pass *pass;
    int64_t retry;
    char problem[ERR_TEXT_SIZE]; /* that was logged */
    bool is_asked_again, has_synced;
};

bool mirror_path_is_safe(const char *path)
{
    struct str rest = str_from(path);

    if (rest.n == 0 || rest.n > MIRROR_PATH_MAX || path[0] == '/')
        return false;
    while (rest.p) {
        struct str part = str_cut(&rest, '/');

        if (part.n == 0 || str_eq_text(part, ".") || str_eq_text(part, ".."))
            return false;
    }
    return true;
}

/* --- the end of a pass ------------------------------------------------------------ */

static void set_timer(struct mirror *mirror, int64_t ns);
static void begin_pass(struct mirror *mirror);

static void free_pass(struct pass *pass)
{
    arena_done(&pass->arena);
    free(pass);
}

static void break_pass(struct pass *pass, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(pass->problem) - 1);

    if (pass->is_broken)
        return;
    pass->is_broken = true;
    memcpy(pass->problem, part.p, part.n);
    pass->problem[part.n] = '\0';
}

static void report_problem(struct mirror *mirror, const struct pass *pass)
{
    if (strcmp(mirror->problem, pass->problem) != 0)
        log_warning("files not synced, trying again bucket=%s error=%s", mirror->options.bucket,
                    pass->problem);
    memcpy(mirror->problem, pass->problem, sizeof(mirror->problem));
    set_timer(mirror, mirror->retry);
    mirror->retry = 2 * mirror->retry < MIRROR_RETRY_MAX ? 2 * mirror->retry : MIRROR_RETRY_MAX;
}

static void end_pass(struct pass *pass)
{
    struct mirror *mirror = pass->mirror;

    if (!mirror) {
        free_pass(pass);
        return;
    }
    mirror->pass = NULL;
    if (pass->is_broken) {
        report_problem(mirror, pass);
    } else {
        mirror->retry = MIRROR_RETRY;
        mirror->problem[0] = '\0';
        mirror->has_synced = true;
        if (!pass->is_in_step)
            log_info("files synced bucket=%s files=%zu", mirror->options.bucket, pass->count);
        mirror->options.synced(mirror->options.self, !pass->is_in_step);
    }
    free_pass(pass);
    if (mirror->is_asked_again && !timer_is_set(&mirror->timer))
        begin_pass(mirror);
    if (!mirror->pass)
        mirror->options.ended(mirror->options.self);
}

/* --- what the worker does --------------------------------------------------------- */

static bool has_hash(const char *path, const char *sha256)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char hash[SHA256_HEX_SIZE];
    struct str text;
    struct err err;

    if (fs_read(&arena, path, FILE_MAX, &text, &err) < 0 || !text.p)
        return false;
    sha256_hex(text.p, text.n, hash);
    return strcasecmp(hash, sha256) == 0;
}

static int count_file(void *self, enum tree_step step, const struct tree_entry *entry,
                      struct err *err)
{
    size_t *files = self;

    (void)entry;
    (void)err;
    *files += step == TREE_ENTRY;
    return 0;
}

static size_t count_files(const char *folder)
{
    size_t files = 0;
    struct fs_info info;
    struct err err;

    if (fs_stat(folder, &info, &err) < 0 || info.kind != FS_FOLDER)
        return 0;
    (void)tree_walk(folder, count_file, &files, &err);
    return files;
}

/* Which files are here already, and whether that is all. */
static void look_around(struct chore *chore)
{
    struct pass *pass = container_of(chore, struct pass, chore);
    size_t here = 0;

    for (size_t i = 0; i < pass->count; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct item *item = &pass->items[i];

        item->is_here = has_hash(path_join(&arena, pass->folder, item->path), item->sha256);
        here += item->is_here;
    }
    pass->is_in_step = here == pass->count && count_files(pass->folder) == here;
}

static int make_parent(struct arena *arena, const char *path, struct err *err)
{
    return fs_mkdirs(path_dirname(arena, path), FOLDER_MODE, err);
}

static int reuse_file(const struct pass *pass, const struct item *item, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *from = path_join(&arena, pass->folder, item->path);
    const char *to = path_join(&arena, pass->staging, item->path);

    return make_parent(&arena, to, err) < 0 ? -1 : fs_copy(from, to, &options, err);
}

/* In one step where the system can, else in two that are close together. */
static int swap_folders(const struct pass *pass, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *aside = arena_printf(&arena, "%s.old", pass->folder);
    struct fs_info info;

    if (fs_stat(pass->folder, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return fs_rename(pass->staging, pass->folder, err);
    if (renameat2(AT_FDCWD, pass->staging, AT_FDCWD, pass->folder, RENAME_EXCHANGE) == 0)
        return 0;
    if (tree_remove(aside, err) < 0 || fs_rename(pass->folder, aside, err) < 0 ||
        fs_rename(pass->staging, pass->folder, err) < 0)
        return -1;
    return tree_remove(aside, err);
}

static int finish_folder(struct pass *pass, struct err *err)
{
    for (size_t i = 0; i < pass->count; i++)
        if (pass->items[i].is_here && reuse_file(pass, &pass->items[i], err) < 0)
            return -1;
    if (fs_mkdirs(pass->staging, FOLDER_MODE, err) < 0 || swap_folders(pass, err) < 0)
        return -1;
    return tree_remove(pass->staging, err);
}

static void move_in(struct chore *chore)
{
    struct pass *pass = container_of(chore, struct pass, chore);
    struct err err;

    if (finish_folder(pass, &err) < 0)
        break_pass(pass, err.text);
}

static void on_moved_in(struct chore *chore)
{
    end_pass(container_of(chore, struct pass, chore));
}

/* --- fetching --------------------------------------------------------------------- */

/* One file that arrived, on its way to the disk. */
struct parcel {
    struct chore chore;
    struct pass *pass;
    const struct item *item;
    struct arena arena;
    struct buf data; /* of an object, as it comes */
    struct str bytes;
    const char *problem; /* of the worker; NULL */
};

static void fetch_more(struct pass *pass);

static void finish_fetching(struct pass *pass)
{
    if (pass->is_broken || !pass->mirror)
        end_pass(pass);
    else
        chore_begin(&pass->mirror->chores, &pass->chore, move_in, on_moved_in);
}

static void write_parcel(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };
    const char *path = path_join(&parcel->arena, parcel->pass->staging, parcel->item->path);
    struct err err;

    if (make_parent(&parcel->arena, path, &err) < 0 ||
        fs_replace(path, parcel->bytes, &options, &err) < 0)
        parcel->problem = arena_strdup(&parcel->arena, err.text);
}

static void on_parcel(struct chore *chore)
{
    struct parcel *parcel = container_of(chore, struct parcel, chore);
    struct pass *pass = parcel->pass;

    if (parcel->problem)
        break_pass(pass, parcel->problem);
    buf_done(&parcel->data);
    arena_done(&parcel->arena);
    free(parcel);
    pass->under_way--;
    fetch_more(pass);
}

static void take_file(struct parcel *parcel, const struct nats_error *error, struct str bytes)
{
    struct pass *pass = parcel->pass;
    char hash[SHA256_HEX_SIZE] = "";

    if (!error)
        sha256_hex(bytes.p, bytes.n, hash);
    if (error || strcasecmp(hash, parcel->item->sha256) != 0) {
        break_pass(pass, arena_printf(&pass->arena, "'%s': %s", parcel->item->path,
                                      error ? error->text : "not the hash of the manifest"));
    } else if (pass->mirror) {
        parcel->bytes = bytes.p == parcel->data.p ? bytes : arena_str(&parcel->arena, bytes);
        chore_begin(&pass->mirror->chores, &parcel->chore, write_parcel, on_parcel);
        return;
    }
    on_parcel(&parcel->chore);
}

static void on_file(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    take_file(self, error, error ? STR("") : entry->value);
}

static void on_data(void *self, struct str data)
{
    struct parcel *parcel = self;

    buf_add_str(&parcel->data, data);
}

static void on_object(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct parcel *parcel = self;

    (void)info;
    take_file(parcel, error, buf_view(&parcel->data));
}

/* A value of the bucket, or an object that is named by its hash. */
static int begin_fetch(const struct pass *pass, struct parcel *parcel, struct err *err)
{
    const struct nats_kv kv = { .js = pass->js, .bucket = pass->bucket };
    const struct nats_objects objects = { .js = pass->js, .bucket = STORE_FILES, .direct = true };

    if (!parcel->item->is_object)
        return nats_kv_get(&kv, parcel->item->key, on_file, parcel, err);
    return nats_object_get(&objects, parcel->item->sha256, on_data, on_object, parcel, err);
}

static void fetch_file(struct pass *pass, const struct item *item)
{
    struct parcel *parcel = mem_zalloc(sizeof(*parcel));
    struct err err;

    parcel->pass = pass;
    parcel->item = item;
    parcel->data.max = FILE_MAX;
    pass->under_way++;
    if (begin_fetch(pass, parcel, &err) == 0)
        return;
    break_pass(pass, err.text);
    pass->under_way--;
    free(parcel);
}

static void fetch_more(struct pass *pass)
{
    while (pass->mirror && !pass->is_broken && pass->under_way < WINDOW &&
           pass->next < pass->count) {
        const struct item *item = &pass->items[pass->next++];

        if (!item->is_here)
            fetch_file(pass, item);
    }
    if (pass->under_way == 0)
        finish_fetching(pass);
}

static void on_looked(struct chore *chore)
{
    struct pass *pass = container_of(chore, struct pass, chore);
    struct err err;

    if (!pass->mirror || pass->is_in_step) {
        end_pass(pass);
        return;
    }
    if (tree_remove(pass->staging, &err) < 0)
        break_pass(pass, err.text);
    fetch_more(pass);
}

/* --- the manifest ----------------------------------------------------------------- */

/* A map with the list, or the list alone. */
static int read_manifest(struct pass *pass, struct str bytes, struct fileset_files *ret,
                         struct err *err)
{
    struct fileset_manifest manifest = { 0 };
    struct value document, wrapped;

    if (msgpack_decode(&pass->arena, bytes, &document, err) < 0)
        return -1;
    if (document.kind == VALUE_LIST) {
        wrapped = value_map(value_map_new(&pass->arena, 1));
        value_map_set(&pass->arena, wrapped.map, value_text("files"), document);
        document = wrapped;
    }
    if (record_read(&pass->arena, &fileset_manifest_type, 0, &document, &manifest, err) < 0)
        return -1;
    *ret = manifest.files;
    return 0;
}

static int list_items(struct pass *pass, const struct fileset_files *files, struct err *err)
{
    if (files->list.n > MIRROR_FILES_MAX)
        return err_set(err, ERR_LIMIT, "the manifest has more than %d files", MIRROR_FILES_MAX);
    pass->items = ARENA_ARRAY(&pass->arena, struct item, files->list.n);
    for (size_t i = 0; i < files->list.n; i++) {
        const struct fileset_file *file = &files->list.p[i];

        const char *path = file->path[0] ? file->path : file->key;

        if (!mirror_path_is_safe(path))
            return err_set(err, ERR_INVALID, "the manifest has a file '%s'", path);
        pass->items[pass->count++] = (struct item){
            .key = file->key, .path = path, .sha256 = file->sha256, .is_object = file->size > 0
        };
        if (file->size > (int64_t)FILE_MAX)
            return err_set(err, ERR_LIMIT, "the file '%s' has more than %zu bytes", path, FILE_MAX);
    }
    return 0;
}

static void on_manifest(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct pass *pass = self;
    struct fileset_files files = { 0 };
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND) {
        pass->is_in_step = true; /* nothing was ever published: what is here stays */
        end_pass(pass);
    } else if (error) {
        break_pass(pass, error->text);
        end_pass(pass);
    } else if (read_manifest(pass, arena_str(&pass->arena, entry->value), &files, &err) < 0 ||
               list_items(pass, &files, &err) < 0) {
        break_pass(pass, err.text);
        end_pass(pass);
    } else if (!pass->mirror) {
        end_pass(pass);
    } else {
        chore_begin(&pass->mirror->chores, &pass->chore, look_around, on_looked);
    }
}

static void begin_pass(struct mirror *mirror)
{
    struct pass *pass;
    struct nats_kv kv = { .js = mirror->js, .bucket = mirror->options.bucket };
    struct err err;

    mirror->is_asked_again = mirror->pass != NULL;
    if (mirror->pass || !mirror->js.conn)
        return;
    pass = mem_zalloc(sizeof(*pass));
    pass->mirror = mirror;
    pass->js = mirror->js;
    pass->bucket = mirror->options.bucket;
    pass->folder = arena_strdup(&pass->arena, mirror->options.folder);
    pass->staging = arena_strdup(&pass->arena, mirror->staging);
    mirror->pass = pass;
    if (nats_kv_get(&kv, FILESET_MANIFEST, on_manifest, pass, &err) < 0) {
        break_pass(pass, err.text);
        end_pass(pass);
    }
}

/* --- news ------------------------------------------------------------------------- */

static void on_timer(struct timer *timer)
{
    begin_pass(container_of(timer, struct mirror, timer));
}

static void set_timer(struct mirror *mirror, int64_t ns)
{
    timer_set(loop_timers(mirror->options.loop), &mirror->timer, clock_after(clock_now(), ns),
              on_timer);
}

static void on_news(void *self, const struct nats_msg *msg)
{
    struct mirror *mirror = self;

    (void)msg;
    if (mirror->options.hasty)
        begin_pass(mirror);
    else if (!timer_is_set(&mirror->timer))
        set_timer(mirror, MIRROR_DEBOUNCE + (int64_t)(chance_number() % (uint64_t)MIRROR_JITTER));
}

static void abandon_pass(struct mirror *mirror)
{
    if (mirror->pass)
        mirror->pass->mirror = NULL;
    mirror->pass = NULL;
}

void mirror_connect(struct mirror *mirror, const struct nats_js *js)
{
    const char *subject =
        arena_printf(&mirror->arena, "$KV.%s." FILESET_REVISION, mirror->options.bucket);
    struct err err;

    if (js && mirror->js.conn == js->conn) { /* again: there may be news that nobody told */
        begin_pass(mirror);
        return;
    }
    abandon_pass(mirror);
    nats_sub_free(mirror->news);
    mirror->news = NULL;
    mirror->js = js ? *js : (struct nats_js){ 0 };
    if (!js)
        return;
    mirror->news = nats_sub_new(
        js->conn,
        &(struct nats_sub_options){ .subject = subject, .message = on_news, .self = mirror }, &err);
    if (!mirror->news)
        log_error("no news of files bucket=%s error=%s", mirror->options.bucket, err.text);
    begin_pass(mirror);
}

void mirror_hasten(struct mirror *mirror)
{
    if (!mirror->js.conn || !timer_is_set(&mirror->timer))
        return;
    timer_clear(loop_timers(mirror->options.loop), &mirror->timer);
    begin_pass(mirror);
}

bool mirror_is_busy(const struct mirror *mirror)
{
    return mirror->pass != NULL;
}

bool mirror_has_synced(const struct mirror *mirror)
{
    return mirror->has_synced;
}

/* --- life ------------------------------------------------------------------------- */

struct mirror *mirror_new(const struct mirror_options *options, struct err *err)
{
    struct mirror *mirror = mem_zalloc(sizeof(*mirror));

    mirror->options = *options;
    mirror->retry = MIRROR_RETRY;
    mirror->staging = arena_printf(&mirror->arena, "%s.staging", options->folder);
    if (chores_open_workers(&mirror->chores, options->loop, 1, err) < 0) {
        mirror_free(mirror);
        return NULL;
    }
    return mirror;
}

void mirror_free(struct mirror *mirror)
{
    if (!mirror)
        return;
    mirror_connect(mirror, NULL);
    chores_close(&mirror->chores);
    timer_clear(loop_timers(mirror->options.loop), &mirror->timer);
    arena_done(&mirror->arena);
    free(mirror);
}

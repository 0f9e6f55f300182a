#include "fleet/bus/mirror.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/chance.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/liveness.h"

#define FOLDER_MODE 0755
#define FILE_MODE   0644

/* The question for the record of a canary; it outlives the mirror that asked. */
struct record_request {
    struct mirror *mirror; /* NULL: no pending request */
};

struct mirror {
    struct mirror_options options;
    struct arena arena;
    struct background_tasks background_tasks;
    const char *staging;
    struct nats_js js;
    struct nats_sub *news;
    struct timer timer;
    struct record_request *record_request; /* before a fetch; NULL */
    struct tree_fetch *fetch;
    int64_t retry;
    char problem[ERR_TEXT_SIZE]; /* that was logged */
    char tree[LIVENESS_TREE_SIZE];
    bool is_asked_again, has_synced;
    bool is_canary; /* what the last fetch fetches */
};

/* --- what the worker does --------------------------------------------------------- */

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

/* Fetch what is not here already, and nothing when that is all. */
static int choose_mirror_files(void *self, struct tree_files *files, struct err *err)
{
    const struct mirror *mirror = self;
    size_t here = 0;

    (void)err;
    for (size_t i = 0; i < files->n; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct tree_file *file = &files->p[i];

        file->is_needed = !tree_file_has_hash(path_join(&arena, mirror->options.folder, file->path),
                                              file->sha256);
        here += !file->is_needed;
    }
    files->is_here = here == files->n && count_files(mirror->options.folder) == here;
    return 0;
}

/* A link, since files of the folder are never written in place; else a copy. */
static int reuse_file(const struct mirror *mirror, const struct tree_file *file, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *from = path_join(&arena, mirror->options.folder, file->path);
    const char *to = path_join(&arena, mirror->staging, file->path);

    if (fs_mkdirs(path_dirname(&arena, to), FOLDER_MODE, err) < 0)
        return -1;
    return link(from, to) == 0 ? 0 : fs_copy(from, to, &options, err);
}

/* Where the old folder is between the two steps of a swap. */
static const char *aside_of(struct arena *arena, const struct mirror *mirror)
{
    return arena_printf(arena, "%s.old", mirror->options.folder);
}

/* A machine that stopped between the two steps has the folder aside. */
static int restore_folder(const struct mirror *mirror, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *aside = aside_of(&arena, mirror);
    struct fs_info folder, old;

    if (fs_lstat(mirror->options.folder, &folder, err) < 0 || fs_lstat(aside, &old, err) < 0)
        return -1;
    if (folder.kind != FS_NONE || old.kind != FS_FOLDER)
        return 0;
    return fs_rename(aside, mirror->options.folder, err);
}

/* In one step where the system can, else in two that are close together. */
static int swap_folders(const struct mirror *mirror, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *aside = aside_of(&arena, mirror);
    struct fs_info info;

    if (fs_stat(mirror->options.folder, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return fs_rename(mirror->staging, mirror->options.folder, err);
    if (renameat2(AT_FDCWD, mirror->staging, AT_FDCWD, mirror->options.folder, RENAME_EXCHANGE) ==
        0)
        return 0;
    if (tree_remove(aside, err) < 0 || fs_rename(mirror->options.folder, aside, err) < 0 ||
        fs_rename(mirror->staging, mirror->options.folder, err) < 0)
        return -1;
    return tree_remove(aside, err);
}

/* One call for the whole file system: a tree may have many thousands of small files. Then the
 * folders change places, and that is on disk, too. */
static int publish_staging(const struct mirror *mirror, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (fs_mkdirs(mirror->staging, FOLDER_MODE, err) < 0 ||
        fs_sync_system(mirror->staging, err) < 0 || swap_folders(mirror, err) < 0)
        return -1;
    return fs_sync_folder(path_dirname(&arena, mirror->options.folder), err);
}

static int move_in(void *self, const struct tree_files *files, struct err *err)
{
    const struct mirror *mirror = self;

    if (files->is_here)
        return 0;
    for (size_t i = 0; i < files->n; i++)
        if (!files->p[i].is_needed && reuse_file(mirror, &files->p[i], err) < 0)
            return -1;
    return publish_staging(mirror, err);
}

/* --- fetching --------------------------------------------------------------------- */

static void set_mirror_timer(struct mirror *mirror, int64_t ns);
static void begin_fetch(struct mirror *mirror);

static void report_mirror_problem(struct mirror *mirror, const char *problem)
{
    const struct str part = str_slice(str_from(problem), 0, sizeof(mirror->problem) - 1);

    if (strcmp(mirror->problem, problem) != 0)
        mirror->options.failed(mirror->options.self, mirror->options.bucket, problem);
    memcpy(mirror->problem, part.p, part.n);
    mirror->problem[part.n] = '\0';
    set_mirror_timer(mirror, mirror->retry);
    mirror->retry = 2 * mirror->retry < MIRROR_RETRY_MAX ? 2 * mirror->retry : MIRROR_RETRY_MAX;
}

static void end_mirror_fetch(struct mirror *mirror, const char *problem,
                             const struct tree_files *files)
{
    if (problem) {
        report_mirror_problem(mirror, problem);
    } else {
        mirror->retry = MIRROR_RETRY;
        mirror->problem[0] = '\0';
        mirror->has_synced = true;
        if (files)
            liveness_name_tree(files->manifest, mirror->tree);
        mirror->options.synced(
            mirror->options.self,
            &(struct mirror_sync){ .bucket = mirror->options.bucket,
                                   .changed = files && !files->is_here,
                                   .files = files ? files->n : 0,
                                   .canary = mirror->is_canary ? files->revision : 0 });
    }
    if (mirror->is_asked_again && !timer_is_set(&mirror->timer))
        begin_fetch(mirror);
    if (!mirror_is_busy(mirror))
        mirror->options.ended(mirror->options.self);
}

/* Nothing was ever published: what is here stays. A canary without files has ended meanwhile. */
static void on_mirror_fetched(void *self, const char *problem, const struct tree_files *files)
{
    struct mirror *mirror = self;

    mirror->fetch = NULL;
    if (mirror->is_canary && !problem && !files)
        problem = "the canary has no files";
    end_mirror_fetch(mirror, problem, files);
}

static void fetch_set(struct mirror *mirror, bool is_canary)
{
    mirror->is_canary = is_canary;
    mirror->fetch = tree_fetch_begin(
        &(struct tree_fetch_options){ .js = mirror->js,
                                      .bucket = mirror->options.bucket,
                                      .manifest = is_canary ? CANARY_MANIFEST : NULL,
                                      .staging = mirror->staging,
                                      .background_tasks = &mirror->background_tasks,
                                      .trust = *mirror->options.trust,
                                      .choose = choose_mirror_files,
                                      .finish = move_in,
                                      .done = on_mirror_fetched,
                                      .self = mirror });
}

static void on_mirror_record(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct record_request *record_request = self;
    struct mirror *mirror = record_request->mirror;
    const struct mirror_options *options = mirror ? &mirror->options : NULL;

    free(record_request);
    if (!mirror)
        return;
    mirror->record_request = NULL;
    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        end_mirror_fetch(mirror, error->text, NULL);
    else
        fetch_set(mirror,
                  options->follows(options->self, error ? (struct str){ NULL, 0 } : entry->value));
}

static void ask_record(struct mirror *mirror)
{
    const struct nats_kv kv = { .js = mirror->js, .bucket = mirror->options.bucket };
    struct err err;

    mirror->record_request = mem_zalloc(sizeof(*mirror->record_request));
    mirror->record_request->mirror = mirror;
    if (nats_kv_get(&kv, CANARY_RECORD, on_mirror_record, mirror->record_request, &err) == 0)
        return;
    free(mirror->record_request);
    mirror->record_request = NULL;
    report_mirror_problem(mirror, err.text);
}

static void begin_fetch(struct mirror *mirror)
{
    mirror->is_asked_again = mirror_is_busy(mirror);
    if (mirror->is_asked_again || !mirror->js.conn)
        return;
    if (mirror->options.follows)
        ask_record(mirror);
    else
        fetch_set(mirror, false);
}

/* --- news ------------------------------------------------------------------------- */

static void on_mirror_timer(struct timer *timer)
{
    begin_fetch(container_of(timer, struct mirror, timer));
}

static void set_mirror_timer(struct mirror *mirror, int64_t ns)
{
    timer_set(loop_timers(mirror->options.loop), &mirror->timer, clock_after(clock_now(), ns),
              on_mirror_timer);
}

static void on_mirror_news(void *self, const struct nats_msg *msg)
{
    struct mirror *mirror = self;

    (void)msg;
    if (mirror->options.hasty)
        begin_fetch(mirror);
    else if (!timer_is_set(&mirror->timer))
        set_mirror_timer(mirror,
                         MIRROR_DEBOUNCE + (int64_t)(chance_number() % (uint64_t)MIRROR_JITTER));
}

void mirror_connect(struct mirror *mirror, const struct nats_js *js)
{
    const char *subject =
        arena_printf(&mirror->arena, "$KV.%s." FILESET_REVISION, mirror->options.bucket);
    struct err err;

    if (js && mirror->js.conn == js->conn) { /* again: changes may have been missed */
        begin_fetch(mirror);
        return;
    }
    tree_fetch_drop(mirror->fetch);
    mirror->fetch = NULL;
    if (mirror->record_request)
        mirror->record_request->mirror = NULL; /* its last callback frees it */
    mirror->record_request = NULL;
    nats_sub_free(mirror->news);
    mirror->news = NULL;
    mirror->js = js ? *js : (struct nats_js){ 0 };
    if (!js)
        return;
    mirror->news = nats_sub_new(
        js->conn,
        &(struct nats_sub_options){ .subject = subject, .message = on_mirror_news, .self = mirror },
        &err);
    if (!mirror->news)
        mirror->options.failed(mirror->options.self, mirror->options.bucket, err.text);
    begin_fetch(mirror);
}

void mirror_hasten(struct mirror *mirror)
{
    if (mirror->js.conn && timer_is_set(&mirror->timer))
        mirror_refresh(mirror);
}

void mirror_refresh(struct mirror *mirror)
{
    if (timer_is_set(&mirror->timer))
        timer_clear(loop_timers(mirror->options.loop), &mirror->timer);
    begin_fetch(mirror);
}

bool mirror_is_busy(const struct mirror *mirror)
{
    return mirror->fetch || mirror->record_request;
}

const char *mirror_problem(const struct mirror *mirror)
{
    return mirror->problem;
}

const char *mirror_tree(const struct mirror *mirror)
{
    return mirror->tree;
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
    if (restore_folder(mirror, err) < 0 ||
        background_tasks_open_workers(&mirror->background_tasks, options->loop, 1, err) < 0) {
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
    background_tasks_close(&mirror->background_tasks);
    timer_clear(loop_timers(mirror->options.loop), &mirror->timer);
    arena_done(&mirror->arena);
    free(mirror);
}

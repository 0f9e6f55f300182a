/*
 * Writers append framed records to `pending` under the mutex. Who needs them on
 * disk becomes the leader if there is none, takes all of `pending`, writes and
 * syncs it outside of the mutex, and wakes the others; those whose records were in
 * it are done, the next of the others leads. So a level of a thousand changes costs
 * a few dozen syncs.
 */
#include "undo/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/ksuid.h"
#include "data/msgpack.h"
#include "undo/stall.h"
#include "undo/undo_record.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/path.h"
#include "sys/tree.h"

#define COPY_NAME_SIZE 32

struct undo {
    struct arena arena;
    const char *root, *folder, *id;
    struct param_strs refs;
    int fd;
    pthread_mutex_t mutex;
    pthread_cond_t written;
    struct buf pending;
    uint64_t appended, flushed, synced; /* bytes of the journal */
    bool leading;                       /* somebody writes */
    bool folders_synced;
    bool broken;
    struct err why; /* of `broken` */
    uint32_t states;
    atomic_uint copies, large;
};

static struct undo *make(const char *data_dir, const char *run_id)
{
    struct undo *undo = mem_zalloc(sizeof(*undo));

    undo->fd = -1;
    undo->pending = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    undo->root = path_join(&undo->arena, data_dir, "undo");
    undo->folder = path_join(&undo->arena, undo->root, run_id);
    undo->id = arena_strdup(&undo->arena, run_id);
    (void)pthread_mutex_init(&undo->mutex, NULL);
    (void)pthread_cond_init(&undo->written, NULL);
    return undo;
}

struct undo *undo_new(const char *data_dir, const char *run_id, struct param_strs refs)
{
    struct undo *undo = make(data_dir, run_id);

    undo->refs = refs;
    return undo;
}

void undo_free(struct undo *undo)
{
    struct err ignored;

    if (!undo)
        return;
    (void)undo_flush(undo, &ignored); /* what had to be safe was synced by those who needed it */
    fd_close(&undo->fd);
    buf_done(&undo->pending);
    (void)pthread_cond_destroy(&undo->written);
    (void)pthread_mutex_destroy(&undo->mutex);
    arena_done(&undo->arena);
    free(undo);
}

bool undo_is_open(const struct undo *undo)
{
    return undo->fd >= 0;
}

bool undo_is_heavy(const struct undo *undo)
{
    return undo->appended >= UNDO_HEAVY_BYTES || atomic_load(&undo->large) > 0;
}

/* --- records ----------------------------------------------------------------------- */

/* Under the mutex. */
static void append(struct undo *undo, struct str framed)
{
    buf_add_str(&undo->pending, framed);
    undo->appended += framed.n;
}

static struct value run_record(struct undo *undo)
{
    struct value_map *map = undo_record_new(&undo->arena, UNDO_RUN);
    struct value_list *refs = value_list_new(&undo->arena, undo->refs.n);

    for (size_t i = 0; i < undo->refs.n; i++)
        value_list_push(&undo->arena, refs, value_text(undo->refs.p[i]));
    undo_record_set(&undo->arena, map, "id", value_text(undo->id));
    undo_record_set(&undo->arena, map, "time", value_int(clock_wall() / CLOCK_SECOND));
    undo_record_set(&undo->arena, map, "refs", value_list(refs));
    return value_map(map);
}

/* Under the mutex: the first record that is worth something makes folder and file. */
static int open_journal(struct undo *undo, struct err *err)
{
    if (undo->fd >= 0)
        return 0;
    if (fs_mkdirs(undo->root, 0700, err) < 0 || fs_mkdirs(undo->folder, 0700, err) < 0)
        return err_wrap(err, "begin the undo journal");
    undo->fd = open(path_join(&undo->arena, undo->folder, UNDO_JOURNAL_NAME),
                    O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (undo->fd < 0)
        return err_sys(err, errno, "create the undo journal in '%s'", undo->folder);
    return 0;
}

/* Under the mutex: the first record of all. */
static int append_run(struct undo *undo, struct err *err)
{
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    const struct value record = run_record(undo);

    if (undo_record_encode(&framed, &record, err) < 0)
        return err_wrap(err, "write the undo journal");
    append(undo, buf_view(&framed));
    return 0;
}

static int append_framed(struct undo *undo, const struct value *record, bool worth, struct err *err)
{
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    int rc;

    if (undo_record_encode(&framed, record, err) < 0)
        return err_wrap(err, "write the undo journal");
    (void)pthread_mutex_lock(&undo->mutex);
    rc = worth ? open_journal(undo, err) : 0;
    if (rc == 0)
        append(undo, buf_view(&framed));
    (void)pthread_mutex_unlock(&undo->mutex);
    return rc;
}

static int append_record(struct undo *undo, const struct value *record, struct err *err)
{
    return append_framed(undo, record, true, err);
}

/* Before a copy is written to its folder. */
static int open_early(struct undo *undo, struct err *err)
{
    int rc;

    (void)pthread_mutex_lock(&undo->mutex);
    rc = open_journal(undo, err);
    (void)pthread_mutex_unlock(&undo->mutex);
    return rc;
}

int undo_begin(struct undo *undo, struct arena *scratch, const struct undo_state *state,
               uint32_t *ret_number, struct err *err)
{
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    struct value_map *map = undo_record_new(scratch, UNDO_BEGIN);
    const struct value record = value_map(map);
    int rc;

    undo_record_set(scratch, map, "name", value_text(state->name));
    undo_record_set(scratch, map, "module", value_text(state->module));
    undo_record_set(scratch, map, "id", value_text(state->id));
    undo_record_set(scratch, map, "level", value_int(state->level));
    undo_record_set(scratch, map, "secret", value_bool(state->secret));
    if (state->hidden)
        undo_record_set(scratch, map, "hidden", value_bool(true));
    undo_record_set(scratch, map, "attempts", value_int(state->retry.attempts));
    undo_record_set(scratch, map, "interval", value_int(state->retry.interval));
    if (state->body)
        undo_record_set(scratch, map, "body", *state->body);
    if (undo_record_encode(&framed, &record, err) < 0)
        return err_wrap(err, "write the undo journal");
    (void)pthread_mutex_lock(&undo->mutex);
    rc = undo->appended > 0 ? 0 : append_run(undo, err);
    if (rc == 0) {
        append(undo, buf_view(&framed));
        *ret_number = undo->states++;
    }
    (void)pthread_mutex_unlock(&undo->mutex);
    return rc;
}

static struct value_map *about_state(struct arena *scratch, enum undo_kind kind, uint32_t number)
{
    struct value_map *map = undo_record_new(scratch, kind);

    undo_record_set(scratch, map, "state", value_int(number));
    return map;
}

int undo_keep(struct undo *undo, struct arena *scratch, uint32_t number, struct site *site,
              enum image_extent extent, const char *left, struct err *err)
{
    struct value_map *map = about_state(scratch, UNDO_IMAGE, number);
    const struct value record = value_map(map);
    struct image image;
    const char *copy = arena_printf(scratch, "copy-%u", atomic_fetch_add(&undo->copies, 1));

    if (open_early(undo, err) < 0 ||
        image_take(scratch, site, extent, undo->folder, copy, &image, err) < 0)
        return -1;
    if (image.copy)
        atomic_fetch_add(&undo->large, 1);
    undo_record_set(scratch, map, "image", image_encode(scratch, &image));
    if (left)
        undo_record_set(scratch, map, "left", value_bytes(str_from(left)));
    return append_record(undo, &record, err);
}

int undo_left(struct undo *undo, struct arena *scratch, uint32_t number, const char *path,
              const char *mark, struct err *err)
{
    struct value_map *map = about_state(scratch, UNDO_LEFT, number);
    const struct value record = value_map(map);

    undo_record_set(scratch, map, "path", value_bytes(str_from(path)));
    undo_record_set(scratch, map, "mark", value_bytes(str_from(mark)));
    return append_record(undo, &record, err);
}

int undo_note(struct undo *undo, struct arena *scratch, uint32_t number, const char *key,
              const struct value *v, struct err *err)
{
    struct value_map *map = about_state(scratch, UNDO_NOTE, number);
    const struct value record = value_map(map);

    undo_record_set(scratch, map, "key", value_text(key));
    undo_record_set(scratch, map, "value", *v);
    return append_record(undo, &record, err);
}

int undo_end(struct undo *undo, struct arena *scratch, uint32_t number, enum outcome outcome,
             struct err *err)
{
    struct value_map *map = about_state(scratch, UNDO_END, number);
    const struct value record = value_map(map);

    undo_record_set(scratch, map, "outcome", value_int(outcome));
    return append_framed(undo, &record, outcome != OUTCOME_UNCHANGED, err);
}

int undo_restored(struct undo *undo, struct arena *scratch, uint32_t number, struct err *err)
{
    const struct value record = value_map(about_state(scratch, UNDO_RESTORED, number));

    if (append_record(undo, &record, err) < 0)
        return -1;
    return undo_sync(undo, err);
}

int undo_reverted(struct undo *undo, struct arena *scratch, struct err *err)
{
    const struct value record = value_map(undo_record_new(scratch, UNDO_REVERTED));

    if (append_record(undo, &record, err) < 0)
        return -1;
    return undo_sync(undo, err);
}

/* --- to the disk ------------------------------------------------------------------- */

static int sync_folders(struct undo *undo, struct err *err)
{
    if (undo->folders_synced)
        return 0;
    if (fs_sync_folder(undo->folder, err) < 0 || fs_sync_folder(undo->root, err) < 0)
        return -1;
    undo->folders_synced = true;
    return 0;
}

static int put(struct undo *undo, struct str bytes, bool sync, struct err *err)
{
    if (fd_write(undo->fd, bytes.p, bytes.n, err) < 0)
        return err_wrap(err, "write the undo journal");
    if (!sync)
        return 0;
    if (fdatasync(undo->fd) < 0)
        return err_sys(err, errno, "sync the undo journal");
    return sync_folders(undo, err);
}

/* Under the mutex, which is let go of meanwhile: write all that is pending. */
static void lead(struct undo *undo, bool sync)
{
    struct buf batch = undo->pending;
    uint64_t upto = undo->appended;
    struct err why;
    int rc;

    undo->pending = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    undo->leading = true;
    (void)pthread_mutex_unlock(&undo->mutex);
    rc = put(undo, buf_view(&batch), sync, &why);
    buf_done(&batch);
    (void)pthread_mutex_lock(&undo->mutex);
    undo->leading = false;
    if (rc < 0) {
        undo->broken = true;
        undo->why = why;
    } else {
        undo->flushed = upto;
        undo->synced = sync ? upto : undo->synced;
    }
    (void)pthread_cond_broadcast(&undo->written);
}

static int settle(struct undo *undo, bool sync, struct err *err)
{
    const uint64_t *done = sync ? &undo->synced : &undo->flushed;
    bool stalled = sync && stall_begin();
    uint64_t want;
    int rc = 0;

    (void)pthread_mutex_lock(&undo->mutex);
    want = undo->fd >= 0 ? undo->appended : 0; /* beginnings alone are worth no file */
    while (*done < want && !undo->broken) {
        if (undo->leading)
            (void)pthread_cond_wait(&undo->written, &undo->mutex);
        else
            lead(undo, sync);
    }
    if (undo->broken) {
        *err = undo->why;
        rc = -1;
    }
    (void)pthread_mutex_unlock(&undo->mutex);
    stall_end(stalled);
    return rc;
}

int undo_sync(struct undo *undo, struct err *err)
{
    return settle(undo, true, err);
}

int undo_flush(struct undo *undo, struct err *err)
{
    return settle(undo, false, err);
}

struct undo *undo_reopen(const char *data_dir, const struct undo_run *run, struct err *err)
{
    struct undo *undo = make(data_dir, run->id);
    const char *path = path_join(&undo->arena, undo->folder, UNDO_JOURNAL_NAME);

    undo->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (undo->fd >= 0 && ftruncate(undo->fd, (off_t)run->size) == 0)
        return undo;
    err_sys(err, errno, "open the undo journal '%s'", path);
    undo_free(undo);
    return NULL;
}

/* --- old runs ---------------------------------------------------------------------- */

static int add_size(void *self, enum tree_step step, const struct tree_entry *entry,
                    struct err *err)
{
    uint64_t *sum = self;

    (void)err;
    if (step == TREE_ENTRY)
        *sum += entry->info.size;
    return 0;
}

int undo_prune(const char *data_dir, const char *keep, int64_t now, bool weigh, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const int64_t oldest = now - (int64_t)UNDO_KEEP_DAYS * 86400;
    struct undo_ids ids;
    uint64_t bytes = 0;

    if (undo_list(&arena, data_dir, &ids, err) < 0)
        return -1;
    for (size_t i = 0; i < ids.list.n; i++) {
        const char *folder = path_join(&arena, path_join(&arena, data_dir, "undo"), ids.list.p[i]);
        struct ksuid ksuid = { 0 };

        if (weigh && tree_walk(folder, add_size, &bytes, err) < 0)
            return -1;
        if (ksuid_parse(str_from(ids.list.p[i]), &ksuid, err) < 0)
            continue;
        if (i < UNDO_KEEP_RUNS && bytes <= UNDO_KEEP_BYTES && ksuid.seconds >= oldest)
            continue;
        if (strcmp(ids.list.p[i], keep) != 0 && tree_remove(folder, err) < 0)
            return -1;
    }
    return 0;
}

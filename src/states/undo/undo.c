/*
 * Writers append framed records to `pending` under the mutex. A writer that needs them on disk
 * becomes the leader if there is none, takes all of `pending`, writes and syncs it outside the
 * mutex, and wakes the others. Writers whose records were in it are done; one of the others leads
 * next. So a level of a thousand changes costs a few dozen syncs.
 */
#include "states/undo/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "states/undo/stall.h"
#include "states/undo/undo_record.h"

struct undo {
    struct arena arena;
    const char *data_dir, *id;
    const char *folder; /* NULL: not made yet */
    const char *file, *purpose;
    struct undo_head head;
    int64_t time;
    uint64_t salt;
    uint64_t records; /* of a new journal */
    bool marks;       /* of a revert, beside a journal that stays as it is */
    int fd;
    pthread_mutex_t mutex;
    pthread_cond_t written;
    struct buf pending;
    uint64_t appended, flushed, synced; /* bytes of the journal */
    bool leading;                       /* a leader is writing */
    bool folders_synced;
    bool broken;
    struct err why;       /* the error of `broken` */
    VEC(uint32_t) states; /* how many records each of them has */
    atomic_uint copies, large;
};

static struct undo *make_undo(const char *file, const char *purpose, const char *run_id)
{
    struct undo *undo = mem_zalloc(sizeof(*undo));

    undo->fd = -1;
    undo->pending = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    undo->file = file;
    undo->purpose = purpose;
    undo->id = arena_strdup(&undo->arena, run_id);
    undo->salt = chance_number();
    undo->time = clock_wall() / CLOCK_SECOND;
    (void)pthread_mutex_init(&undo->mutex, NULL);
    (void)pthread_cond_init(&undo->written, NULL);
    return undo;
}

struct undo *undo_new(const char *data_dir, const struct undo_head *head)
{
    struct undo *undo = make_undo(UNDO_JOURNAL_NAME, UNDO_JOURNAL_PURPOSE, head->run_id);

    undo->data_dir = arena_strdup(&undo->arena, data_dir);
    undo->head = *head;
    return undo;
}

static struct undo_record describe_undo_run(const struct undo *undo)
{
    const struct undo_head *head = &undo->head;

    return (struct undo_record){ .run = undo->id,
                                 .time = undo->time,
                                 .refs = head->refs,
                                 .function = head->function ? head->function : "",
                                 .by = head->by ? head->by : "",
                                 .records = undo->records };
}

struct undo *undo_reopen(const struct undo_run *run)
{
    struct undo *undo = make_undo(UNDO_MARKS_NAME, UNDO_MARKS_PURPOSE, run->place.id);

    undo->folder = arena_strdup(&undo->arena, run->place.folder);
    undo->marks = true;
    undo->appended = undo->flushed = undo->synced = run->marks_size;
    if (run->marks_size > 0)
        undo->salt = run->marks_salt;
    return undo;
}

/* Proves that the journal is complete. The journal is synced, the seal is not: after a crash now,
 * the run looks as if it had been killed. */
static void write_seal(struct undo *undo)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    const struct undo_record seal = describe_undo_run(undo);
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    struct err ignored;

    if (undo->fd < 0 || undo->marks || undo->broken)
        return;
    if (undo_record_encode(&framed, UNDO_SEAL, &seal, 0, &ignored) == 0)
        (void)fs_replace(path_join(&undo->arena, undo->folder, UNDO_SEAL_NAME), buf_view(&framed),
                         &how, &ignored);
}

void undo_free(struct undo *undo)
{
    struct err ignored;

    if (!undo)
        return;
    (void)undo_flush(undo, &ignored); /* records that must be safe are synced already */
    write_seal(undo);
    fd_close(&undo->fd);
    buf_done(&undo->pending);
    vec_done(&undo->states);
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

/* Under the mutex: create the folder with the first record worth keeping. */
static int make_undo_folder(struct undo *undo, struct err *err)
{
    const char *folder;

    if (undo->folder)
        return 0;
    if (undo_next_folder(&undo->arena, undo->data_dir, undo->id, &folder, err) < 0 ||
        fs_mkdirs(path_join(&undo->arena, undo->data_dir, "undo"), 0700, err) < 0 ||
        fs_mkdirs(folder, 0700, err) < 0)
        return err_wrap(err, "begin the undo journal");
    undo->folder = folder;
    return 0;
}

/* Under the mutex. Marks of earlier reverts are continued, a torn one is cut off. */
static int open_journal(struct undo *undo, struct err *err)
{
    if (undo->fd >= 0)
        return 0;
    if (make_undo_folder(undo, err) < 0)
        return -1;
    undo->fd = open(path_join(&undo->arena, undo->folder, undo->file),
                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (undo->marks ? 0 : O_EXCL), 0600);
    if (undo->fd < 0 || (undo->marks && ftruncate(undo->fd, (off_t)undo->appended) < 0))
        return err_sys(err, errno, "create the undo journal in '%s'", undo->folder);
    return 0;
}

static int encode_record_frame(struct buf *framed, const struct undo *undo, enum undo_kind kind,
                               const struct undo_record *record, struct err *err)
{
    if (undo_record_encode(framed, kind, record, undo->salt, err) < 0)
        return err_wrap(err, "write the undo journal");
    return 0;
}

/* Under the mutex. */
static void append_frame(struct undo *undo, struct str framed)
{
    buf_add_str(&undo->pending, framed);
    undo->appended += framed.n;
    undo->records++;
}

static void count_record(struct undo *undo, uint32_t state)
{
    (void)pthread_mutex_lock(&undo->mutex);
    undo->states.p[state]++;
    (void)pthread_mutex_unlock(&undo->mutex);
}

static uint32_t get_records(struct undo *undo, uint32_t state)
{
    uint32_t records;

    (void)pthread_mutex_lock(&undo->mutex);
    records = undo->states.p[state];
    (void)pthread_mutex_unlock(&undo->mutex);
    return records;
}

/* Under the mutex: what precedes the first record. */
static int append_head(struct undo *undo, struct err *err)
{
    const struct undo_record run = describe_undo_run(undo);
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);

    if (undo->appended > 0)
        return 0;
    if (!undo->marks && encode_record_frame(&framed, undo, UNDO_RUN, &run, err) < 0)
        return -1;
    frame_file_begin(&undo->pending, undo->purpose, undo->salt);
    undo->appended = undo->pending.n;
    if (!undo->marks)
        append_frame(undo, buf_view(&framed));
    return 0;
}

enum worth { WORTH_NOTHING, WORTH_A_FILE };

static int append_record(struct undo *undo, enum undo_kind kind, const struct undo_record *record,
                         enum worth worth, struct err *err)
{
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    int rc;

    if (encode_record_frame(&framed, undo, kind, record, err) < 0)
        return -1;
    (void)pthread_mutex_lock(&undo->mutex);
    rc = worth == WORTH_A_FILE ? open_journal(undo, err) : 0;
    if (rc == 0)
        rc = append_head(undo, err);
    if (rc == 0)
        append_frame(undo, buf_view(&framed));
    (void)pthread_mutex_unlock(&undo->mutex);
    return rc;
}

/* Records of a state are counted for its end record. */
static int append_counted(struct undo *undo, enum undo_kind kind, const struct undo_record *record,
                          struct err *err)
{
    if (append_record(undo, kind, record, WORTH_A_FILE, err) < 0)
        return -1;
    count_record(undo, record->state);
    return 0;
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

int undo_begin(struct undo *undo, const struct undo_state *state, uint32_t *ret_number,
               struct err *err)
{
    struct undo_record record = {
        .name = state->name,
        .module = state->module,
        .id = state->id,
        .shown = state->shown ? state->shown : "",
        .level = state->level,
        .secret = state->secret,
        .hidden = state->hidden,
        .retry = state->retry,
        .body = state->body ? *state->body : value_null(),
    };
    AUTO_BUF struct buf framed = BUF_INIT(UNDO_RECORD_MAX);
    int rc;

    (void)pthread_mutex_lock(&undo->mutex); /* numbers are in order in the journal */
    record.state = (uint32_t)undo->states.n;
    rc = append_head(undo, err);
    if (rc == 0)
        rc = encode_record_frame(&framed, undo, UNDO_BEGIN, &record, err);
    if (rc == 0) {
        append_frame(undo, buf_view(&framed));
        VEC_PUSH(&undo->states, 1);
        *ret_number = record.state;
    }
    (void)pthread_mutex_unlock(&undo->mutex);
    return rc;
}

int undo_keep(struct undo *undo, struct arena *scratch, uint32_t number, struct site *site,
              enum image_extent extent, const char *left, struct err *err)
{
    struct undo_record record = { .state = number, .mark = left };
    const char *copy = arena_printf(scratch, "copy-%u", atomic_fetch_add(&undo->copies, 1));

    if (open_early(undo, err) < 0 ||
        image_take(scratch, site, extent, undo->folder, copy, &record.image, err) < 0)
        return -1;
    if (record.image.copy)
        atomic_fetch_add(&undo->large, 1);
    return append_counted(undo, UNDO_IMAGE, &record, err);
}

int undo_left(struct undo *undo, uint32_t number, const char *path, const char *mark,
              struct err *err)
{
    const struct undo_record record = { .state = number, .path = path, .mark = mark };

    return append_counted(undo, UNDO_LEFT, &record, err);
}

int undo_note(struct undo *undo, uint32_t number, const char *key, const struct value *v,
              struct err *err)
{
    const struct undo_record record = { .state = number, .key = key, .value = *v };

    return append_counted(undo, UNDO_NOTE, &record, err);
}

int undo_end(struct undo *undo, uint32_t number, enum state_outcome outcome, struct err *err)
{
    const struct undo_record record = { .state = number,
                                        .outcome = outcome,
                                        .records = get_records(undo, number) };

    return append_record(undo, UNDO_END, &record,
                         outcome == OUTCOME_UNCHANGED ? WORTH_NOTHING : WORTH_A_FILE, err);
}

int undo_restored(struct undo *undo, uint32_t number, struct err *err)
{
    const struct undo_record record = { .state = number };

    if (append_record(undo, UNDO_RESTORED, &record, WORTH_A_FILE, err) < 0)
        return -1;
    return undo_sync(undo, err);
}

int undo_reverted(struct undo *undo, struct err *err)
{
    const struct undo_record record = { 0 };

    if (append_record(undo, UNDO_REVERTED, &record, WORTH_A_FILE, err) < 0)
        return -1;
    return undo_sync(undo, err);
}

/* --- writing ----------------------------------------------------------------------- */

static int sync_folders(struct undo *undo, struct err *err)
{
    if (undo->folders_synced)
        return 0;
    if (fs_sync_folder(undo->folder, err) < 0 ||
        fs_sync_folder(path_dirname(&undo->arena, undo->folder), err) < 0)
        return -1;
    undo->folders_synced = true;
    return 0;
}

static int put_undo_record(struct undo *undo, struct str bytes, bool sync, struct err *err)
{
    if (fd_write(undo->fd, bytes.p, bytes.n, err) < 0)
        return err_wrap(err, "write the undo journal");
    if (!sync)
        return 0;
    if (fdatasync(undo->fd) < 0)
        return err_sys(err, errno, "sync the undo journal");
    return sync_folders(undo, err);
}

/* Under the mutex, which is released during the write: write all pending records. */
static void lead_group_write(struct undo *undo, bool sync)
{
    struct buf batch = undo->pending;
    uint64_t upto = undo->appended;
    struct err why;
    int rc;

    undo->pending = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    undo->leading = true;
    (void)pthread_mutex_unlock(&undo->mutex);
    rc = put_undo_record(undo, buf_view(&batch), sync, &why);
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

static int settle_journal(struct undo *undo, bool sync, struct err *err)
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
            lead_group_write(undo, sync);
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
    return settle_journal(undo, true, err);
}

int undo_flush(struct undo *undo, struct err *err)
{
    return settle_journal(undo, false, err);
}

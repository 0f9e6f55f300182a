#include "core/runs/record_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "core/sys/chance.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/pool.h"

#define MODE 0600
/* Size of the start of a file: both copies of its salt. */
#define HEAD_MAX 256

/* --- writing ------------------------------------------------------------------------ */

/* Sets errno on failure. */
static int lock_file(int fd)
{
    int rc = flock(fd, LOCK_EX | LOCK_NB);

    if (rc == 0)
        return 0;
    pool_block_begin();
    do
        rc = flock(fd, LOCK_EX);
    while (rc < 0 && errno == EINTR);
    pool_block_end();
    return rc;
}

/* Is the locked file still the one with that name? A writer that replaced it held the lock before
 * us. */
static int open_locked(const char *path, int *ret_fd, size_t *ret_size, struct err *err)
{
    struct stat st;

    for (;;) {
        AUTO_FD int fd =
            open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, MODE);

        if (fd < 0 && errno == ENOENT)
            return err_set(err, ERR_NOT_FOUND, "the folder of '%s' does not exist", path);
        if (fd < 0)
            return err_sys(err, errno, "open '%s'", path);
        if (lock_file(fd) < 0 || fstat(fd, &st) < 0)
            return err_sys(err, errno, "lock '%s'", path);
        if (!S_ISREG(st.st_mode))
            return err_set(err, ERR_INVALID, "'%s' is not a file", path);
        if (st.st_nlink == 0)
            continue;
        *ret_fd = fd_take(&fd);
        *ret_size = (size_t)st.st_size;
        return 0;
    }
}

/* Each entry ends with an empty frame: without one, entries after a cut one would not be found. */
static bool ends_well(const struct record_log_writer *writer)
{
    char end[FRAME_HEAD];
    struct frame_head head;

    return writer->size >= sizeof(end) &&
           pread(writer->fd, end, sizeof(end), (off_t)(writer->size - sizeof(end))) ==
               (ssize_t)sizeof(end) &&
           frame_head_decode(end, writer->salt, &head) && head.length == 0;
}

/* False: it is new, of another kind, or damaged. */
static bool can_append(struct record_log_writer *writer)
{
    char head[HEAD_MAX];
    struct frame_scan scan = { 0 };
    struct err ignored;
    ssize_t n = writer->size > 0 ? pread(writer->fd, head, sizeof(head), 0) : 0;

    if (n <= 0 ||
        frame_file_open(&scan, (struct str){ head, (size_t)n }, writer->log->purpose, &ignored) < 0)
        return false;
    writer->salt = scan.salt;
    return ends_well(writer);
}

int record_log_open(struct record_log_writer *writer, const struct record_log *log, struct err *err)
{
    *writer = (struct record_log_writer){ .log = log, .fd = -1 };
    if (open_locked(log->path, &writer->fd, &writer->size, err) < 0)
        return -1;
    if (!can_append(writer))
        writer->size = 0; /* start over */
    return 0;
}

void record_log_close(struct record_log_writer *writer)
{
    if (writer->fd >= 0)
        (void)flock(writer->fd, LOCK_UN); /* now, also when a child has the file open */
    fd_close(&writer->fd);
}

static int encode_log_entry(struct buf *out, const struct record_log *log, uint64_t salt,
                            const struct record_part *parts, size_t count, struct err *err)
{
    const size_t start = frame_begin(out);

    for (size_t i = 0; i < count; i++)
        if (record_append(out, parts[i].type, parts[i].record, log->version, 0, err) < 0)
            return -1;
    if (frame_end(out, start, log->version, salt, err) < 0)
        return -1;
    return frame_end(out, frame_begin(out), log->version, salt, err);
}

/* A partial write to a full disk is undone. */
static int append_log_entry(const struct record_log_writer *writer, struct str entry,
                            struct err *err)
{
    if (fd_write(writer->fd, entry.p, entry.n, err) == 0)
        return 0;
    (void)!ftruncate(writer->fd, (off_t)writer->size); /* else readers skip the damage */
    return err_wrap(err, "write '%s'", writer->log->path);
}

int record_log_add(struct record_log_writer *writer, const struct record_part *parts, size_t count,
                   struct err *err)
{
    const struct fs_replace_options how = { .attr = { MODE, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC,
                                            .record = true };
    const struct record_log *log = writer->log;
    AUTO_BUF struct buf out = BUF_INIT(log->max);

    if (writer->size > 0) {
        if (encode_log_entry(&out, log, writer->salt, parts, count, err) < 0)
            return -1;
        if (writer->size + out.n <= RECORD_LOG_ROOM)
            return append_log_entry(writer, buf_view(&out), err);
        buf_clear(&out);
    }
    writer->salt = chance_number();
    frame_file_begin(&out, log->purpose, writer->salt);
    if (encode_log_entry(&out, log, writer->salt, parts, count, err) < 0)
        return -1;
    return fs_replace(log->path, buf_view(&out), &how, err);
}

/* --- reading ------------------------------------------------------------------------ */

static int report_log_damage(const struct record_log *log, struct err *err)
{
    return err_set(err, ERR_INVALID, "'%s': the checksum does not match", log->path);
}

/* The records of the last entry. `bytes` may be just the beginning of a large file, whose one entry
 * is then cut. */
static int find_log_entry(const struct record_log *log, struct str bytes, struct str *ret_records,
                          struct err *err)
{
    struct frame_scan scan = { 0 };
    struct frame frame;
    enum frame_step step;
    struct err ignored;

    *ret_records = bytes; /* from an older version, which held just one entry */
    if (frame_file_open(&scan, bytes, log->purpose, &ignored) < 0)
        return 0;
    *ret_records = (struct str){ 0 };
    while ((step = frame_next(&scan, &frame)) != FRAME_END) {
        if (step == FRAME_WHOLE && frame.payload.n > 0)
            *ret_records = frame.payload;
        else if (step == FRAME_TORN && !ret_records->p && frame.size > FRAME_HEAD)
            *ret_records = str_slice(bytes, frame.offset + FRAME_HEAD, frame.size - FRAME_HEAD);
    }
    return ret_records->p ? 0 : report_log_damage(log, err);
}

static int take_log_record(struct arena *arena, const struct record_log *log,
                           struct frame_scan *scan, const struct record_type *type, void *ret,
                           struct err *err)
{
    struct frame frame;

    if (frame_next(scan, &frame) != FRAME_WHOLE)
        return report_log_damage(log, err);
    if (frame.version > log->version)
        return err_set(err, ERR_UNSUPPORTED, "'%s': written by a newer version of zester",
                       log->path);
    if (type && record_decode(arena, type, frame.version, frame.payload, ret, err) < 0)
        return err_wrap(err, "'%s'", log->path);
    return 0;
}

int record_log_read_first(struct arena *arena, const struct record_log *log,
                          const struct record_type *type, size_t max, void *ret, struct err *err)
{
    const size_t room = RECORD_LOG_ROOM + HEAD_MAX + max;
    struct frame_scan scan = { 0 };
    AUTO_FD int fd = -1;
    struct fs_info info;
    char *bytes;
    size_t n;

    if (fs_open(log->path, &fd, &info, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", log->path);
    n = info.size < room ? (size_t)info.size : room;
    bytes = arena_alloc(arena, n + 1);
    if (fd_read(fd, bytes, n, &n, err) < 0)
        return err_wrap(err, "'%s'", log->path);
    if (find_log_entry(log, (struct str){ bytes, n }, &scan.bytes, err) < 0)
        return -1;
    return take_log_record(arena, log, &scan, type, ret, err);
}

int record_log_read_part(struct arena *arena, const struct record_log *log,
                         const struct record_type *type, size_t before, void *ret, struct err *err)
{
    struct frame_scan scan = { 0 };
    struct str bytes;

    if (fs_read(arena, log->path, log->max + RECORD_LOG_ROOM, &bytes, err) < 0)
        return -1;
    if (!bytes.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", log->path);
    if (find_log_entry(log, bytes, &scan.bytes, err) < 0)
        return -1;
    for (size_t i = 0; i <= before; i++) {
        if (scan.at == scan.bytes.n)
            return err_set(err, ERR_NOT_FOUND, "'%s' has fewer records", log->path);
        if (take_log_record(arena, log, &scan, i == before ? type : NULL, ret, err) < 0)
            return -1;
    }
    return 0;
}

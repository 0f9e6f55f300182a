#include "kepler/logs/cleared.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/checksum.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "kepler/logs/segment.h"
#include "core/sys/chance.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

enum { VERSION = 1 };

static const char file_name[] = "cleared", temp_name[] = "cleared.tmp";
static const char purpose[] = "cleared lines";

/* A record: lines of a service up to a number are cleared. */
struct cleared_entry {
    struct str service;
    uint64_t seq;
};

#define ARGS struct cleared_entry
static const struct record_field line_fields[] = {
    RECORD("service", BYTES, ARGS, service, RECORD_REQUIRED),
    RECORD("to", INT, ARGS, seq, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type line_type = RECORD_TYPE("cleared lines", ARGS, line_fields, 0);
#undef ARGS

static void keep_mark(struct cleared *cleared, struct str service, uint64_t seq)
{
    uint64_t *known = map_find(&cleared->seqs, service);

    if (!known) {
        known = ARENA_NEW(&cleared->arena, uint64_t);
        map_set(&cleared->seqs, arena_str(&cleared->arena, service), known);
    }
    *known = seq;
}

static void load_frames(struct cleared *cleared, struct frame_scan *scan)
{
    enum frame_step step;
    struct frame frame;

    cleared->salt = scan->salt;
    while ((step = frame_next(scan, &frame)) == FRAME_WHOLE || step == FRAME_DAMAGE) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct cleared_entry line;
        struct err err;

        if (step != FRAME_WHOLE ||
            record_decode(&arena, &line_type, frame.version, frame.payload, &line, &err) < 0)
            continue;
        keep_mark(cleared, line.service, line.seq);
        cleared->records++;
    }
    /* Without a record the beginning may be torn, too. */
    cleared->size = cleared->records ? frame.offset : 0;
}

/* The previous format: | check 8 | seq 8 | length 1 | name of the service |, little-endian. A
 * record that is not whole ended the file. */
static void load_old(struct cleared *cleared, struct str rest)
{
    enum { SEQ_AT = 8, LENGTH_AT = 16, NAME_AT = 17 };
    const size_t total = rest.n;
    uint64_t check, seq;

    while (rest.n >= NAME_AT) {
        const size_t n = NAME_AT + (unsigned char)rest.p[LENGTH_AT];

        memcpy(&check, rest.p, sizeof(check));
        memcpy(&seq, rest.p + SEQ_AT, sizeof(seq));
        if (rest.n < n || le64toh(check) != checksum(rest.p + SEQ_AT, n - SEQ_AT, 0))
            break;
        keep_mark(cleared, str_slice(rest, NAME_AT, n - NAME_AT), le64toh(seq));
        cleared->records++;
        rest = str_from_offset(rest, n);
    }
    cleared->size = total - rest.n;
    cleared->old = cleared->records > 0;
}

int cleared_load(struct cleared *cleared, int folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str bytes = { NULL, 0 };
    struct frame_scan scan;
    struct err ignored;

    cleared_done(cleared);
    AUTO_FD int fd = openat(folder, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(err, errno, "open '%s' of the log", file_name);
    if (fs_read_fd(&arena, fd, file_name, CLEARED_FILE_MAX, &bytes, err) < 0)
        return -1;
    if (frame_file_open(&scan, bytes, purpose, &ignored) == 0)
        load_frames(cleared, &scan);
    else
        load_old(cleared, bytes);
    return 0;
}

int cleared_mend(const struct cleared *cleared, int folder, struct err *err)
{
    AUTO_FD int fd = openat(folder, file_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || ftruncate(fd, (off_t)cleared->size) < 0)
        return err_sys(err, errno, "cut off the torn end of '%s' of the log", file_name);
    return 0;
}

void cleared_done(struct cleared *cleared)
{
    map_done(&cleared->seqs);
    arena_done(&cleared->arena);
    *cleared = (struct cleared){ 0 };
}

uint64_t cleared_find(const struct cleared *cleared, const char *service)
{
    const uint64_t *seq = map_find(&cleared->seqs, str_from(service));

    return seq ? *seq : 0;
}

uint64_t cleared_highest(const struct cleared *cleared)
{
    uint64_t highest = 0;

    MAP_EACH (&cleared->seqs, entry) {
        const uint64_t *seq = entry->value;

        if (*seq > highest)
            highest = *seq;
    }
    return highest;
}

static void add_cleared_record(struct buf *out, struct str service, uint64_t seq, uint64_t salt)
{
    const struct cleared_entry line = { service.n ? service : STR(""), seq };
    struct err ignored; /* the owner of the buffer checks whether it is full */

    assert(service.n <= SEGMENT_NAME_MAX);
    (void)record_append(out, &line_type, &line, VERSION, salt, &ignored);
}

/* Returns the salt of the new file. */
static uint64_t begin_cleared_file(struct buf *out)
{
    const uint64_t salt = chance_number();

    frame_file_begin(out, purpose, salt);
    return salt;
}

static int append_cleared_line(struct cleared *cleared, int folder, const char *service,
                               uint64_t seq, mode_t mode, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CLEARED_FILE_MAX);
    AUTO_FD int fd = openat(folder, file_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, errno, "open '%s' of the log", file_name);
    if (cleared->size == 0)
        cleared->salt = begin_cleared_file(&out);
    add_cleared_record(&out, str_from(service), seq, cleared->salt);
    if (fd_write(fd, out.p, out.n, err) < 0) {
        /* A torn record would hide those after it. */
        if (ftruncate(fd, st.st_size) < 0)
            (void)unlinkat(folder, file_name, 0);
        return err_wrap(err, "clear the lines of '%s'", service);
    }
    cleared->size += out.n;
    cleared->records++;
    return 0;
}

int cleared_add(struct cleared *cleared, int folder, const char *service, uint64_t seq, mode_t mode,
                struct err *err)
{
    if (cleared->old && cleared_rewrite(cleared, folder, 0, mode, err) < 0)
        return -1;
    if (append_cleared_line(cleared, folder, service, seq, mode, err) < 0)
        return -1;
    keep_mark(cleared, str_from(service), seq);
    return 0;
}

int cleared_rewrite(struct cleared *cleared, int folder, uint64_t oldest, mode_t mode,
                    struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CLEARED_FILE_MAX);
    const uint64_t salt = begin_cleared_file(&out);

    MAP_EACH (&cleared->seqs, entry) {
        const uint64_t *seq = entry->value;

        if (*seq >= oldest || entry->key.n == 0)
            add_cleared_record(&out, entry->key, *seq, salt);
    }
    AUTO_FD int fd =
        openat(folder, temp_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_sys(err, errno, "open '%s' of the log", temp_name);
    if (fd_write(fd, out.p, out.n, err) < 0) {
        (void)unlinkat(folder, temp_name, 0);
        return err_wrap(err, "write '%s' of the log", temp_name);
    }
    if (renameat(folder, temp_name, folder, file_name) < 0)
        return err_sys(err, errno, "replace '%s' of the log", file_name);
    return cleared_load(cleared, folder, err);
}

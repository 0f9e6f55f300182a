#include "logs/cleared.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/checksum.h"
#include "logs/segment.h"
#include "sys/fd.h"
#include "sys/fs.h"

enum {
    SEQ_AT = 8,
    LENGTH_AT = 16,
    NAME_AT = 17,
    RECORD_MAX = NAME_AT + SEGMENT_NAME_MAX,
};

static const char file_name[] = "cleared", temp_name[] = "cleared.tmp";

static size_t encode(struct str service, uint64_t seq, unsigned char out[static RECORD_MAX])
{
    uint64_t number = htole64(seq);

    assert(service.n <= SEGMENT_NAME_MAX);
    memcpy(out + SEQ_AT, &number, sizeof(number));
    out[LENGTH_AT] = (unsigned char)service.n;
    memcpy(out + NAME_AT, service.p, service.n);
    number = htole64(checksum(out + SEQ_AT, NAME_AT - SEQ_AT + service.n, 0));
    memcpy(out, &number, sizeof(number));
    return NAME_AT + service.n;
}

/* Takes one record from `rest`; false when there is no whole one. */
static bool decode(struct str *rest, struct str *ret_service, uint64_t *ret_seq)
{
    uint64_t check, seq;
    size_t length;

    if (rest->n < NAME_AT)
        return false;
    length = (unsigned char)rest->p[LENGTH_AT];
    if (rest->n < NAME_AT + length)
        return false;
    memcpy(&check, rest->p, sizeof(check));
    memcpy(&seq, rest->p + SEQ_AT, sizeof(seq));
    if (le64toh(check) != checksum(rest->p + SEQ_AT, NAME_AT - SEQ_AT + length, 0))
        return false;
    *ret_service = str_slice(*rest, NAME_AT, length);
    *ret_seq = le64toh(seq);
    *rest = str_from_offset(*rest, NAME_AT + length);
    return true;
}

static void keep(struct cleared *cleared, struct str service, uint64_t seq)
{
    uint64_t *known = map_find(&cleared->seqs, service);

    if (!known) {
        known = ARENA_NEW(&cleared->arena, uint64_t);
        map_set(&cleared->seqs, arena_str(&cleared->arena, service), known);
    }
    *known = seq;
}

int cleared_load(struct cleared *cleared, int folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = { NULL, 0 }, service;
    uint64_t seq;

    cleared_done(cleared);
    AUTO_FD int fd = openat(folder, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(err, errno, "open '%s' of the log", file_name);
    if (fs_read_fd(&arena, fd, file_name, CLEARED_FILE_MAX, &rest, err) < 0)
        return -1;
    cleared->size = rest.n;
    for (; decode(&rest, &service, &seq); cleared->records++)
        keep(cleared, service, seq);
    cleared->size -= rest.n;
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

int cleared_add(struct cleared *cleared, int folder, const char *service, uint64_t seq, mode_t mode,
                struct err *err)
{
    unsigned char record[RECORD_MAX];
    const size_t n = encode(str_from(service), seq, record);
    AUTO_FD int fd = openat(folder, file_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, errno, "open '%s' of the log", file_name);
    if (fd_write(fd, record, n, err) < 0) {
        /* A torn record would hide those behind it. */
        if (ftruncate(fd, st.st_size) < 0)
            (void)unlinkat(folder, file_name, 0);
        return err_wrap(err, "clear the lines of '%s'", service);
    }
    keep(cleared, str_from(service), seq);
    cleared->size += n;
    cleared->records++;
    return 0;
}

int cleared_rewrite(struct cleared *cleared, int folder, uint64_t oldest, mode_t mode,
                    struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CLEARED_FILE_MAX);
    unsigned char record[RECORD_MAX];

    MAP_EACH (&cleared->seqs, entry) {
        const uint64_t *seq = entry->value;

        if (*seq >= oldest || entry->key.n == 0)
            buf_add(&out, record, encode(entry->key, *seq, record));
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

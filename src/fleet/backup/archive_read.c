#include <inttypes.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/err.h"
#include "fleet/backup/archive_layout.h"

/* Places in the head. */
#define VERSION_AT 16
#define KIND_AT    20
#define PASSES_AT  24
#define MEMORY_AT  32
#define SALT_AT    40
#define MARK_AT    56
#define STREAM_AT  72
#define CHECK_AT   96

static uint64_t read_number(const char *bytes, size_t n)
{
    uint64_t number = 0;

    for (size_t i = n; i > 0; i--)
        number = number << 8 | (unsigned char)bytes[i - 1];
    return number;
}

/* --- the head ------------------------------------------------------------------------- */

_Static_assert(ARCHIVE_BEGIN == ARCHIVE_MAGIC_SIZE, "it begins with its magic bytes");

bool archive_has_begun(struct str bytes)
{
    return str_starts(bytes, (struct str){ ARCHIVE_MAGIC, ARCHIVE_MAGIC_SIZE });
}

static int check_head(const char *bytes, size_t n, struct err *err)
{
    const uint64_t version = n == ARCHIVE_HEAD_SIZE ? read_number(bytes + VERSION_AT, 4) : 0;

    if (!archive_has_begun((struct str){ bytes, n }))
        return err_set(err, ERR_INVALID, "not a backup of a fleet");
    if (n < ARCHIVE_HEAD_SIZE)
        return err_set(err, ERR_INVALID, "truncated: it ends after %zu bytes, within its head", n);
    if (checksum(bytes, CHECK_AT, 0) != read_number(bytes + CHECK_AT, ARCHIVE_CHECK_SIZE))
        return err_set(err, ERR_INVALID, "damaged: the check of its head does not match");
    if (version != ARCHIVE_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "a backup of version %" PRIu64 "; this program reads version %d", version,
                       ARCHIVE_VERSION);
    return 0;
}

static int decode_head(const char *bytes, struct archive_head *ret, struct err *err)
{
    const uint64_t kind = read_number(bytes + KIND_AT, 4);

    *ret = (struct archive_head){
        .kind = kind == ARCHIVE_KEY_FILE ? ARCHIVE_KEY_FILE : ARCHIVE_KEY_PASSPHRASE,
        .cost = { read_number(bytes + PASSES_AT, 8), read_number(bytes + MEMORY_AT, 8) },
    };
    memcpy(ret->salt, bytes + SALT_AT, sizeof(ret->salt));
    memcpy(ret->mark, bytes + MARK_AT, sizeof(ret->mark));
    memcpy(ret->stream, bytes + STREAM_AT, sizeof(ret->stream));
    if (kind > ARCHIVE_KEY_PASSPHRASE)
        return err_set(err, ERR_UNSUPPORTED, "unknown kind of key");
    if (kind == ARCHIVE_KEY_PASSPHRASE && (ret->cost.passes > SECRET_STREAM_PASSES_MAX ||
                                           ret->cost.memory > SECRET_STREAM_MEMORY_MAX))
        return err_set(err, ERR_LIMIT,
                       "the key of its passphrase takes more than %" PRIu64 " passes or %" PRIu64
                       " MiB",
                       SECRET_STREAM_PASSES_MAX, SECRET_STREAM_MEMORY_MAX >> 20);
    return 0;
}

int archive_read_head(struct archive_reader *reader, struct archive_head *ret_head, struct err *err)
{
    char bytes[ARCHIVE_HEAD_SIZE];
    size_t n;

    reader->sealed = (struct buf)BUF_INIT(ARCHIVE_SEALED_MAX);
    reader->plain = (struct buf)BUF_INIT(1 + ARCHIVE_HEAD_MAX);
    if (reader->read(reader->self, bytes, sizeof(bytes), &n, err) < 0)
        return -1;
    reader->offset = n;
    return check_head(bytes, n, err) < 0 ? -1 : decode_head(bytes, ret_head, err);
}

int archive_unlock(struct archive_reader *reader, const struct archive_head *head,
                   const unsigned char key[static SECRET_STREAM_KEY_SIZE], struct err *err)
{
    unsigned char mark[SECRET_STREAM_MARK_SIZE];

    secret_stream_mark(key, mark);
    if (memcmp(mark, head->mark, sizeof(mark)) != 0)
        return err_set(err, ERR_UNSAFE,
                       head->kind == ARCHIVE_KEY_FILE ? "wrong key file" : "wrong passphrase");
    return secret_stream_resume(&reader->stream, key, head->stream)
               ? 0
               : err_set(err, ERR_INVALID, "damaged: its head has no valid key");
}

/* --- messages ------------------------------------------------------------------------- */

static int tell_truncated(const struct archive_reader *reader, struct err *err)
{
    return err_set(err, ERR_INVALID, "truncated: it ends after %" PRIu64 " bytes%s%s",
                   reader->offset, reader->is_open ? ", within " : "",
                   reader->is_open ? reader->part.name : "");
}

static int tell_damaged(const struct archive_reader *reader, uint64_t at, struct err *err)
{
    return err_set(err, ERR_INVALID, "damaged at byte %" PRIu64 "%s%s", at,
                   reader->is_open ? ", within " : "", reader->is_open ? reader->part.name : "");
}

/* Reads `n` bytes: fewer are a truncated archive. */
static int read_exactly(struct archive_reader *reader, char *bytes, size_t n, struct err *err)
{
    size_t got;

    if (reader->read(reader->self, bytes, n, &got, err) < 0)
        return -1;
    reader->offset += got;
    return got == n ? 0 : tell_truncated(reader, err);
}

/* The next message into `plain`. */
static int read_message(struct archive_reader *reader, bool *ret_is_last, struct err *err)
{
    const uint64_t at = reader->offset;
    char length[ARCHIVE_LENGTH];
    size_t n;

    if (read_exactly(reader, length, sizeof(length), err) < 0)
        return -1;
    n = (size_t)read_number(length, sizeof(length));
    if (n <= SECRET_STREAM_EXTRA || n > ARCHIVE_SEALED_MAX)
        return tell_damaged(reader, at, err);
    buf_clear(&reader->sealed);
    if (read_exactly(reader, buf_reserve(&reader->sealed, n), n, err) < 0)
        return -1;
    reader->sealed.n = n;
    buf_clear(&reader->plain);
    return secret_stream_open(&reader->stream, buf_view(&reader->sealed), ret_is_last,
                              &reader->plain)
               ? 0
               : tell_damaged(reader, at, err);
}

static struct str payload_of(const struct archive_reader *reader)
{
    return str_from_offset(buf_view(&reader->plain), 1);
}

/* Everything below was sealed by its writer, so a mistake here is one of a program. */
static int tell_malformed(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, "malformed: %s", what);
}

static int note_info(struct archive_reader *reader, struct err *err)
{
    if (reader->has_info)
        return tell_malformed(err, "it has two heads");
    if (record_decode(&reader->info_arena, &archive_info_type, ARCHIVE_VERSION, payload_of(reader),
                      &reader->info, err) < 0)
        return err_wrap(err, "malformed");
    reader->has_info = true;
    return 0;
}

static int note_part(struct archive_reader *reader, struct err *err)
{
    if (reader->is_open)
        return tell_malformed(err, "a part begins within another");
    arena_clear(&reader->part_arena);
    reader->part = (struct archive_part){ 0 };
    if (record_decode(&reader->part_arena, &archive_part_type, ARCHIVE_VERSION, payload_of(reader),
                      &reader->part, err) < 0)
        return err_wrap(err, "malformed");
    reader->is_open = true;
    return 0;
}

static int note_data(struct archive_reader *reader, struct err *err)
{
    if (!reader->is_open)
        return tell_malformed(err, "data without a part");
    reader->bytes += (int64_t)payload_of(reader).n;
    return 0;
}

static int check_total(struct archive_reader *reader, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct archive_total total = { 0 };

    if (record_decode(&arena, &archive_total_type, ARCHIVE_VERSION, payload_of(reader), &total,
                      err) < 0)
        return err_wrap(err, "malformed");
    return total.parts == reader->parts && total.bytes == reader->bytes
               ? 0
               : tell_malformed(err, "it has not as many parts and bytes as it says");
}

static int note_part_end(struct archive_reader *reader, struct err *err)
{
    if (!reader->is_open)
        return tell_malformed(err, "a part ends that has not begun");
    reader->parts++;
    reader->is_open = false;
    return check_total(reader, err);
}

static int note_close(struct archive_reader *reader, struct err *err)
{
    char more;
    size_t n;

    if (reader->is_open)
        return tell_malformed(err, "it ends within a part");
    if (check_total(reader, err) < 0 || reader->read(reader->self, &more, 1, &n, err) < 0)
        return -1;
    return n == 0 ? 0
                  : err_set(err, ERR_INVALID,
                            "damaged: there are bytes after its end, from byte %" PRIu64 " on",
                            reader->offset);
}

static int (*const notes[])(struct archive_reader *reader, struct err *err) = {
    [ARCHIVE_INFO] = note_info,    [ARCHIVE_PART] = note_part,   [ARCHIVE_DATA] = note_data,
    [ARCHIVE_END] = note_part_end, [ARCHIVE_CLOSE] = note_close,
};

int archive_next(struct archive_reader *reader, struct archive_item *ret, struct err *err)
{
    bool is_last;
    size_t step = 0;

    if (read_message(reader, &is_last, err) < 0)
        return -1;
    while (step < sizeof(archive_letters) && archive_letters[step] != reader->plain.p[0])
        step++;
    if (step == sizeof(archive_letters))
        return tell_malformed(err, "a message of an unknown kind");
    if (is_last != (step == ARCHIVE_CLOSE) || (!reader->has_info && step != ARCHIVE_INFO))
        return tell_malformed(err, "its messages are not in order");
    if (notes[step](reader, err) < 0)
        return -1;
    *ret = (struct archive_item){ .step = (enum archive_step)step,
                                  .info = &reader->info,
                                  .part = &reader->part,
                                  .data =
                                      step == ARCHIVE_DATA ? payload_of(reader) : (struct str){ 0 },
                                  .parts = reader->parts,
                                  .bytes = reader->bytes };
    return 0;
}

void archive_reader_done(struct archive_reader *reader)
{
    buf_done(&reader->sealed);
    buf_done(&reader->plain);
    arena_done(&reader->info_arena);
    arena_done(&reader->part_arena);
}

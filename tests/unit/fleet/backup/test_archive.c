#include "fleet/backup/archive.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

#define SIZE ((size_t)600 << 10) /* three pieces */

static const unsigned char key[SECRET_STREAM_KEY_SIZE] = { 1, 2, 3 };

static int append_bytes(void *self, struct str bytes, struct err *err)
{
    (void)err;
    buf_add_str(self, bytes);
    return 0;
}

struct source {
    struct str bytes;
    size_t at;
};

static int read_bytes(void *self, void *bytes, size_t n, size_t *ret_n, struct err *err)
{
    struct source *source = self;
    const struct str piece = str_slice(source->bytes, source->at, n);

    (void)err;
    if (piece.n > 0)
        memcpy(bytes, piece.p, piece.n);
    source->at += piece.n;
    *ret_n = piece.n;
    return 0;
}

/* A file of SIZE bytes and an empty stream. */
static void write_archive(struct buf *out)
{
    struct archive_writer writer = { .write = append_bytes, .self = out };
    struct archive_head head = { .kind = ARCHIVE_KEY_FILE };
    const struct archive_info info = { .id = "b1", .fleet = "AC", .conf = "/etc/m.yaml" };
    const struct archive_part file = { .name = "/etc/m.yaml", .mode = 0600, .user = "root" };
    const struct archive_part stream = {
        .kind = ARCHIVE_STREAM, .name = "KV_jobs", .config = STR("{}"), .messages = 7
    };
    AUTO_FREE char *content = mem_zalloc(SIZE);
    struct err err;

    CHECK(archive_begin(&writer, &head, key, &info, &err) == 0);
    CHECK(archive_part(&writer, &file, &err) == 0);
    CHECK(archive_data(&writer, str_bytes(content, SIZE), &err) == 0);
    CHECK(archive_end(&writer, &err) == 0);
    CHECK(archive_part(&writer, &stream, &err) == 0);
    CHECK(archive_end(&writer, &err) == 0);
    CHECK(archive_close(&writer, &err) == 0);
    archive_writer_done(&writer);
}

/* Steps until the end, or -1. */
static int read_archive(struct str bytes, const unsigned char *with, struct err *err)
{
    struct source source = { bytes, 0 };
    struct archive_reader reader = { .read = read_bytes, .self = &source };
    struct archive_item item = { 0 };
    struct archive_head head;
    int steps = 0, result;

    result = archive_read_head(&reader, &head, err);
    if (result == 0)
        result = archive_unlock(&reader, &head, with, err);
    while (result == 0 && (steps == 0 || item.step != ARCHIVE_CLOSE)) {
        result = archive_next(&reader, &item, err);
        steps++;
    }
    archive_reader_done(&reader);
    return result < 0 ? -1 : steps;
}

TEST(what_was_written_is_read_in_pieces)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct source source;
    struct archive_reader reader = { .read = read_bytes, .self = &source };
    struct archive_item item;
    struct archive_head head;
    struct err err;

    write_archive(&bytes);
    source = (struct source){ buf_view(&bytes), 0 };
    CHECK(archive_read_head(&reader, &head, &err) == 0);
    CHECK(archive_unlock(&reader, &head, key, &err) == 0);
    CHECK(archive_next(&reader, &item, &err) == 0);
    CHECK_INT(item.step, ARCHIVE_INFO);
    CHECK_STR(item.info->fleet, "AC");
    CHECK(archive_next(&reader, &item, &err) == 0);
    CHECK_INT(item.step, ARCHIVE_PART);
    CHECK_STR(item.part->name, "/etc/m.yaml");
    CHECK_INT(item.part->mode, 0600);
    for (int i = 0; i < 3; i++) {
        CHECK(archive_next(&reader, &item, &err) == 0);
        CHECK_INT(item.step, ARCHIVE_DATA);
    }
    CHECK_INT(item.bytes, SIZE);
    CHECK(archive_next(&reader, &item, &err) == 0);
    CHECK_INT(item.step, ARCHIVE_END);
    CHECK(archive_next(&reader, &item, &err) == 0);
    CHECK_INT(item.part->kind, ARCHIVE_STREAM);
    CHECK_INT(item.part->messages, 7);
    archive_reader_done(&reader);
}

TEST(a_wrong_key_is_reported_as_such)
{
    static const unsigned char other[SECRET_STREAM_KEY_SIZE] = { 9 };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    write_archive(&bytes);
    CHECK_INT(read_archive(buf_view(&bytes), other, &err), -1);
    CHECK_INT(err.code, ERR_UNSAFE);
    CHECK_STR(err.text, "wrong key file");
}

TEST(a_flipped_bit_anywhere_is_damage)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    write_archive(&bytes);
    for (size_t at = 0; at < bytes.n; at += at < 400 ? 1 : bytes.n / 50) {
        bytes.p[at] ^= 4;
        CHECK_INT(read_archive(buf_view(&bytes), key, &err), -1);
        bytes.p[at] ^= 4;
    }
    CHECK_INT(read_archive(buf_view(&bytes), key, &err), 9);
}

TEST(an_archive_that_ends_early_is_truncated)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    write_archive(&bytes);
    for (size_t n = 16; n < bytes.n; n += n < 400 ? 1 : bytes.n / 50) {
        CHECK_INT(read_archive(str_slice(buf_view(&bytes), 0, n), key, &err), -1);
        CHECK_HAS(err.text, "truncated: it ends after ");
    }
}

TEST(bytes_after_the_end_are_damage)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    write_archive(&bytes);
    buf_add_char(&bytes, 'x');
    CHECK_INT(read_archive(buf_view(&bytes), key, &err), -1);
    CHECK_HAS(err.text, "there are bytes after its end");
}

TEST(another_file_is_not_a_backup)
{
    struct err err;

    CHECK_INT(read_archive(STR("hello"), key, &err), -1);
    CHECK_STR(err.text, "not a backup of a fleet");
}

#include <string.h>

#include "core/base/err.h"
#include "fleet/backup/archive_layout.h"

/* The message in `plain`, whose first byte is room for its kind. */
static int write_message(struct archive_writer *writer, enum archive_step step, struct err *err)
{
    struct buf *sealed = &writer->sealed;
    char length[ARCHIVE_LENGTH] = { 0 };
    size_t n;

    if (writer->plain.full || writer->plain.n > ARCHIVE_HEAD_MAX)
        return err_set(err, ERR_LIMIT, "a message of the backup is larger than %zu bytes",
                       ARCHIVE_HEAD_MAX);
    writer->plain.p[0] = archive_letters[step];
    buf_clear(sealed);
    buf_add(sealed, length, sizeof(length));
    if (!secret_stream_seal(&writer->stream, buf_view(&writer->plain), step == ARCHIVE_CLOSE,
                            sealed))
        return err_set(err, ERR_LIMIT, "a message of the backup is too large");
    n = sealed->n - sizeof(length);
    for (size_t i = 0; i < sizeof(length); i++)
        sealed->p[i] = (char)(n >> (8 * i) & 0xff);
    return writer->write(writer->self, buf_view(sealed), err);
}

static int write_record(struct archive_writer *writer, enum archive_step step,
                        const struct record_type *type, const void *record, struct err *err)
{
    buf_clear(&writer->plain);
    buf_add_char(&writer->plain, ' ');
    if (record_encode(&writer->plain, type, record, err) < 0)
        return -1;
    return write_message(writer, step, err);
}

int archive_begin(struct archive_writer *writer, struct archive_head *head,
                  const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                  const struct archive_info *info, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ARCHIVE_HEAD_SIZE);

    writer->plain = (struct buf)BUF_INIT(1 + ARCHIVE_HEAD_MAX);
    writer->sealed = (struct buf)BUF_INIT(ARCHIVE_LENGTH + ARCHIVE_SEALED_MAX);
    secret_stream_mark(key, head->mark);
    secret_stream_begin(&writer->stream, key, head->stream);
    archive_layout_print(head, &bytes);
    if (writer->write(writer->self, buf_view(&bytes), err) < 0)
        return -1;
    return write_record(writer, ARCHIVE_INFO, &archive_info_type, info, err);
}

int archive_part(struct archive_writer *writer, const struct archive_part *part, struct err *err)
{
    return write_record(writer, ARCHIVE_PART, &archive_part_type, part, err);
}

int archive_data(struct archive_writer *writer, struct str bytes, struct err *err)
{
    for (struct str piece; bytes.n > 0; bytes = str_from_offset(bytes, piece.n)) {
        piece = str_slice(bytes, 0, ARCHIVE_DATA_MAX);
        buf_clear(&writer->plain);
        buf_add_char(&writer->plain, ' ');
        buf_add_str(&writer->plain, piece);
        if (write_message(writer, ARCHIVE_DATA, err) < 0)
            return -1;
        writer->bytes += (int64_t)piece.n;
    }
    return 0;
}

static int write_total(struct archive_writer *writer, enum archive_step step, struct err *err)
{
    const struct archive_total total = { writer->parts, writer->bytes };

    return write_record(writer, step, &archive_total_type, &total, err);
}

int archive_end(struct archive_writer *writer, struct err *err)
{
    writer->parts++;
    return write_total(writer, ARCHIVE_END, err);
}

int archive_close(struct archive_writer *writer, struct err *err)
{
    return write_total(writer, ARCHIVE_CLOSE, err);
}

void archive_writer_done(struct archive_writer *writer)
{
    buf_done(&writer->plain);
    buf_done(&writer->sealed);
}

/* Any bytes are an archive or an error, and so are any messages that somebody with the key has
 * sealed: the first byte of the input says which. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/err.h"
#include "fleet/backup/archive_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char key[SECRET_STREAM_KEY_SIZE] = { 1 };

struct input {
    struct str bytes;
    size_t at;
};

static int read_input(void *self, void *bytes, size_t n, size_t *ret_n, struct err *err)
{
    struct input *input = self;
    const struct str piece = str_slice(input->bytes, input->at, n);

    (void)err;
    if (piece.n > 0)
        memcpy(bytes, piece.p, piece.n);
    input->at += piece.n;
    *ret_n = piece.n;
    return 0;
}

static void read_archive(struct str bytes)
{
    struct input input = { bytes, 0 };
    struct archive_reader reader = { .read = read_input, .self = &input };
    struct archive_item item = { 0 };
    struct archive_head head;
    int64_t before = 0;
    struct err err;
    int result;

    result = archive_read_head(&reader, &head, &err);
    if (result == 0)
        result = archive_unlock(&reader, &head, key, &err);
    while (result == 0 && item.step != ARCHIVE_CLOSE) {
        result = archive_next(&reader, &item, &err);
        assert(result < 0 || item.bytes >= before);
        before = item.bytes;
    }
    archive_reader_done(&reader);
}

/* Messages are separated by two line ends. */
static void seal_messages(struct str text, struct buf *out)
{
    struct archive_head head = { .kind = ARCHIVE_KEY_FILE };
    struct secret_stream stream;
    size_t from = 0;

    secret_stream_mark(key, head.mark);
    secret_stream_begin(&stream, key, head.stream);
    archive_layout_print(&head, out);
    while (from < text.n) {
        const size_t found = str_find(text, STR("\n\n"), from);
        const size_t end = found == STR_NONE ? text.n : found;
        const size_t start = out->n;
        size_t n;

        buf_add(out, "\0\0\0\0", ARCHIVE_LENGTH);
        (void)secret_stream_seal(&stream, str_slice(text, from, end - from), end == text.n, out);
        n = out->n - start - ARCHIVE_LENGTH;
        for (size_t i = 0; i < ARCHIVE_LENGTH; i++)
            out->p[start + i] = (char)(n >> (8 * i) & 0xff);
        from = end + 2;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF struct buf sealed = BUF_INIT(BUF_NO_LIMIT);
    const struct str input = str_bytes(data, size);

    if (size > 0 && data[0] % 2 == 0) {
        read_archive(str_from_offset(input, 1));
    } else {
        seal_messages(str_from_offset(input, 1), &sealed);
        read_archive(buf_view(&sealed));
    }
    return 0;
}

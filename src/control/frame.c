#include "control/frame.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

static int check_size(size_t size, struct err *err)
{
    if (size > FRAME_MAX)
        return err_set(err, ERR_LIMIT, "a message of %zu bytes is larger than %zu", size,
                       FRAME_MAX);
    return 0;
}

size_t frame_begin(struct buf *out)
{
    size_t start = out->n;

    buf_fill(out, '\0', FRAME_HEAD);
    return start;
}

int frame_end(struct buf *out, size_t start, struct err *err)
{
    size_t size;

    if (out->full)
        return err_set(err, ERR_LIMIT, "no room for a message: %zu bytes wait already", out->n);
    size = out->n - start - FRAME_HEAD;
    if (check_size(size, err) < 0)
        return -1;
    for (size_t i = 0; i < FRAME_HEAD; i++)
        out->p[start + i] = (char)(unsigned char)(size >> (8 * (FRAME_HEAD - 1 - i)));
    return 0;
}

int frame_find(struct str bytes, struct str *ret_payload, struct err *err)
{
    size_t size = 0;

    *ret_payload = (struct str){ NULL, 0 };
    if (bytes.n < FRAME_HEAD)
        return 0;
    for (size_t i = 0; i < FRAME_HEAD; i++)
        size = size << 8 | (unsigned char)bytes.p[i];
    if (check_size(size, err) < 0)
        return -1;
    if (bytes.n - FRAME_HEAD >= size)
        *ret_payload = str_slice(bytes, FRAME_HEAD, size);
    return 0;
}

#include "core/base/hex.h"

#include "core/base/buf.h"
#include "core/base/err.h"

static const char digits[] = "0123456789abcdef";

void hex_write(const void *bytes, size_t n, char *text)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++) {
        *text++ = digits[p[i] >> 4];
        *text++ = digits[p[i] & 15];
    }
    *text = '\0';
}

void hex_encode(struct str bytes, struct buf *out)
{
    char *room = buf_reserve(out, mem_product(bytes.n, 2));

    if (!room)
        return;
    hex_write(bytes.p, bytes.n, room);
    out->n += 2 * bytes.n;
}

static int decode_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int hex_decode(struct str text, struct buf *out, struct err *err)
{
    char *room;

    if (text.n % 2 != 0)
        return err_set(err, ERR_INVALID, "hexadecimal text with half a byte at its end");
    for (size_t i = 0; i < text.n; i++)
        if (decode_hex_digit(text.p[i]) < 0)
            return err_set(err, ERR_INVALID, "byte %zu is not a hexadecimal digit", i + 1);
    room = buf_reserve(out, text.n / 2);
    if (!room)
        return err_set(err, ERR_LIMIT, "hexadecimal text decodes to more than %zu bytes", out->max);
    for (size_t i = 0; i < text.n; i += 2)
        *room++ = (char)(decode_hex_digit(text.p[i]) << 4 | decode_hex_digit(text.p[i + 1]));
    *room = '\0';
    out->n += text.n / 2;
    return 0;
}

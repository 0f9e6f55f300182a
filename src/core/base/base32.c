#include "core/base/base32.h"

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

void base32_encode(struct str bytes, struct buf *out)
{
    size_t length = bytes.n / 5 * 8 + (bytes.n % 5 * 8 + 4) / 5;
    char *room = buf_reserve(out, length);
    uint32_t bits = 0;
    unsigned have = 0;

    if (!room)
        return;
    for (size_t i = 0; i < bytes.n; i++) {
        bits = bits << 8 | (unsigned char)bytes.p[i];
        for (have += 8; have >= 5; have -= 5)
            *room++ = alphabet[bits >> (have - 5) & 31];
    }
    if (have > 0)
        *room++ = alphabet[bits << (5 - have) & 31];
    *room = '\0';
    out->n += length;
}

static int decode_base32_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

int base32_decode(struct str text, struct buf *out, struct err *err)
{
    size_t n = text.n / 8 * 5 + text.n % 8 * 5 / 8;
    uint32_t bits = 0;
    unsigned have = 0;
    char *room;

    for (size_t i = 0; i < text.n; i++)
        if (decode_base32_digit(text.p[i]) < 0)
            return err_set(err, ERR_INVALID, "a character that is not base32");
    if (text.n % 8 == 1 || text.n % 8 == 3 || text.n % 8 == 6)
        return err_set(err, ERR_INVALID, "base32 text with part of a byte at its end");
    room = buf_reserve(out, n);
    if (!room)
        return err_set(err, ERR_LIMIT, "base32 text decodes to more than %zu bytes", out->max);
    for (size_t i = 0, k = 0; i < text.n; i++) {
        bits = bits << 5 | (uint32_t)decode_base32_digit(text.p[i]);
        have += 5;
        if (have >= 8)
            room[k++] = (char)(bits >> (have -= 8) & 0xff);
    }
    if ((bits & ((1U << have) - 1)) != 0) {
        *room = '\0'; /* the length before decoding */
        return err_set(err, ERR_INVALID, "base32 text with stray bits at its end");
    }
    room[n] = '\0';
    out->n += n;
    return 0;
}

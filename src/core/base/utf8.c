#include "core/base/utf8.h"

#include <string.h>

#include "core/base/buf.h"

/* Length and character of a well-formed sequence at the front; 0 when there is none. */
static size_t decode_utf8_sequence(struct str text, uint32_t *ret_char)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)text.p;
    uint32_t c = p[0];
    size_t n;

    if (c < 0x80) {
        *ret_char = c;
        return 1;
    }
    n = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc0 && c < 0xe0 ? 2 : 0;
    if (n == 0 || n > text.n)
        return 0;
    c &= 0xffU >> (n + 1);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret_char = c;
    return n;
}

size_t utf8_length_at(struct str text)
{
    uint32_t c;
    size_t n;

    if (text.n == 0)
        return 0;
    n = decode_utf8_sequence(text, &c);
    return n > 0 ? n : 1;
}

uint32_t utf8_next(struct str *text)
{
    uint32_t c = UTF8_BAD;
    size_t n = text->n > 0 ? decode_utf8_sequence(*text, &c) : 0;

    *text = str_from_offset(*text, n > 0 ? n : 1);
    return c;
}

void utf8_add(struct buf *out, uint32_t c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = UTF8_BAD;
        n = 3;
    }
    if (n == 1) {
        buf_add_char(out, (char)c);
        return;
    }
    for (size_t i = n; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)((0xf00U >> n & 0xf0U) | c);
    buf_add(out, bytes, n);
}

bool utf8_is_ascii(struct str text)
{
    size_t i = 0;

    for (; i + 8 <= text.n; i += 8) {
        uint64_t word;

        memcpy(&word, text.p + i, 8);
        if (word & 0x8080808080808080U)
            return false;
    }
    for (; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

/* Embeddings, overrides and isolates: they reorder the text that follows. */
static bool is_reordering(uint32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool utf8_is_control(struct str character)
{
    unsigned char first = (unsigned char)character.p[0];

    if (character.n == 1)
        return first < ' ' || first >= 0x7f; /* alone, a byte above ASCII is not UTF-8 */
    if (character.n == 3)
        return is_reordering(utf8_next(&character));
    return character.n == 2 && first == 0xc2 && (unsigned char)character.p[1] < 0xa0;
}

size_t utf8_plain_length(struct str text)
{
    size_t n = 0;

    while (n < text.n && text.p[n] >= ' ' && text.p[n] < 0x7f)
        n++;
    return n;
}

size_t utf8_valid_length(struct str text)
{
    size_t at = utf8_is_ascii(text) ? text.n : 0, n = 1; /* as in most texts */
    uint32_t c;

    while (at < text.n && n > 0)
        at += n = decode_utf8_sequence(str_from_offset(text, at), &c);
    return at;
}

bool utf8_is_valid(struct str text)
{
    return utf8_valid_length(text) == text.n;
}

size_t utf8_count(struct str text)
{
    size_t count = 0;

    if (utf8_is_ascii(text))
        return text.n;
    for (; text.n > 0; count++)
        text = str_from_offset(text, utf8_length_at(text));
    return count;
}

size_t utf8_offset(struct str text, size_t n)
{
    size_t at = 0;

    if (utf8_is_ascii(text))
        return n < text.n ? n : text.n;
    for (; n > 0 && at < text.n; n--)
        at += utf8_length_at(str_from_offset(text, at));
    return at;
}

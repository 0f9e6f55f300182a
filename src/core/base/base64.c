#include "core/base/base64.h"

#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"

static const char *const alphabets[] = {
    [BASE64_STANDARD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

void base64_encode(struct str bytes, enum base64_form form, struct buf *out)
{
    const char *alphabet = alphabets[form];

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)bytes.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++) {
            if (k <= n)
                buf_add_char(out, alphabet[bits >> (18 - 6 * k) & 63]);
            else if (form == BASE64_STANDARD)
                buf_add_char(out, '=');
        }
    }
}

/* The six bits of a letter, or -1. */
static int letter_bits(char c, enum base64_form form)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == alphabets[form][62])
        return 62;
    return c == alphabets[form][63] ? 63 : -1;
}

static bool is_base64_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The leftover bits and the padding are consistent. */
static int check_base64_end(uint32_t bits, unsigned count, size_t letters, size_t padding,
                            struct err *err)
{
    if (letters % 4 == 1)
        return err_set(err, ERR_INVALID, "base64 text is cut short");
    if ((bits & ((1U << count) - 1)) != 0)
        return err_set(err, ERR_INVALID, "base64 text ends in stray bits");
    if (padding > 0 && (letters + padding) % 4 != 0)
        return err_set(err, ERR_INVALID, "base64 text has wrong padding");
    return 0;
}

static int decode_base64(struct str text, enum base64_form form, struct buf *out, struct err *err)
{
    size_t letters = 0, padding = 0;
    unsigned count = 0; /* number of pending bits */
    uint32_t bits = 0;

    for (size_t i = 0; i < text.n; i++) {
        int more = letter_bits(text.p[i], form);

        if (is_base64_blank(text.p[i]))
            continue;
        if (text.p[i] == '=' && ++padding <= 2)
            continue;
        if (more < 0 || padding > 0)
            return err_set(err, ERR_INVALID, "byte %zu is not base64", i + 1);
        bits = (bits << 6 | (uint32_t)more) & 0xfff;
        letters++;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_add_char(out, (char)(bits >> count & 0xff));
        }
    }
    return check_base64_end(bits, count, letters, padding, err);
}

int base64_decode(struct str text, enum base64_form form, struct buf *out, struct err *err)
{
    size_t before = out->n;
    int result = decode_base64(text, form, out, err);

    if (result == 0 && out->full)
        result = err_set(err, ERR_LIMIT, "base64 text decodes to more than %zu bytes", out->max);
    if (result < 0)
        buf_cut(out, before);
    return result;
}

int base64_decode_strict(struct str text, enum base64_form form, struct buf *out, struct err *err)
{
    for (size_t i = 0; i < text.n; i++)
        if (is_base64_blank(text.p[i]))
            return err_set(err, ERR_INVALID, "byte %zu is a blank, not base64", i + 1);
    if (form == BASE64_STANDARD && text.n % 4 != 0)
        return err_set(err, ERR_INVALID, "base64 text lacks padding");
    if (form == BASE64_URL && str_find_char(text, '=', 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "base64 text has unexpected padding");
    return base64_decode(text, form, out, err);
}

#include "language/jinja/literal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/utf8.h"

#define UNICODE_MAX 0x10ffffU

/* Longer number literals have no more significant digits. */
#define NUMBER_TEXT_MAX 400

static int decode_literal_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool literal_integer(struct str text, int64_t *ret)
{
    int64_t base = 10, i = 0;
    size_t at = 0;

    if (text.n > 2 && text.p[0] == '0' && decode_literal_digit(text.p[1]) != 0 &&
        text.p[1] != '_') {
        char letter = (char)(text.p[1] | 0x20);

        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        at = 2;
    }
    for (; at < text.n; at++) {
        if (text.p[at] == '_')
            continue;
        if (__builtin_mul_overflow(i, base, &i) ||
            __builtin_add_overflow(i, (int64_t)decode_literal_digit(text.p[at]), &i))
            return false;
    }
    *ret = i;
    return true;
}

double literal_float(struct str text)
{
    char digits[NUMBER_TEXT_MAX];
    size_t n = 0;

    for (size_t i = 0; i < text.n && n + 1 < sizeof(digits); i++)
        if (text.p[i] != '_')
            digits[n++] = text.p[i];
    digits[n] = '\0';
    return strtod(digits, NULL);
}

/* --- texts ---------------------------------------------------------------------------- */

static const char simple_from[] = "\\'\"abfnrtv";
static const char simple_to[] = "\\'\"\a\b\f\n\r\t\v";

/* `count` hexadecimal digits at the front of `rest`, which moves past them. */
static bool read_hex_digits(struct str *rest, size_t count, uint32_t *ret)
{
    uint32_t c = 0;

    if (rest->n < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        int d = decode_literal_digit(rest->p[i]);

        if (d < 0)
            return false;
        c = c * 16 + (uint32_t)d;
    }
    *rest = str_from_offset(*rest, count);
    *ret = c;
    return true;
}

static const char *add_hex(struct buf *out, struct str *rest, size_t count)
{
    static const char *const cut[] = {
        [2] = "truncated \\xXX escape",
        [4] = "truncated \\uXXXX escape",
        [8] = "truncated \\UXXXXXXXX escape",
    };
    uint32_t c;

    if (!read_hex_digits(rest, count, &c))
        return cut[count];
    if (c > UNICODE_MAX)
        return "illegal Unicode character";
    utf8_add(out, c);
    return NULL;
}

static void add_octal(struct buf *out, struct str *rest, char first)
{
    uint32_t c = (uint32_t)(first - '0');

    for (int i = 0; i < 2 && rest->n > 0 && rest->p[0] >= '0' && rest->p[0] <= '7'; i++) {
        c = c * 8 + (uint32_t)(rest->p[0] - '0');
        *rest = str_from_offset(*rest, 1);
    }
    utf8_add(out, c);
}

/* To Jinja2 a non-ASCII character is its escape, so a backslash before it escapes only the
 * backslash of that: the text shows the rest of it. */
static void add_wide(struct buf *out, struct str *rest)
{
    uint32_t c = utf8_next(rest);

    buf_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

/* After a backslash. NULL, or an error text. */
static const char *add_literal_escape(struct buf *out, struct str *rest)
{
    char c = rest->p[0];
    const char *simple = c ? strchr(simple_from, c) : NULL;

    if ((unsigned char)c >= 0x80) {
        add_wide(out, rest);
        return NULL;
    }
    *rest = str_from_offset(*rest, 1);
    if (simple) {
        buf_add_char(out, simple_to[simple - simple_from]);
    } else if (c >= '0' && c <= '7') {
        add_octal(out, rest, c);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        return add_hex(out, rest, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
        return "characters by name (\\N) are not supported, use \\u";
    } else if (c != '\n') {
        buf_add_char(out, '\\');
        buf_add_char(out, c);
    }
    return NULL;
}

const char *literal_text(struct arena *arena, struct str quoted, struct str *ret)
{
    struct str rest = str_slice(quoted, 1, quoted.n - 2);
    size_t backslash = str_find_char(rest, '\\', 0);

    if (backslash == STR_NONE) {
        *ret = arena_str(arena, rest);
        return NULL;
    }

    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char *error = NULL;

    while (backslash != STR_NONE && !error) {
        buf_add_str(&out, str_slice(rest, 0, backslash));
        rest = str_from_offset(rest, backslash + 1);
        error = rest.n > 0 ? add_literal_escape(&out, &rest) : "a backslash at the end of a text";
        backslash = str_find_char(rest, '\\', 0);
    }
    buf_add_str(&out, rest);
    *ret = buf_copy(&out, arena);
    return error;
}

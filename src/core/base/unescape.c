#include "core/base/unescape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/utf8.h"

#define UNICODE_MAX 0x10ffff

static int decode_escape_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Up to `most` digits of this base; the length of them. */
static size_t read_escape_number(struct str text, int base, size_t most, uint32_t *ret)
{
    size_t n = 0;

    for (*ret = 0; n < most && n < text.n; n++) {
        const int digit = decode_escape_digit(text.p[n]);

        if (digit < 0 || digit >= base)
            break;
        *ret = *ret * (uint32_t)base + (uint32_t)digit;
    }
    return n;
}

static size_t add_character(struct buf *out, uint32_t c, size_t length)
{
    if (c > UNICODE_MAX)
        return 0;
    utf8_add(out, c);
    return length;
}

/* --- backslashes --------------------------------------------------------------------------- */

/* \u00fc; a character beyond the first 65536 is written as two of these. */
static size_t read_short_escape(struct str text, struct buf *out)
{
    uint32_t high, low;

    if (read_escape_number(str_from_offset(text, 2), 16, 4, &high) < 4)
        return 0;
    if (high >= 0xd800 && high < 0xdc00 && text.n >= 12 && text.p[6] == '\\' && text.p[7] == 'u' &&
        read_escape_number(str_from_offset(text, 8), 16, 4, &low) == 4 && low >= 0xdc00 &&
        low < 0xe000)
        return add_character(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12);
    return add_character(out, high, 6);
}

static size_t read_long_escape(struct str text, struct buf *out)
{
    uint32_t c;

    return read_escape_number(str_from_offset(text, 2), 16, 8, &c) == 8 ? add_character(out, c, 10)
                                                                        : 0;
}

static size_t read_hexadecimal(struct str text, bool is_byte, struct buf *out)
{
    uint32_t c;

    if (read_escape_number(str_from_offset(text, 2), 16, 2, &c) < 2)
        return 0;
    if (!is_byte)
        return add_character(out, c, 4);
    buf_add_char(out, (char)c);
    return 4;
}

static size_t read_octal(struct str text, struct buf *out)
{
    uint32_t c;

    if (read_escape_number(str_from_offset(text, 1), 8, 3, &c) < 3 || c > 0xff)
        return 0;
    buf_add_char(out, (char)c);
    return 4;
}

/* A broken line continues after the blanks of the next one. */
static size_t skip_break(struct str text)
{
    size_t n = 2;

    while (n < text.n && (text.p[n] == ' ' || text.p[n] == '\t'))
        n++;
    return n;
}

/* Letters that stand for control characters; every other character stands for itself. */
static size_t read_letter_escape(char c, struct buf *out)
{
    static const char letters[] = "abefnrtv", meant[] = "\a\b\x1b\f\n\r\t\v";
    const char *known = strchr(letters, c);

    buf_add_char(out, known && c ? meant[known - letters] : c);
    return 2;
}

static size_t read_backslash(struct str text, bool are_bytes, struct buf *out)
{
    if (text.n < 2 || text.p[0] != '\\')
        return 0;
    switch (text.p[1]) {
    case 'u': return read_short_escape(text, out);
    case 'U': return read_long_escape(text, out);
    case 'x': return read_hexadecimal(text, are_bytes, out);
    case '\n': return skip_break(text);
    default:
        if (are_bytes && text.p[1] >= '0' && text.p[1] <= '3')
            return read_octal(text, out);
        return read_letter_escape(text.p[1], out);
    }
}

static size_t read_characters(struct str text, struct buf *out)
{
    return read_backslash(text, false, out);
}

static size_t read_bytes(struct str text, struct buf *out)
{
    return read_backslash(text, true, out);
}

/* --- others -------------------------------------------------------------------------------- */

/* A text that stands for another; returns its length, or 0. */
static size_t read_word_escape(struct str text, struct str word, char meant, struct buf *out)
{
    if (!str_starts(text, word))
        return 0;
    buf_add_char(out, meant);
    return word.n;
}

static size_t read_apostrophes(struct str text, struct buf *out)
{
    return read_word_escape(text, STR("''"), '\'', out);
}

static size_t read_quotes(struct str text, struct buf *out)
{
    return read_word_escape(text, STR("\"\""), '"', out);
}

static size_t read_shell(struct str text, struct buf *out)
{
    const size_t n = read_word_escape(text, STR("'\\''"), '\'', out);

    return n > 0 ? n : read_word_escape(text, STR("'\"'\"'"), '\'', out);
}

static size_t read_url(struct str text, struct buf *out)
{
    uint32_t c;

    if (text.p[0] != '%' || read_escape_number(str_from_offset(text, 1), 16, 2, &c) < 2)
        return 0;
    buf_add_char(out, (char)c);
    return 3;
}

static size_t read_form(struct str text, struct buf *out)
{
    const size_t n = read_url(text, out);

    return n > 0 ? n : read_word_escape(text, STR("+"), ' ', out);
}

static size_t read_reference(struct str text, struct buf *out)
{
    const bool is_hexadecimal = text.n > 2 && (text.p[2] == 'x' || text.p[2] == 'X');
    const size_t lead = is_hexadecimal ? 3 : 2;
    uint32_t c;
    const size_t n =
        read_escape_number(str_from_offset(text, lead), is_hexadecimal ? 16 : 10, 7, &c);

    if (n == 0 || lead + n >= text.n || text.p[lead + n] != ';')
        return 0;
    return add_character(out, c, lead + n + 1);
}

static size_t read_entities(struct str text, struct buf *out)
{
    static const struct {
        const char *word;
        char meant;
    } named[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&apos;", '\'' },
    };

    if (text.p[0] != '&')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (str_starts(text, str_from(named[i].word)))
            return read_word_escape(text, str_from(named[i].word), named[i].meant, out);
    return text.n > 3 && text.p[1] == '#' ? read_reference(text, out) : 0;
}

/* --- lines ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The length of a line end, the sign of a diff if `has_sign` and there is one, and an indent. */
static size_t measure_break(struct str text, bool has_sign)
{
    size_t n = text.p[0] == '\r' ? 1 : 0;

    if (n >= text.n || text.p[n] != '\n')
        return 0;
    n++;
    if (has_sign && n < text.n && (text.p[n] == '+' || text.p[n] == '-'))
        n++;
    while (n < text.n && is_blank(text.p[n]))
        n++;
    return n;
}

/* Folded lines continue with an indent. */
static size_t read_folded(struct str text, struct buf *out)
{
    const size_t n = measure_break(text, true);

    if (n == 0 || !is_blank(text.p[n - 1]))
        return 0;
    buf_add_char(out, ' ');
    return n;
}

static bool is_base64(char c)
{
    return decode_escape_digit(c) >= 0 || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') ||
           c == '+' || c == '/' || c == '-' || c == '_' || c == '=';
}

/* Is this a line of base64, or the beginning of one that is quoted? Others are not joined, since
 * most texts are not base64. */
static bool begins_base64(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_base64(text.p[n]))
        n++;
    return n > 0 && (n == text.n || strchr("\r\n\"'\\", text.p[n]));
}

static size_t skip_wrap(struct str text, bool has_sign)
{
    const size_t n = measure_break(text, has_sign);

    return n > 0 && begins_base64(str_from_offset(text, n)) ? n : 0;
}

static size_t read_wrapped(struct str text, struct buf *out)
{
    (void)out;
    return skip_wrap(text, false);
}

static size_t read_difference(struct str text, struct buf *out)
{
    (void)out;
    return skip_wrap(text, true);
}

/* --- all ----------------------------------------------------------------------------------- */

/* Append the character of the escape at the beginning of `text`; returns its length, 0: no escape.
 */
typedef size_t escape_fn(struct str text, struct buf *out);

/* clang-format off */
static const struct {
    const char *begin; /* an escape begins with one of these */
    escape_fn *read;
} forms[UNESCAPE_FORMS] = {
    [UNESCAPE_CHARACTERS]  = { "\\",  read_characters },
    [UNESCAPE_BYTES]       = { "\\",  read_bytes },
    [UNESCAPE_APOSTROPHES] = { "'",   read_apostrophes },
    [UNESCAPE_QUOTES]      = { "\"",  read_quotes },
    [UNESCAPE_SHELL]       = { "'",   read_shell },
    [UNESCAPE_URL]         = { "%",   read_url },
    [UNESCAPE_FORM]        = { "%+",  read_form },
    [UNESCAPE_ENTITIES]    = { "&",   read_entities },
    [UNESCAPE_FOLDED]      = { "\r\n", read_folded },
    [UNESCAPE_WRAPPED]     = { "\r\n", read_wrapped },
    [UNESCAPE_DIFFERENCE]  = { "\r\n", read_difference },
};
/* clang-format on */

/* The bytes from `before` on stand for these. */
static void note_span(struct unescaped *u, size_t before, struct unescape_span span)
{
    if (u->text.n > u->room) {
        u->room = u->text.n * 2 + 64;
        u->spans = mem_realloc(u->spans, u->room * sizeof(*u->spans));
    }
    for (size_t i = before; i < u->text.n; i++)
        u->spans[i] = span;
}

static bool begins_escape(enum unescape_form form, char c)
{
    return c == forms[form].begin[0] || (forms[form].begin[1] && c == forms[form].begin[1]);
}

/* The length of the escape at `at`; 0: there is none. */
static size_t read_escape(enum unescape_form form, struct str text, size_t at, struct buf *out)
{
    return begins_escape(form, text.p[at]) ? forms[form].read(str_from_offset(text, at), out) : 0;
}

/* Most texts have none, and are long. */
static bool has_escape(enum unescape_form form, struct str text)
{
    AUTO_BUF struct buf ignored = BUF_INIT(BUF_NO_LIMIT);

    for (const char *c = forms[form].begin; *c; c++)
        for (size_t at = str_find_char(text, *c, 0); at != STR_NONE;
             at = str_find_char(text, *c, at + 1))
            if (read_escape(form, text, at, &ignored) > 0)
                return true;
    return false;
}

bool unescape(struct unescaped *ret, enum unescape_form form, struct str text)
{
    *ret = (struct unescaped){ .text = BUF_INIT(BUF_NO_LIMIT) };
    if (text.n == 0 || !has_escape(form, text))
        return false;
    for (size_t at = 0, n; at < text.n; at += n) {
        const size_t before = ret->text.n;

        n = read_escape(form, text, at, &ret->text);
        if (n == 0) {
            buf_add_char(&ret->text, text.p[at]);
            n = 1;
        }
        note_span(ret, before, (struct unescape_span){ at, at + n });
    }
    return true;
}

void unescape_done(struct unescaped *unescaped)
{
    if (unescaped->text.p)
        explicit_bzero(unescaped->text.p, unescaped->text.n);
    buf_done(&unescaped->text);
    free(unescaped->spans);
    *unescaped = (struct unescaped){ .text = BUF_INIT(BUF_NO_LIMIT) };
}

#include "base/unescape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

#define UNICODE_MAX 0x10ffff

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Up to `most` digits of this base; the length of them. */
static size_t read_number(struct str text, int base, size_t most, uint32_t *ret)
{
    size_t n = 0;

    for (*ret = 0; n < most && n < text.n; n++) {
        const int digit = digit_of(text.p[n]);

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
static size_t read_short(struct str text, struct buf *out)
{
    uint32_t high, low;

    if (read_number(str_from_offset(text, 2), 16, 4, &high) < 4)
        return 0;
    if (high >= 0xd800 && high < 0xdc00 && text.n >= 12 && text.p[6] == '\\' && text.p[7] == 'u' &&
        read_number(str_from_offset(text, 8), 16, 4, &low) == 4 && low >= 0xdc00 && low < 0xe000)
        return add_character(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12);
    return add_character(out, high, 6);
}

static size_t read_long(struct str text, struct buf *out)
{
    uint32_t c;

    return read_number(str_from_offset(text, 2), 16, 8, &c) == 8 ? add_character(out, c, 10) : 0;
}

static size_t read_hexadecimal(struct str text, bool is_byte, struct buf *out)
{
    uint32_t c;

    if (read_number(str_from_offset(text, 2), 16, 2, &c) < 2)
        return 0;
    if (!is_byte)
        return add_character(out, c, 4);
    buf_add_char(out, (char)c);
    return 4;
}

static size_t read_octal(struct str text, struct buf *out)
{
    uint32_t c;

    if (read_number(str_from_offset(text, 1), 8, 3, &c) < 3 || c > 0xff)
        return 0;
    buf_add_char(out, (char)c);
    return 4;
}

/* A line that was broken goes on after the blanks of the next one. */
static size_t skip_break(struct str text)
{
    size_t n = 2;

    while (n < text.n && (text.p[n] == ' ' || text.p[n] == '\t'))
        n++;
    return n;
}

/* Letters that stand for control characters; every other character stands for itself. */
static size_t read_letter(char c, struct buf *out)
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
    case 'u': return read_short(text, out);
    case 'U': return read_long(text, out);
    case 'x': return read_hexadecimal(text, are_bytes, out);
    case '\n': return skip_break(text);
    default:
        if (are_bytes && text.p[1] >= '0' && text.p[1] <= '3')
            return read_octal(text, out);
        return read_letter(text.p[1], out);
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

/* A text that stands for another; its length, or 0. */
static size_t read_word(struct str text, struct str word, char meant, struct buf *out)
{
    if (!str_starts(text, word))
        return 0;
    buf_add_char(out, meant);
    return word.n;
}

static size_t read_apostrophes(struct str text, struct buf *out)
{
    return read_word(text, STR("''"), '\'', out);
}

static size_t read_quotes(struct str text, struct buf *out)
{
    return read_word(text, STR("\"\""), '"', out);
}

static size_t read_shell(struct str text, struct buf *out)
{
    const size_t n = read_word(text, STR("'\\''"), '\'', out);

    return n > 0 ? n : read_word(text, STR("'\"'\"'"), '\'', out);
}

static size_t read_url(struct str text, struct buf *out)
{
    uint32_t c;

    if (text.p[0] != '%' || read_number(str_from_offset(text, 1), 16, 2, &c) < 2)
        return 0;
    buf_add_char(out, (char)c);
    return 3;
}

static size_t read_form(struct str text, struct buf *out)
{
    const size_t n = read_url(text, out);

    return n > 0 ? n : read_word(text, STR("+"), ' ', out);
}

static size_t read_reference(struct str text, struct buf *out)
{
    const bool is_hexadecimal = text.n > 2 && (text.p[2] == 'x' || text.p[2] == 'X');
    const size_t lead = is_hexadecimal ? 3 : 2;
    uint32_t c;
    const size_t n = read_number(str_from_offset(text, lead), is_hexadecimal ? 16 : 10, 7, &c);

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
            return read_word(text, str_from(named[i].word), named[i].meant, out);
    return text.n > 3 && text.p[1] == '#' ? read_reference(text, out) : 0;
}

/* --- all ----------------------------------------------------------------------------------- */

/* Appends what the escape at the beginning of `text` stands for; its length, 0: it is none. */
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
};
/* clang-format on */

static void note_origin(struct unescaped *u, size_t first, size_t origin)
{
    if (u->text.n + 1 > u->room) {
        u->room = u->text.n * 2 + 64;
        u->from = mem_realloc(u->from, u->room * sizeof(*u->from));
    }
    for (size_t i = first; i <= u->text.n; i++)
        u->from[i] = origin;
}

static bool begins(enum unescape_form form, char c)
{
    return c == forms[form].begin[0] || (forms[form].begin[1] && c == forms[form].begin[1]);
}

static bool has_escape(enum unescape_form form, struct str text)
{
    for (const char *c = forms[form].begin; *c; c++)
        if (memchr(text.p, *c, text.n))
            return true;
    return false;
}

bool unescape(struct unescaped *ret, enum unescape_form form, struct str text)
{
    bool any = false;

    *ret = (struct unescaped){ .text = BUF_INIT(BUF_NO_LIMIT) };
    if (text.n == 0 || !has_escape(form, text))
        return false;
    for (size_t at = 0, n; at < text.n; at += n) {
        const size_t before = ret->text.n;

        n = begins(form, text.p[at]) ? forms[form].read(str_from_offset(text, at), &ret->text) : 0;
        any |= n > 0;
        if (n == 0) {
            buf_add_char(&ret->text, text.p[at]);
            n = 1;
        }
        note_origin(ret, before, at);
        ret->from[ret->text.n] = at + n;
    }
    if (!any)
        unescape_done(ret);
    return any;
}

void unescape_done(struct unescaped *unescaped)
{
    if (unescaped->text.p)
        explicit_bzero(unescaped->text.p, unescaped->text.n);
    buf_done(&unescaped->text);
    free(unescaped->from);
    *unescaped = (struct unescaped){ .text = BUF_INIT(BUF_NO_LIMIT) };
}

/* Texts: padding, stripping, formatting, and conversion to bytes and back. */
#include "language/jinja/method.h"

#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/format.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "core/base/unicode.h"
#include "language/jinja/methods/methods.h"

#define TAB_MAX 1000

static void add_repeated(struct buf *out, struct str fill, size_t times)
{
    for (size_t i = 0; i < times && !out->full; i++)
        buf_add_str(out, fill);
}

/* The place of the text in its new width. */
enum side { SIDE_LEFT, SIDE_CENTER, SIDE_RIGHT };

static int read_fill(struct render *render, const struct bound_args *bound, struct str *ret)
{
    struct value fill = bound->args[2];

    if (undefined_check(render, &fill) < 0)
        return -1;
    if (fill.kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE,
                           "The fill character must be a unicode character, not %s",
                           op_type_name(&fill));
    if (value_is_markup(&bound->args[0]) && markup_escape(render, &fill, &fill) < 0)
        return -1;
    if (utf8_count(fill.s) != 1)
        return render_fail(render, RENDER_TYPE,
                           "The fill character must be exactly one character long");
    *ret = fill.s;
    return 0;
}

static int justify_text(struct render *render, const struct bound_args *bound, enum side side,
                        struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct value *self = &bound->args[0];
    size_t length = utf8_count(self->s), pad = 0, before = 0;
    struct str fill;
    int64_t width;

    if (argument_int(render, &bound->args[1], &width) < 0 || read_fill(render, bound, &fill) < 0)
        return -1;
    if (width > 0 && (uint64_t)width > length)
        pad = (size_t)width - length;
    if (text_expect(render, pad) < 0)
        return -1;
    if (side == SIDE_RIGHT)
        before = pad;
    if (side == SIDE_CENTER) /* when the padding is odd, the left gets more if the width is odd */
        before = pad / 2 + (pad & (size_t)width & 1);
    add_repeated(&out, fill, before);
    buf_add_str(&out, self->s);
    add_repeated(&out, fill, pad - before);
    return text_finish(render, &out, self->flags & VALUE_SAFE, ret);
}

static int str_center(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return justify_text(render, bound, SIDE_CENTER, ret);
}

static int str_ljust(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return justify_text(render, bound, SIDE_LEFT, ret);
}

static int str_rjust(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return justify_text(render, bound, SIDE_RIGHT, ret);
}

static int str_zfill(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text = bound->args[0].s;
    size_t length = utf8_count(text), pad = 0;
    bool sign = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
    int64_t width;

    if (argument_int(render, &bound->args[1], &width) < 0)
        return -1;
    if (width > 0 && (uint64_t)width > length)
        pad = (size_t)width - length;
    if (text_expect(render, pad) < 0)
        return -1;
    buf_add_str(&out, str_slice(text, 0, sign));
    buf_fill(&out, '0', pad);
    buf_add_str(&out, str_from_offset(text, sign));
    return text_finish(render, &out, bound->args[0].flags & VALUE_SAFE, ret);
}

/* Should `c` be stripped? A NULL pointer in `chars` means blanks. */
static bool is_stripped(struct str c, struct str chars)
{
    struct str rest = c;

    if (!chars.p)
        return unicode_is(utf8_next(&rest), UNICODE_SPACE);
    while (chars.n > 0) {
        size_t n = utf8_length_at(chars);

        if (str_eq(str_slice(chars, 0, n), c))
            return true;
        chars = str_from_offset(chars, n);
    }
    return false;
}

static struct str last_char(struct str text)
{
    size_t at = text.n - 1;

    while (at > 0 && text.n - at < 4 && ((unsigned char)text.p[at] & 0xc0) == 0x80)
        at--;
    if (at + utf8_length_at(str_from_offset(text, at)) != text.n)
        at = text.n - 1;
    return str_from_offset(text, at);
}

static int strip_text(struct render *render, const struct bound_args *bound, bool left, bool right,
                      struct value *ret)
{
    const struct value *self = &bound->args[0];
    struct str text = self->s, chars = { NULL, 0 };
    struct value escaped;

    if (!argument_is_none(&bound->args[1])) {
        if (undefined_check(render, &bound->args[1]) < 0)
            return -1;
        if (bound->args[1].kind != VALUE_STR)
            return render_fail(render, RENDER_TYPE, "%s arg must be None or str", bound->name);
        chars = bound->args[1].s;
        if (value_is_markup(self)) {
            if (markup_escape(render, &bound->args[1], &escaped) < 0)
                return -1;
            chars = escaped.s;
        }
    }
    while (left && text.n > 0 && is_stripped(str_slice(text, 0, utf8_length_at(text)), chars))
        text = str_from_offset(text, utf8_length_at(text));
    while (right && text.n > 0 && is_stripped(last_char(text), chars))
        text.n -= last_char(text).n;
    *ret = text_part(render, self, (size_t)(text.p - self->s.p), text.n);
    return text_expect(render, self->s.n);
}

static int str_strip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return strip_text(render, bound, true, true, ret);
}

static int str_lstrip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return strip_text(render, bound, true, false, ret);
}

static int str_rstrip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return strip_text(render, bound, false, true, ret);
}

static int str_expandtabs(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text = bound->args[0].s;
    size_t column = 0, size;
    int64_t wanted;

    if (argument_int(render, &bound->args[1], &wanted) < 0)
        return -1;
    if (wanted > TAB_MAX)
        return render_fail(render, RENDER_LIMIT, "a tab may have %d columns at most", TAB_MAX);
    size = wanted > 0 ? (size_t)wanted : 0;
    for (; text.n > 0 && !out.full; text = str_from_offset(text, utf8_length_at(text))) {
        if (text.p[0] == '\t') {
            size_t blanks = size > 0 ? size - column % size : 0;

            buf_fill(&out, ' ', blanks);
            column += blanks;
            continue;
        }
        buf_add(&out, text.p, utf8_length_at(text));
        column = text.p[0] == '\n' || text.p[0] == '\r' ? 0 : column + 1;
    }
    return text_finish(render, &out, bound->args[0].flags & VALUE_SAFE, ret);
}

static int str_format(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return format_braces(render, &bound->args[0], bound->args[1].list, bound->args[2].map, ret);
}

static int str_format_map(struct render *render, const struct bound_args *bound, struct value *ret)
{
    static const struct value_list none;

    if (undefined_check(render, &bound->args[1]) < 0)
        return -1;
    if (bound->args[1].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "format_map() argument must be dict, not %s",
                           op_type_name(&bound->args[1]));
    return format_braces(render, &bound->args[0], &none, container_map(render, &bound->args[1]),
                         ret);
}

/* --- bytes ------------------------------------------------------------------------ */

enum encoding { ENCODING_UTF8, ENCODING_ASCII };

static int read_text_encoding(struct render *render, const struct bound_args *bound,
                              enum encoding *ret)
{
    static const struct {
        const char *name;
        enum encoding encoding;
    } names[] = {
        { "utf-8", ENCODING_UTF8 },     { "utf8", ENCODING_UTF8 },   { "utf_8", ENCODING_UTF8 },
        { "UTF-8", ENCODING_UTF8 },     { "UTF8", ENCODING_UTF8 },   { "ascii", ENCODING_ASCII },
        { "us-ascii", ENCODING_ASCII }, { "ASCII", ENCODING_ASCII },
    };
    struct str name;

    if (method_arg_str(render, bound, 1, "encoding ", &name) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i].name)) {
            *ret = names[i].encoding;
            return 0;
        }
    (void)render_fail(render, RENDER_TYPE, "unknown encoding: %.*s", STR_ARG(name));
    render_hint(render, "'utf-8' and 'ascii' are known");
    return -1;
}

static int str_encode(struct render *render, const struct bound_args *bound, struct value *ret)
{
    enum encoding encoding;

    if (read_text_encoding(render, bound, &encoding) < 0)
        return -1;
    if (encoding == ENCODING_ASCII && !utf8_is_ascii(bound->args[0].s))
        return render_fail(render, RENDER_TYPE, "the text has characters that are not ascii");
    *ret = value_bytes(bound->args[0].s);
    return 0;
}

static int bytes_decode(struct render *render, const struct bound_args *bound, struct value *ret)
{
    enum encoding encoding;

    if (read_text_encoding(render, bound, &encoding) < 0)
        return -1;
    if (encoding == ENCODING_ASCII ? !utf8_is_ascii(bound->args[0].s)
                                   : !utf8_is_valid(bound->args[0].s))
        return render_fail(render, RENDER_TYPE, "the bytes are not %s",
                           encoding == ENCODING_ASCII ? "ascii" : "utf-8");
    *ret = value_str(bound->args[0].s);
    return 0;
}

/* clang-format off */
const struct function method_str_shape[] = {
    { "center", "self, width, fillchar=' '", str_center, "in the middle of a width" },
    { "encode", "self, encoding='utf-8', errors='strict'", str_encode, "the text as bytes" },
    { "expandtabs", "self, tabsize=8", str_expandtabs, "blanks instead of tabs" },
    { "format", "self, *args, **kwargs", str_format, "values for the fields in braces" },
    { "format_map", "self, mapping", str_format_map, "values of a map for the fields in braces" },
    { "ljust", "self, width, fillchar=' '", str_ljust, "at the left of a width" },
    { "lstrip", "self, chars=none", str_lstrip, "without blanks or characters at the beginning" },
    { "rjust", "self, width, fillchar=' '", str_rjust, "at the right of a width" },
    { "rstrip", "self, chars=none", str_rstrip, "without blanks or characters at the end" },
    { "strip", "self, chars=none", str_strip, "without blanks or characters at both ends" },
    { "zfill", "self, width", str_zfill, "zeros in front, after the sign" },
    { 0 },
};

const struct function method_bytes[] = {
    { "decode", "self, encoding='utf-8', errors='strict'", bytes_decode, "the bytes as text" },
    { 0 },
};
/* clang-format on */

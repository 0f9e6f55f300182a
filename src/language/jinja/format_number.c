#include "language/jinja/format_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "language/jinja/text.h"

/* Sixty-four binary digits. */
#define DIGITS_MAX        64
#define DEFAULT_PRECISION 6
/* Doubles written without an exponent above this have few digits before the point. */
#define EXPONENT_LEAST (-4)
/* "%.16e" and the text around it. */
#define EXPONENT_TEXT_MAX 2000

static void add_fill(struct str character, size_t times, struct buf *out)
{
    for (size_t i = 0; i < times && !out->full; i++)
        buf_add_str(out, character);
}

/* Write head and body in the width of the field. */
static void pad_number(const struct format_field *field, struct str head, struct str body,
                       struct buf *out)
{
    size_t length = utf8_count(head) + utf8_count(body);
    size_t blanks = field->width > length ? field->width - length : 0;
    size_t before = field->align == '>' ? blanks : field->align == '^' ? blanks / 2 : 0;
    size_t inside = field->align == '=' ? blanks : 0;

    add_fill(field->fill, before, out);
    buf_add_str(out, head);
    add_fill(field->fill, inside, out);
    buf_add_str(out, body);
    add_fill(field->fill, blanks - before - inside, out);
}

void format_pad(const struct format_field *field, struct str text, struct buf *out)
{
    pad_number(field, STR(""), text, out);
}

/* The number of characters of the next group: at most the remaining ones, unless zeros must fill
 * up. */
static size_t group_size(size_t group, size_t left, size_t width)
{
    size_t most = left > width ? left : width;

    most = most > 0 ? most : 1;
    return group < most ? group : most;
}

/* Digits in groups from the right, with zeros in front up to `width`; never begins with a
 * separator, so it may become one wider. Written backwards, then turned. */
static void add_grouped_digits(struct str digits, size_t group, char separator, size_t width,
                               struct buf *out)
{
    AUTO_BUF struct buf back = BUF_INIT(TEXT_MAX);
    size_t left = digits.n;

    while (!back.full) {
        size_t size = group_size(group, left, width);

        for (size_t i = 0; i < size; i++)
            buf_add_char(&back, left > 0 ? digits.p[--left] : '0');
        width = width > size ? width - size : 0;
        if (left == 0 && width == 0)
            break;
        buf_add_char(&back, separator);
        width = width > 0 ? width - 1 : 0;
    }
    for (size_t i = back.n; i-- > 0;)
        buf_add_char(out, back.p[i]);
}

/* The whole number: grouped, zero-filled, padded. `group` is the size of a group. */
static void add_padded_number(const struct format_field *field, struct str head, struct str digits,
                              struct str tail, size_t group, struct buf *out)
{
    AUTO_BUF struct buf body = BUF_INIT(TEXT_MAX);
    bool zeros = field->align == '=' && str_is(field->fill, "0");
    size_t around = head.n + tail.n;

    if (field->grouping && digits.n > 0) /* "inf" has none */
        add_grouped_digits(digits, group, field->grouping,
                           zeros && field->width > around ? field->width - around : 0, &body);
    else
        buf_add_str(&body, digits);
    buf_add_str(&body, tail);
    pad_number(field, head, buf_view(&body), out);
}

static void add_sign(const struct format_field *field, bool negative, struct buf *head)
{
    if (negative)
        buf_add_char(head, '-');
    else if (field->sign != '-')
        buf_add_char(head, field->sign);
}

/* --- integers ----------------------------------------------------------------------- */

static unsigned get_format_base(char type)
{
    return type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
}

void format_int(const struct format_field *field, int64_t i, struct buf *out)
{
    AUTO_BUF struct buf head = BUF_INIT(FORMAT_HEAD_MAX), digits = BUF_INIT(TEXT_MAX);
    const char *symbols = field->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    uint64_t left = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    unsigned base = get_format_base(field->type);
    char text[DIGITS_MAX];
    size_t at = DIGITS_MAX;

    do {
        text[--at] = symbols[left % base];
        left /= base;
    } while (left > 0);
    if (field->precision > (int)(DIGITS_MAX - at))
        buf_fill(&digits, '0', (size_t)field->precision - (DIGITS_MAX - at));
    buf_add(&digits, text + at, DIGITS_MAX - at);
    add_sign(field, i < 0, &head);
    if (field->alternate && base != 10)
        buf_printf(&head, "0%c", field->type);
    add_padded_number(field, buf_view(&head), buf_view(&digits), STR(""), base == 10 ? 3 : 4, out);
}

/* --- doubles ------------------------------------------------------------------------- */

/* printf with a format for each type, since a format must be a literal. */
static void add_printf_number(char type, bool alternate, int precision, double d, struct buf *out)
{
    switch (type) {
    case 'e': buf_printf(out, alternate ? "%#.*e" : "%.*e", precision, d); break;
    case 'E': buf_printf(out, alternate ? "%#.*E" : "%.*E", precision, d); break;
    case 'g': buf_printf(out, alternate ? "%#.*g" : "%.*g", precision, d); break;
    case 'G': buf_printf(out, alternate ? "%#.*G" : "%.*G", precision, d); break;
    case 'F': buf_printf(out, alternate ? "%#.*F" : "%.*F", precision, d); break;
    default: buf_printf(out, alternate ? "%#.*f" : "%.*f", precision, d); break;
    }
}

/* No type but a precision: like 'g', but with a point or an exponent, so it switches to an exponent
 * one digit earlier. */
static void add_untyped(int precision, double d, struct buf *out)
{
    int digits = precision > 0 ? precision : 1;
    char text[EXPONENT_TEXT_MAX];
    long exponent;

    (void)snprintf(text, sizeof(text), "%.*e", digits - 1, d);
    exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent + 1 > digits - 1 && exponent + 1 <= digits) {
        /* 'g' would still write it plain */
        char *end = strchr(text, 'e');
        char *last = end;

        while (last > text && memchr(text, '.', (size_t)(end - text)) && last[-1] == '0')
            last--;
        if (last > text && last[-1] == '.')
            last--;
        buf_add(out, text, (size_t)(last - text));
        buf_add_text(out, end);
        return;
    }
    buf_printf(out, "%.*g", digits, d);
    if (exponent >= EXPONENT_LEAST && exponent < digits && !strchr(buf_text(out), '.'))
        buf_add_text(out, ".0");
}

/* The magnitude as text, without sign. */
static void add_magnitude(const struct format_field *field, double d, struct buf *out)
{
    int precision = field->precision < 0 ? DEFAULT_PRECISION : field->precision;
    bool upper = field->type == 'E' || field->type == 'F' || field->type == 'G';
    char type = field->type == 'n' ? 'g' : field->type;

    if (field->type == '%')
        d *= 100;
    if (!isfinite(d))
        buf_add_text(out, isnan(d) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
    else if (type == 0 && field->precision < 0)
        number_print_double(d, out);
    else if (type == 0)
        add_untyped(precision, d, out);
    else
        add_printf_number(type, field->alternate, precision, d, out);
    if (field->type == '%')
        buf_add_char(out, '%');
}

/* Does it print as zero? */
static bool is_zero_text(struct str text)
{
    for (size_t i = 0; i < text.n && text.p[i] != 'e' && text.p[i] != 'E'; i++)
        if ((text.p[i] >= '1' && text.p[i] <= '9') || text.p[i] == 'i' || text.p[i] == 'n')
            return false;
    return true;
}

void format_double(const struct format_field *field, double d, struct buf *out)
{
    AUTO_BUF struct buf head = BUF_INIT(FORMAT_HEAD_MAX), text = BUF_INIT(TEXT_MAX);
    bool negative = signbit(d) && !isnan(d);
    size_t digits = 0;

    add_magnitude(field, fabs(d), &text);
    if (field->positive_zero && is_zero_text(buf_view(&text)))
        negative = false;
    add_sign(field, negative, &head);
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
        digits++;
    add_padded_number(field, buf_view(&head), str_slice(buf_view(&text), 0, digits),
                      str_from_offset(buf_view(&text), digits), 3, out);
}

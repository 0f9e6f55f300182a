/*
 * The format-spec mini-language, as in "{:>8.2f}":
 *
 *     [[fill]align][sign][z][#][0][width][grouping][.precision][type]
 */
#include "language/jinja/format.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/format_number.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* The value being formatted, for defaults and messages. */
struct spec_reader {
    struct render *render;
    const struct value *v;
    struct str spec;
    struct str rest; /* not yet read */
};

static int fail_spec(const struct spec_reader *target, const char *text)
{
    return render_fail(target->render, RENDER_TYPE, "%s", text);
}

static bool take_char(struct spec_reader *target, const char *chars, char *ret)
{
    if (target->rest.n == 0 || str_find_char(str_from(chars), target->rest.p[0], 0) == STR_NONE)
        return false;
    *ret = target->rest.p[0];
    target->rest = str_from_offset(target->rest, 1);
    return true;
}

static int take_spec_number(struct spec_reader *target, size_t most, size_t *ret)
{
    size_t n = 0;

    while (target->rest.n > 0 && target->rest.p[0] >= '0' && target->rest.p[0] <= '9') {
        n = n * 10 + (size_t)(target->rest.p[0] - '0');
        if (n > most)
            return render_fail(target->render, RENDER_LIMIT,
                               "a format may ask for %zu characters at most", most);
        target->rest = str_from_offset(target->rest, 1);
    }
    *ret = n;
    return 0;
}

/* The fill is any character before an alignment. */
static bool read_align(struct spec_reader *target, struct format_field *field)
{
    size_t n = utf8_length_at(target->rest);

    if (n > 0 && target->rest.n > n &&
        str_find_char(STR("<>=^"), target->rest.p[n], 0) != STR_NONE) {
        field->fill = str_slice(target->rest, 0, n);
        target->rest = str_from_offset(target->rest, n);
    }
    return take_char(target, "<>=^", &field->align);
}

static int read_grouping(struct spec_reader *target, struct format_field *field)
{
    char second;

    if (take_char(target, ",", &field->grouping) && take_char(target, "_", &second))
        return fail_spec(target, "Cannot specify both ',' and '_'.");
    if (!field->grouping && take_char(target, "_", &field->grouping) &&
        take_char(target, ",", &second))
        return fail_spec(target, "Cannot specify both ',' and '_'.");
    return 0;
}

static int read_precision(struct spec_reader *target, struct format_field *field)
{
    size_t before, precision;
    char c;

    if (!take_char(target, ".", &c))
        return 0;
    before = target->rest.n;
    if (take_spec_number(target, FORMAT_PRECISION_MAX, &precision) < 0)
        return -1;
    if (before == target->rest.n)
        return fail_spec(target, "Format specifier missing precision");
    field->precision = (int)precision;
    return 0;
}

static int check_grouping(const struct spec_reader *target, const struct format_field *field)
{
    if (!field->grouping || field->type == 0 || strchr("defgEG%F", field->type))
        return 0;
    if (field->grouping == '_' && strchr("boxX", field->type))
        return 0;
    return render_fail(target->render, RENDER_TYPE, "Cannot specify '%c' with '%c'.",
                       field->grouping, field->type);
}

/* `align` and `type` are the defaults for this kind of value. */
static int read_spec_field(struct spec_reader *target, char align, char type,
                           struct format_field *field)
{
    bool aligned, filled;
    char c;

    *field = (struct format_field){ .align = align, .sign = '-', .precision = -1 };
    aligned = read_align(target, field);
    filled = field->fill.n > 0;
    (void)take_char(target, "+- ", &field->sign);
    field->positive_zero = take_char(target, "z", &c);
    field->alternate = take_char(target, "#", &c);
    if (!filled && take_char(target, "0", &c)) {
        field->fill = STR("0");
        if (!aligned && align == '>')
            field->align = '=';
    }
    if (field->fill.n == 0)
        field->fill = STR(" ");
    if (take_spec_number(target, FORMAT_WIDTH_MAX, &field->width) < 0 ||
        read_grouping(target, field) < 0 || read_precision(target, field) < 0)
        return -1;
    if (target->rest.n > 1 || (target->rest.n == 1 && target->rest.p[0] == '\0'))
        return render_fail(target->render, RENDER_TYPE,
                           "Invalid format specifier '%.*s' for object of type '%s'",
                           STR_ARG(target->spec), op_type_name(target->v));
    field->type = target->rest.n > 0 ? target->rest.p[0] : type;
    return check_grouping(target, field);
}

static int fail_spec_type(const struct spec_reader *target, const struct format_field *field)
{
    return render_fail(target->render, RENDER_TYPE,
                       "Unknown format code '%c' for object of type '%s'", field->type,
                       op_type_name(target->v));
}

static bool has_spec_sign(const struct spec_reader *target, char sign)
{
    struct spec_reader again = *target;
    struct format_field field = { 0 };
    char c = 0;

    again.rest = target->spec;
    (void)read_align(&again, &field);
    return take_char(&again, "+- ", &c) && c == sign;
}

static int check_text_spec(const struct spec_reader *target, const struct format_field *field)
{
    if (field->type != 's')
        return fail_spec_type(target, field);
    if (has_spec_sign(target, ' '))
        return fail_spec(target, "Space not allowed in string format specifier");
    if (has_spec_sign(target, '+') || has_spec_sign(target, '-'))
        return fail_spec(target, "Sign not allowed in string format specifier");
    if (field->positive_zero)
        return fail_spec(target,
                         "Negative zero coercion (z) not allowed in string format specifier");
    if (field->alternate)
        return fail_spec(target, "Alternate form (#) not allowed in string format specifier");
    if (field->align == '=')
        return fail_spec(target, "'=' alignment not allowed in string format specifier");
    return 0;
}

static int format_text(struct spec_reader *target, struct buf *out)
{
    struct str text = target->v->s;
    struct format_field field;

    if (read_spec_field(target, '<', 's', &field) < 0 || check_text_spec(target, &field) < 0)
        return -1;
    if (field.precision >= 0)
        text = str_slice(text, 0, utf8_offset(text, (size_t)field.precision));
    format_pad(&field, text, out);
    return 0;
}

static int format_char(const struct spec_reader *target, const struct format_field *field,
                       int64_t i, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    if (has_spec_sign(target, '+') || has_spec_sign(target, '-') || has_spec_sign(target, ' '))
        return fail_spec(target, "Sign not allowed with integer format specifier 'c'");
    if (field->alternate)
        return fail_spec(target,
                         "Alternate form (#) not allowed with integer format specifier 'c'");
    if (i < 0 || i > 0x10ffff)
        return fail_spec(target, "%c arg not in range(0x110000)");
    utf8_add(&text, (uint32_t)i);
    format_pad(field, buf_view(&text), out);
    return 0;
}

static int format_integer(struct spec_reader *target, struct buf *out)
{
    int64_t i = target->v->kind == VALUE_BOOL ? target->v->b : target->v->i;
    struct format_field field;

    if (read_spec_field(target, '>', 'd', &field) < 0)
        return -1;
    if (strchr("eEfFgG%", field.type)) {
        format_double(&field, (double)i, out);
        return 0;
    }
    if (!strchr("bcdnoxX", field.type))
        return fail_spec_type(target, &field);
    if (field.precision >= 0)
        return fail_spec(target, "Precision not allowed in integer format specifier");
    if (field.positive_zero)
        return fail_spec(target,
                         "Negative zero coercion (z) not allowed in integer format specifier");
    if (field.type == 'c')
        return format_char(target, &field, i, out);
    format_int(&field, i, out);
    return 0;
}

static int format_float(struct spec_reader *target, struct buf *out)
{
    struct format_field field;

    if (read_spec_field(target, '>', 0, &field) < 0)
        return -1;
    if (field.type != 0 && !strchr("eEfFgGn%", field.type))
        return fail_spec_type(target, &field);
    format_double(&field, target->v->d, out);
    return 0;
}

int format_value(struct render *render, const struct value *v, struct str spec, struct buf *out)
{
    struct spec_reader target = { render, v, spec, spec };

    if (spec.n == 0)
        return op_print(render, v, out);
    if (v->kind == VALUE_STR)
        return format_text(&target, out);
    if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
        return format_integer(&target, out);
    if (v->kind == VALUE_DOUBLE)
        return format_float(&target, out);
    return render_fail(render, RENDER_TYPE, "unsupported format string passed to %s.__format__",
                       op_type_name(v));
}

/*
 * The operator `%` of texts:
 *
 *     %[(key)][flags][width][.precision][length]type
 *
 * A map provides values by key, a tuple in order; anything else is the only value.
 */
#include "language/jinja/format.h"

#include <math.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/container.h"
#include "language/jinja/format_number.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

struct percent {
    struct render *render;
    struct str text;
    size_t at;
    struct value args;
    size_t next;        /* length of the tuple, or 0 and 1 for a single value */
    bool keyed, markup; /* keyed: `args` is the value of the last key */
};

/* The next byte of the format; 0 at the end. */
static char peek_percent_char(const struct percent *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static int fail_percent_format(const struct percent *p, const char *text)
{
    return render_fail(p->render, RENDER_TYPE, "%s", text);
}

static bool is_percent_tuple(const struct value *v)
{
    return v->kind == VALUE_LIST && v->flags & VALUE_TUPLE;
}

static int next_arg(struct percent *p, struct value *ret)
{
    if (p->keyed) {
        *ret = p->args;
        return 0;
    }
    if (is_percent_tuple(&p->args)) {
        if (p->next >= p->args.list->count)
            return fail_percent_format(p, "not enough arguments for format string");
        *ret = p->args.list->items[p->next++];
        return 0;
    }
    if (p->next++ > 0)
        return fail_percent_format(p, "not enough arguments for format string");
    *ret = p->args;
    return 0;
}

/* "(key)": parentheses may be nested in it. */
static int read_percent_key(struct percent *p, const struct value *map, struct value *ret)
{
    size_t begin = ++p->at;
    unsigned depth = 1;
    const struct value *found;
    struct value key;

    for (; p->at < p->text.n && depth > 0; p->at++)
        depth += peek_percent_char(p) == '(' ? 1U : peek_percent_char(p) == ')' ? -1U : 0U;
    if (depth > 0)
        return fail_percent_format(p, "incomplete format key");
    key = value_str(arena_str(p->render->arena, str_slice(p->text, begin, p->at - begin - 1)));
    if (map->kind != VALUE_MAP)
        return fail_percent_format(p, "format requires a mapping");
    found = value_map_find(container_map(p->render, map), &key);
    if (!found)
        return render_fail(p->render, RENDER_TYPE, "format: no key '%.*s'", STR_ARG(key.s));
    *ret = *found;
    return 0;
}

static void read_percent_flags(struct percent *p, struct format_field *field, bool *zero)
{
    for (;; p->at++) {
        switch (peek_percent_char(p)) {
        case '-': field->align = '<'; break;
        case '+': field->sign = '+'; break;
        case ' ': field->sign = field->sign == '+' ? '+' : ' '; break;
        case '#': field->alternate = true; break;
        case '0': *zero = true; break;
        default: return;
        }
    }
}

/* "*" or digits. */
static int read_percent_number(struct percent *p, int64_t most, int64_t *ret)
{
    struct value v;

    *ret = 0;
    if (peek_percent_char(p) == '*') {
        p->at++;
        if (next_arg(p, &v) < 0)
            return -1;
        if (v.kind != VALUE_INT && v.kind != VALUE_BOOL)
            return fail_percent_format(p, "* must be int");
        *ret = v.kind == VALUE_INT ? v.i : v.b;
    } else {
        for (; peek_percent_char(p) >= '0' && peek_percent_char(p) <= '9' && *ret <= most; p->at++)
            *ret = *ret * 10 + (peek_percent_char(p) - '0');
    }
    if (*ret > most || *ret < -most)
        return render_fail(p->render, RENDER_LIMIT, "a format may ask for %lld characters at most",
                           (long long)most);
    return 0;
}

static int read_sizes(struct percent *p, struct format_field *field)
{
    int64_t n;

    if (read_percent_number(p, FORMAT_WIDTH_MAX, &n) < 0)
        return -1;
    if (n < 0)
        field->align = '<';
    field->width = (size_t)(n < 0 ? -n : n);
    if (peek_percent_char(p) == '.') {
        p->at++;
        if (read_percent_number(p, FORMAT_PRECISION_MAX, &n) < 0)
            return -1;
        field->precision = n > 0 ? (int)n : 0;
    }
    if (peek_percent_char(p) == 'h' || peek_percent_char(p) == 'l' || peek_percent_char(p) == 'L')
        p->at++;
    return 0;
}

/* --- values ------------------------------------------------------------------------- */

/* repr() with non-ASCII characters escaped. */
static void add_ascii_repr(struct str text, struct buf *out)
{
    while (text.n > 0) {
        uint32_t c = utf8_next(&text);

        if (c < 0x80)
            buf_add_char(out, (char)c);
        else if (c < 0x100)
            buf_printf(out, "\\x%02x", c);
        else if (c < 0x10000)
            buf_printf(out, "\\u%04x", c);
        else
            buf_printf(out, "\\U%08x", c);
    }
}

int format_ascii(struct render *render, const struct value *v, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    if (op_repr(render, v, &text) < 0)
        return -1;
    add_ascii_repr(buf_view(&text), out);
    return 0;
}

static int add_percent_text(struct percent *p, const struct format_field *field,
                            const struct value *v, struct buf *out)
{
    AUTO_BUF struct buf plain = BUF_INIT(TEXT_MAX), escaped = BUF_INIT(TEXT_MAX);
    struct str text;
    int result = field->type == 's'   ? op_print(p->render, v, &plain)
                 : field->type == 'r' ? op_repr(p->render, v, &plain)
                                      : format_ascii(p->render, v, &plain);

    if (result < 0)
        return -1;
    text = buf_view(&plain);
    if (p->markup && !(field->type == 's' && value_is_markup(v))) {
        op_escape(text, &escaped);
        text = buf_view(&escaped);
    }
    if (field->precision >= 0)
        text = str_slice(text, 0, utf8_offset(text, (size_t)field->precision));
    format_pad(field, text, out);
    return 0;
}

static int add_percent_char(struct percent *p, const struct format_field *field,
                            const struct value *v, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    if (v->kind == VALUE_STR && utf8_count(v->s) == 1) {
        format_pad(field, v->s, out);
        return 0;
    }
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL)
        return fail_percent_format(p, "%c requires int or char");
    if (v->kind == VALUE_INT && (v->i < 0 || v->i > 0x10ffff))
        return fail_percent_format(p, "%c arg not in range(0x110000)");
    utf8_add(&text, v->kind == VALUE_INT ? (uint32_t)v->i : (uint32_t)v->b);
    format_pad(field, buf_view(&text), out);
    return 0;
}

/* The value as an integer; a float is cut for %d only. */
static int to_int(struct percent *p, char type, const struct value *v, int64_t *ret)
{
    bool decimal = type == 'd' || type == 'i' || type == 'u';

    if (undefined_check(p->render, v) < 0)
        return -1;
    if (v->kind == VALUE_INT || v->kind == VALUE_BOOL) {
        *ret = v->kind == VALUE_INT ? v->i : v->b;
        return 0;
    }
    if (v->kind != VALUE_DOUBLE || !decimal)
        return render_fail(p->render, RENDER_TYPE, "%%%c format: %s is required, not %s", type,
                           decimal ? "a real number" : "an integer", op_type_name(v));
    if (!isfinite(v->d))
        return fail_percent_format(p, isnan(v->d) ? "cannot convert float NaN to integer"
                                                  : "cannot convert float infinity to integer");
    if (!(v->d >= -0x1p63 && v->d < 0x1p63))
        return render_fail(p->render, RENDER_LIMIT, "integer overflow: %g needs more than 64 bits",
                           v->d);
    *ret = (int64_t)v->d;
    return 0;
}

static int add_percent_int(struct percent *p, struct format_field *field, const struct value *v,
                           struct buf *out)
{
    int64_t i = 0;

    if (to_int(p, field->type, v, &i) < 0)
        return -1;
    if (!strchr("oxX", field->type))
        field->type = 'd';
    format_int(field, i, out);
    return 0;
}

static int add_double(struct percent *p, struct format_field *field, const struct value *v,
                      struct buf *out)
{
    if (undefined_check(p->render, v) < 0)
        return -1;
    if (v->kind != VALUE_DOUBLE && v->kind != VALUE_INT && v->kind != VALUE_BOOL)
        return render_fail(p->render, RENDER_TYPE, "must be real number, not %s", op_type_name(v));
    format_double(
        field, v->kind == VALUE_DOUBLE ? v->d : (double)(v->kind == VALUE_INT ? v->i : v->b), out);
    return 0;
}

static int fail_percent_type(const struct percent *p)
{
    struct str rest = str_from_offset(p->text, p->at - 1);
    size_t index = utf8_count(str_slice(p->text, 0, p->at - 1));
    uint32_t c = utf8_next(&rest);

    return render_fail(p->render, RENDER_TYPE,
                       "unsupported format character '%c' (0x%x) at index %zu",
                       c >= ' ' && c < 0x7f ? (int)c : '?', c, index);
}

static int add_percent_value(struct percent *p, struct format_field *field, bool zero,
                             struct buf *out)
{
    struct value v;

    if (str_find_char(STR("sraciduoxXeEfFgG"), field->type, 0) == STR_NONE)
        return fail_percent_type(p);
    if (next_arg(p, &v) < 0)
        return -1;
    if (strchr("sra", field->type))
        return add_percent_text(p, field, &v, out);
    if (field->type == 'c')
        return add_percent_char(p, field, &v, out);
    if (zero && field->align != '<') {
        field->fill = STR("0");
        field->align = '=';
    }
    return strchr("eEfFgG", field->type) ? add_double(p, field, &v, out)
                                         : add_percent_int(p, field, &v, out);
}

/* One specifier, after its "%". */
static int add_percent_field(struct percent *p, const struct value *args, struct buf *out)
{
    struct format_field field = { .fill = STR(" "), .align = '>', .sign = '-', .precision = -1 };
    bool zero = false;

    if (peek_percent_char(p) == '%') {
        p->at++;
        buf_add_char(out, '%');
        return 0;
    }
    if (peek_percent_char(p) == '(') {
        if (read_percent_key(p, args, &p->args) < 0)
            return -1;
        p->keyed = true;
    }
    read_percent_flags(p, &field, &zero);
    if (read_sizes(p, &field) < 0)
        return -1;
    if (p->at >= p->text.n)
        return fail_percent_format(p, "incomplete format");
    field.type = p->text.p[p->at++];
    return add_percent_value(p, &field, zero, out);
}

/* Is there a value without a specifier? Anything with items may be meant as a map. */
static bool is_left_over(const struct percent *p, const struct value *args)
{
    if (p->keyed)
        return false;
    if (is_percent_tuple(args))
        return p->next < args->list->count;
    return p->next == 0 && args->kind != VALUE_MAP && args->kind != VALUE_LIST &&
           args->kind != VALUE_BYTES && !value_is_undefined(args) &&
           !(args->kind == VALUE_OBJECT && args->object->type->item);
}

int format_percent(struct render *render, const struct value *format, const struct value *args,
                   struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct percent p = {
        .render = render, .text = format->s, .args = *args, .markup = value_is_markup(format)
    };

    while (p.at < p.text.n && !out.full) {
        size_t sign = str_find_char(p.text, '%', p.at);
        size_t end = sign == STR_NONE ? p.text.n : sign;

        buf_add(&out, p.text.p + p.at, end - p.at);
        p.at = end;
        if (sign == STR_NONE)
            break;
        p.at++;
        if (add_percent_field(&p, args, &out) < 0)
            return -1;
    }
    if (is_left_over(&p, args))
        return fail_percent_format(&p, "not all arguments converted during string formatting");
    return text_finish(render, &out, p.markup ? VALUE_SAFE : 0, ret);
}

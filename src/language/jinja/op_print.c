/*
 * str() and repr(). Dates print as a datetime does; a YAML date is one at midnight.
 */
#include "language/jinja/ops.h"

#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/stack.h"
#include "core/base/utf8.h"
#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "core/base/unicode.h"

/* Maximum depth of printed containers. */
#define PRINT_DEPTH_MAX 500

#define SECONDS_PER_DAY 86400

/* The containers being printed, innermost first: one inside itself prints as "...". */
struct visit {
    const void *container;
    const struct visit *outer;
    unsigned depth;
};

static int print_repr(struct render *render, const struct value *v, struct buf *out,
                      const struct visit *outer);

const char *op_type_name(const struct value *v)
{
    static const char *const names[] = {
        [VALUE_NULL] = "NoneType", [VALUE_BOOL] = "bool", [VALUE_INT] = "int",
        [VALUE_DOUBLE] = "float",  [VALUE_STR] = "str",   [VALUE_BYTES] = "bytes",
        [VALUE_TIME] = "datetime", [VALUE_LIST] = "list", [VALUE_MAP] = "dict",
        [VALUE_OBJECT] = "object",
    };
    _Static_assert(ARRAY_LEN(names) == VALUE_KINDS, "every kind has a name");

    if (v->kind == VALUE_OBJECT)
        return v->object->type->name;
    if (v->kind == VALUE_STR && v->flags & VALUE_SAFE)
        return "Markup";
    if (v->kind == VALUE_LIST && v->flags & VALUE_TUPLE)
        return "tuple";
    return names[v->kind];
}

struct value op_new_str(struct render *render, struct str text)
{
    return value_str(arena_str(render->arena, text));
}

/* --- texts ------------------------------------------------------------------ */

static bool has_char(struct str text, char c)
{
    return str_find_char(text, c, 0) != STR_NONE;
}

/* An ASCII character inside quotes. */
static void quote_ascii(unsigned char c, char quote, struct buf *out)
{
    if (c == (unsigned char)quote || c == '\\')
        buf_printf(out, "\\%c", c);
    else if (c == '\n')
        buf_add_text(out, "\\n");
    else if (c == '\r')
        buf_add_text(out, "\\r");
    else if (c == '\t')
        buf_add_text(out, "\\t");
    else if (c < ' ' || c == 0x7f)
        buf_printf(out, "\\x%02x", c);
    else
        buf_add_char(out, (char)c);
}

static void quote_wide(struct str bytes, struct buf *out)
{
    struct str rest = bytes;
    uint32_t c = utf8_next(&rest);

    if (bytes.n == 1) /* invalid UTF-8: as Python's "surrogateescape" */
        buf_printf(out, "\\udc%02x", (unsigned char)bytes.p[0]);
    else if (unicode_is(c, UNICODE_PRINTABLE))
        buf_add_str(out, bytes);
    else if (c < 0x100)
        buf_printf(out, "\\x%02x", c);
    else if (c < 0x10000)
        buf_printf(out, "\\u%04x", c);
    else
        buf_printf(out, "\\U%08x", c);
}

static void quote_str(struct str text, struct buf *out)
{
    char quote = has_char(text, '\'') && !has_char(text, '"') ? '"' : '\'';

    buf_add_char(out, quote);
    while (text.n > 0) {
        size_t n = utf8_length_at(text);

        if ((unsigned char)text.p[0] < 0x80)
            quote_ascii((unsigned char)text.p[0], quote, out);
        else
            quote_wide(str_slice(text, 0, n), out);
        text = str_from_offset(text, n);
    }
    buf_add_char(out, quote);
}

static void quote_bytes(struct str bytes, struct buf *out)
{
    char quote = has_char(bytes, '\'') && !has_char(bytes, '"') ? '"' : '\'';

    buf_printf(out, "b%c", quote);
    for (size_t i = 0; i < bytes.n; i++)
        if ((unsigned char)bytes.p[i] < 0x80)
            quote_ascii((unsigned char)bytes.p[i], quote, out);
        else
            buf_printf(out, "\\x%02x", (unsigned char)bytes.p[i]);
    buf_add_char(out, quote);
}

void op_escape(struct str text, struct buf *out)
{
    size_t done = 0;

    for (size_t i = 0; i < text.n; i++) {
        const char *entity;

        switch (text.p[i]) {
        case '&': entity = "&amp;"; break;
        case '<': entity = "&lt;"; break;
        case '>': entity = "&gt;"; break;
        case '"': entity = "&#34;"; break;
        case '\'': entity = "&#39;"; break;
        default: continue;
        }
        buf_add(out, text.p + done, i - done);
        buf_add_text(out, entity);
        done = i + 1;
    }
    buf_add(out, text.p + done, text.n - done);
}

/* --- scalars ------------------------------------------------------------------ */

struct civil {
    int64_t year;
    unsigned month, day;
};

/* The proleptic Gregorian date of a day counted from 1970; years run from March inside. */
static struct civil civil_from_days(int64_t days)
{
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    unsigned day_of_era = (unsigned)(shifted - era * 146097);
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153;
    struct civil date = { .day = day_of_year - (153 * month + 2) / 5 + 1,
                          .month = month < 10 ? month + 3 : month - 9 };

    date.year = year_of_era + era * 400 + (date.month <= 2);
    return date;
}

static void print_value_time(struct value_time t, bool repr, struct buf *out)
{
    int64_t days = t.seconds / SECONDS_PER_DAY - (t.seconds % SECONDS_PER_DAY < 0);
    unsigned second = (unsigned)(t.seconds - days * SECONDS_PER_DAY);
    unsigned micro = t.nanoseconds / 1000;
    struct civil date = civil_from_days(days);

    if (!repr) {
        buf_printf(out, "%04lld-%02u-%02u %02u:%02u:%02u", (long long)date.year, date.month,
                   date.day, second / 3600, second / 60 % 60, second % 60);
        if (micro > 0)
            buf_printf(out, ".%06u", micro);
        return;
    }
    buf_printf(out, "datetime.datetime(%lld, %u, %u, %u, %u", (long long)date.year, date.month,
               date.day, second / 3600, second / 60 % 60);
    if (second % 60 > 0 || micro > 0)
        buf_printf(out, ", %u", second % 60);
    if (micro > 0)
        buf_printf(out, ", %u", micro);
    buf_add_char(out, ')');
}

/* --- containers --------------------------------------------------------------- */

static bool is_visited(const struct visit *visit, const void *container)
{
    for (; visit; visit = visit->outer)
        if (visit->container == container)
            return true;
    return false;
}

static int visit_enter(struct render *render, struct visit *visit)
{
    visit->depth = visit->outer ? visit->outer->depth + 1 : 1;
    if (visit->depth > PRINT_DEPTH_MAX || stack_is_low())
        return render_fail(render, RENDER_LIMIT, "containers are nested more than %d deep",
                           PRINT_DEPTH_MAX);
    return 0;
}

static int print_value_list(struct render *render, const struct value *v, struct buf *out,
                            const struct visit *outer)
{
    const struct value_list *list = container_list(render, v);
    struct visit visit = { list, outer, 0 };
    bool tuple = v->flags & VALUE_TUPLE;

    if (is_visited(outer, list)) {
        buf_add_text(out, tuple ? "(...)" : "[...]");
        return 0;
    }
    if (visit_enter(render, &visit) < 0)
        return -1;
    buf_add_char(out, tuple ? '(' : '[');
    for (size_t i = 0; i < list->count && !out->full; i++) {
        if (i > 0)
            buf_add_text(out, ", ");
        if (print_repr(render, &list->items[i], out, &visit) < 0)
            return -1;
    }
    buf_add_text(out, tuple ? list->count == 1 ? ",)" : ")" : "]");
    return 0;
}

static int print_value_map(struct render *render, const struct value *v, struct buf *out,
                           const struct visit *outer)
{
    const struct value_map *map = container_map(render, v);
    struct visit visit = { map, outer, 0 };

    if (is_visited(outer, map)) {
        buf_add_text(out, "{...}");
        return 0;
    }
    if (visit_enter(render, &visit) < 0)
        return -1;
    buf_add_char(out, '{');
    for (size_t i = 0; i < map->count && !out->full; i++) {
        if (i > 0)
            buf_add_text(out, ", ");
        if (print_repr(render, &map->pairs[i].key, out, &visit) < 0)
            return -1;
        buf_add_text(out, ": ");
        if (print_repr(render, &map->pairs[i].value, out, &visit) < 0)
            return -1;
    }
    buf_add_char(out, '}');
    return 0;
}

/* Objects print their content by calling back into here, so their depth counts as depth of the
 * rendering. */
static int print_value_object(struct render *render, struct object *object, struct buf *out)
{
    int result = 0;

    if (render_enter(render) < 0)
        return -1;
    if (object->type->print)
        result = object->type->print(render, object, out);
    else
        buf_printf(out, "<%s object>", object->type->name);
    render_leave(render);
    return result;
}

/* Values that print the same inside a container and alone. */
static int print_simple_value(struct render *render, const struct value *v, struct buf *out,
                              const struct visit *outer)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: buf_add_text(out, "None"); break;
    case VALUE_BOOL: buf_add_text(out, v->b ? "True" : "False"); break;
    case VALUE_INT: number_print_int(v->i, out); break;
    case VALUE_DOUBLE: number_print_double(v->d, out); break;
    case VALUE_BYTES: quote_bytes(v->s, out); break;
    case VALUE_TIME: print_value_time(v->t, false, out); break;
    case VALUE_STR: buf_add_str(out, v->s); break;
    case VALUE_LIST: return print_value_list(render, v, out, outer);
    case VALUE_MAP: return print_value_map(render, v, out, outer);
    case VALUE_OBJECT: return print_value_object(render, v->object, out);
    }
    return 0;
}

static int print_repr(struct render *render, const struct value *v, struct buf *out,
                      const struct visit *outer)
{
    if (v->kind == VALUE_STR) {
        buf_add_text(out, v->flags & VALUE_SAFE ? "Markup(" : "");
        quote_str(v->s, out);
        buf_add_text(out, v->flags & VALUE_SAFE ? ")" : "");
        return 0;
    }
    if (v->kind == VALUE_TIME) {
        print_value_time(v->t, true, out);
        return 0;
    }
    if (value_is_undefined(v)) {
        buf_add_text(out, "Undefined");
        return 0;
    }
    return print_simple_value(render, v, out, outer);
}

int op_print(struct render *render, const struct value *v, struct buf *out)
{
    return print_simple_value(render, v, out, NULL);
}

int op_repr(struct render *render, const struct value *v, struct buf *out)
{
    return print_repr(render, v, out, NULL);
}

int op_text(struct render *render, const struct value *v, struct str *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value made;

    if (v->kind == VALUE_STR) {
        *ret = v->s;
        return 0;
    }
    if (op_print(render, v, &out) < 0 || text_finish(render, &out, 0, &made) < 0)
        return -1;
    *ret = made.s;
    return 0;
}

int op_output(struct render *render, const struct value *v, struct buf *out)
{
    AUTO_BUF struct buf plain = BUF_INIT(TEXT_MAX);

    if (!render->autoescape || (v->kind == VALUE_STR && v->flags & VALUE_SAFE))
        return op_print(render, v, out);
    if (v->kind == VALUE_STR) {
        op_escape(v->s, out);
        return 0;
    }
    if (op_print(render, v, &plain) < 0 ||
        text_expect(render, plain.full ? TEXT_MAX + 1 : plain.n) < 0)
        return -1;
    op_escape(buf_view(&plain), out);
    return 0;
}

/* Filters for HTML: escaping, tags, links. */
#include "language/jinja/filters/filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

static int filter_safe(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    *ret = value_str(text);
    ret->flags |= VALUE_SAFE;
    return 0;
}

static int escape_markup(struct render *render, struct str text, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    op_escape(text, &out);
    return text_finish(render, &out, VALUE_SAFE, ret);
}

static int filter_forceescape(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    return escape_markup(render, text, ret);
}

static int filter_escape_html(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    if (bound->args[0].kind == VALUE_STR && (bound->args[0].flags & VALUE_SAFE)) {
        *ret = bound->args[0];
        return 0;
    }
    return filter_forceescape(render, bound, ret);
}

/* --- tags and entities -------------------------------------------------------------- */

/* Cut all text from each `open` to the next `close`. */
static void cut_between(struct buf *text, struct str open, struct str close)
{
    size_t from = 0, kept = 0;
    struct str s = buf_view(text);
    char *p = text->p;

    for (;;) {
        size_t start = str_find(s, open, from);
        size_t end = start == STR_NONE ? STR_NONE : str_find(s, close, start);

        if (end == STR_NONE)
            break;
        memmove(p + kept, p + from, start - from);
        kept += start - from;
        from = end + close.n;
    }
    if (from == 0)
        return;
    memmove(p + kept, p + from, s.n - from);
    buf_cut(text, kept + s.n - from);
}

static const struct {
    const char *name;
    uint32_t c;
} entities[] = {
    { "amp", '&' },      { "lt", '<' },        { "gt", '>' },       { "quot", '"' },
    { "apos", '\'' },    { "nbsp", 0xa0 },     { "copy", 0xa9 },    { "reg", 0xae },
    { "trade", 0x2122 }, { "hellip", 0x2026 }, { "mdash", 0x2014 }, { "ndash", 0x2013 },
    { "lsquo", 0x2018 }, { "rsquo", 0x2019 },  { "ldquo", 0x201c }, { "rdquo", 0x201d },
    { "laquo", 0xab },   { "raquo", 0xbb },    { "euro", 0x20ac },  { "pound", 0xa3 },
    { "sect", 0xa7 },    { "deg", 0xb0 },      { "middot", 0xb7 },  { "times", 0xd7 },
    { "auml", 0xe4 },    { "ouml", 0xf6 },     { "uuml", 0xfc },    { "Auml", 0xc4 },
    { "Ouml", 0xd6 },    { "Uuml", 0xdc },     { "szlig", 0xdf },   { "eacute", 0xe9 },
    { "egrave", 0xe8 },  { "agrave", 0xe0 },   { "ccedil", 0xe7 },  { "bull", 0x2022 },
};

/* The character of "amp", "#39" or "#x27"; 0 when unknown. */
static uint32_t entity_char(struct str name)
{
    char digits[12];
    char *end;
    unsigned long c;
    bool hex;

    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (str_is(name, entities[i].name))
            return entities[i].c;
    hex = name.n > 2 && (name.p[1] | 0x20) == 'x';
    if (name.n < 2 || name.p[0] != '#' || name.n >= sizeof(digits))
        return 0;
    memcpy(digits, name.p + (hex ? 2 : 1), name.n - (hex ? 2 : 1));
    digits[name.n - (hex ? 2 : 1)] = '\0';
    c = strtoul(digits, &end, hex ? 16 : 10);
    return *end || c > 0x10ffff ? 0 : (uint32_t)c;
}

static void unescape_markup(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        size_t end = text.p[i] == '&' ? str_find_char(text, ';', i) : STR_NONE;
        uint32_t c = end == STR_NONE ? 0 : entity_char(str_slice(text, i + 1, end - i - 1));

        if (c > 0) {
            utf8_add(out, c);
            i = end + 1;
        } else {
            buf_add_char(out, text.p[i++]);
        }
    }
}

static int filter_striptags(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    const struct value_list *words;
    struct value split;
    struct str s;

    if (argument_text(render, &bound->args[0], &s) < 0)
        return -1;
    buf_add_str(&text, s);
    if (text.n > 0) {
        cut_between(&text, STR("<!--"), STR("-->"));
        cut_between(&text, STR("<"), STR(">"));
    }
    split = op_new_str(render, buf_view(&text));
    if (argument_method(render, &split, "split", NULL, 0, &split) < 0 ||
        op_list(render, &split, &words) < 0)
        return -1;
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            buf_add_char(&out, ' ');
        unescape_markup(words->items[i].s, &out);
    }
    return text_finish(render, &out, 0, ret);
}

/* --- attributes and addresses ----------------------------------------------------------- */

static bool is_attribute_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (strchr(" \t\n\v\f\r/>=", name.p[i]))
            return false;
    return true;
}

static int filter_xmlattr(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct value_map *map;
    bool space;

    if (bound->args[0].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "'%s' object has no attribute 'items'",
                           op_type_name(&bound->args[0]));
    map = container_map(render, &bound->args[0]);
    if (op_truth(render, &bound->args[1], &space) < 0)
        return -1;
    for (size_t i = 0; i < map->count; i++) {
        const struct value *v = &map->pairs[i].value;
        struct str key, text;

        if (v->kind == VALUE_NULL || value_is_undefined(v))
            continue;
        if (argument_text(render, &map->pairs[i].key, &key) < 0 ||
            argument_text(render, v, &text) < 0)
            return -1;
        if (!is_attribute_name(key))
            return render_fail(render, RENDER_TYPE, "invalid character in attribute name: '%.*s'",
                               STR_ARG(key));
        if (space || out.n > 0)
            buf_add_char(&out, ' ');
        op_escape(key, &out);
        buf_add_text(&out, "=\"");
        if (v->kind == VALUE_STR && (v->flags & VALUE_SAFE))
            buf_add_str(&out, text);
        else
            op_escape(text, &out);
        buf_add_char(&out, '"');
    }
    return text_finish(render, &out, render->autoescape ? VALUE_SAFE : 0, ret);
}

/* Percent-encoded UTF-8. In a query '/' is encoded too and a blank becomes '+'. */
static void quote_url_text(struct str text, bool query, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("_.-~", c)) || (c == '/' && !query);

        if (plain)
            buf_add_char(out, (char)c);
        else if (c == ' ' && query)
            buf_add_char(out, '+');
        else
            buf_printf(out, "%%%02X", c);
    }
}

static int quote_pair(struct render *render, const struct value *pair, struct buf *out)
{
    const struct value_list *parts;
    struct str key, text;

    if (op_list(render, pair, &parts) < 0)
        return -1;
    if (parts->count != 2)
        return render_fail(render, RENDER_TYPE, "urlencode expects pairs, got %zu values",
                           parts->count);
    if (argument_text(render, &parts->items[0], &key) < 0 ||
        argument_text(render, &parts->items[1], &text) < 0)
        return -1;
    if (out->n > 0)
        buf_add_char(out, '&');
    quote_url_text(key, true, out);
    buf_add_char(out, '=');
    quote_url_text(text, true, out);
    return 0;
}

static int filter_urlencode(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value v = bound->args[0];
    const struct value_list *pairs;
    struct str text;

    if (v.kind == VALUE_MAP && argument_method(render, &v, "items", NULL, 0, &v) < 0)
        return -1;
    if (v.kind != VALUE_LIST && !(v.kind == VALUE_OBJECT && v.object->type->list)) {
        if (argument_text(render, &v, &text) < 0)
            return -1;
        quote_url_text(text, false, &out);
        return text_finish(render, &out, 0, ret);
    }
    if (op_list(render, &v, &pairs) < 0)
        return -1;
    for (size_t i = 0; i < pairs->count; i++)
        if (quote_pair(render, &pairs->items[i], &out) < 0)
            return -1;
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_markup_functions[] = {
    { "e",           "s", filter_escape_html, "escaped for HTML, unless it is safe" },
    { "escape",      "s", filter_escape_html, "escaped for HTML, unless it is safe" },
    { "forceescape", "value", filter_forceescape, "escaped for HTML in any case" },
    { "safe",        "value", filter_safe, "text that needs no escaping" },
    { "striptags",   "value", filter_striptags, "text without tags" },
    { "urlencode",   "value", filter_urlencode, "quoted for an address or a query" },
    { "xmlattr",     "d, autospace=true", filter_xmlattr, "a map as attributes of a tag" },
    { 0 },
};
/* clang-format on */

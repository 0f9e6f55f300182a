/* xml: a map with one root as XML, in the layout of Python's minidom, like Salt's serializer. */
#include "language/jinja/filters/filter.h"

#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

struct writing {
    struct render *render;
    struct buf *out;
};

static int add_element(struct writing *w, struct str tag, const struct value *v, unsigned depth);

static void add_xml_text(struct buf *out, struct str text, bool in_quotes)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (c == '&')
            buf_add_text(out, "&amp;");
        else if (c == '<')
            buf_add_text(out, "&lt;");
        else if (c == '>')
            buf_add_text(out, "&gt;");
        else if (c == '"' && in_quotes)
            buf_add_text(out, "&quot;");
        else
            buf_add_char(out, c);
    }
}

static int add_xml_value(struct writing *w, const struct value *v, bool in_quotes)
{
    struct str text;

    if (op_text(w->render, v, &text) < 0)
        return -1;
    add_xml_text(w->out, text, in_quotes);
    return 0;
}

static bool is_nested(const struct value *v)
{
    return v->kind == VALUE_LIST || v->kind == VALUE_MAP;
}

static void add_indent(struct writing *w, unsigned depth)
{
    while (depth-- > 0)
        buf_add_char(w->out, ' ');
}

/* Scalars become attributes, everything else elements inside. */
static int add_xml_map(struct writing *w, struct str tag, const struct value_map *map,
                       unsigned depth)
{
    size_t inside = 0;

    for (size_t i = 0; i < map->count; i++) {
        const struct value_pair *pair = &map->pairs[i];

        inside += is_nested(&pair->value);
        if (is_nested(&pair->value))
            continue;
        buf_add_char(w->out, ' ');
        if (add_xml_value(w, &pair->key, true) < 0)
            return -1;
        buf_add_text(w->out, "=\"");
        if (add_xml_value(w, &pair->value, true) < 0)
            return -1;
        buf_add_char(w->out, '"');
    }
    buf_add_text(w->out, inside > 0 ? ">\n" : "/>\n");
    for (size_t i = 0; i < map->count; i++)
        if (is_nested(&map->pairs[i].value) &&
            add_element(w, map->pairs[i].key.s, &map->pairs[i].value, depth + 1) < 0)
            return -1;
    if (inside > 0) {
        add_indent(w, depth);
        buf_printf(w->out, "</%.*s>\n", STR_ARG(tag));
    }
    return 0;
}

static int add_xml_list(struct writing *w, struct str tag, const struct value_list *list,
                        unsigned depth)
{
    int result = 0;

    for (size_t i = 0; i < list->count && result == 0; i++)
        result = add_element(w, tag, &list->items[i], depth);
    return result;
}

static int add_element(struct writing *w, struct str tag, const struct value *v, unsigned depth)
{
    int result;

    if (!tag.p)
        return render_fail(w->render, RENDER_TYPE, "xml expects texts as keys");
    if (render_enter(w->render) < 0)
        return -1;
    if (v->kind == VALUE_LIST) {
        result = add_xml_list(w, tag, container_list(w->render, v), depth);
        render_leave(w->render);
        return result;
    }
    add_indent(w, depth);
    buf_printf(w->out, "<%.*s", STR_ARG(tag));
    if (v->kind == VALUE_MAP) {
        result = add_xml_map(w, tag, container_map(w->render, v), depth);
    } else {
        buf_add_char(w->out, '>');
        result = add_xml_value(w, v, false);
        buf_printf(w->out, "</%.*s>\n", STR_ARG(tag));
    }
    render_leave(w->render);
    return result;
}

static int filter_xml(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct writing w = { render, &out };
    const struct value_map *map =
        bound->args[0].kind == VALUE_MAP ? container_map(render, &bound->args[0]) : NULL;

    if (!map || map->count != 1 || map->pairs[0].key.kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE, "xml expects a map with one key, the root");
    buf_add_text(&out, "<?xml version=\"1.0\" ?>\n");
    if (add_element(&w, map->pairs[0].key.s, &map->pairs[0].value, 0) < 0)
        return -1;
    return text_finish(render, &out, 0, ret);
}

const struct function filter_xml_functions[] = {
    { "xml", "value", filter_xml, "a map of one root as XML; scalars are attributes" },
    { 0 },
};

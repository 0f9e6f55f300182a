/*
 * str.format():
 *
 *     text {name.attribute[item]!conversion:spec} text
 *
 * A spec may contain fields, one level deep. Fields without a name take
 * one value after the other.
 */
#include "language/jinja/format.h"

#include "core/base/buf.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* A text, the spec of its field, and the spec of the field in that, which must be empty. */
#define SPEC_DEPTH_MAX 3
/* Larger numbers are not argument indexes. */
#define INDEX_DIGITS_MAX 9

enum numbering { NUMBERING_OPEN, NUMBERING_AUTOMATIC, NUMBERING_MANUAL };

struct braces {
    struct render *render;
    const struct value_list *args;
    const struct value_map *named; /* or NULL */
    enum numbering numbering;
    size_t next;
    bool markup;
};

struct field {
    struct str name, spec;
    char conversion; /* 0: none */
};

static int add_braces_text(struct braces *braces, struct str text, unsigned depth, struct buf *out);

static int fail_braces_format(const struct braces *braces, const char *text)
{
    return render_fail(braces->render, RENDER_TYPE, "%s", text);
}

static bool is_digits(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return text.n > 0;
}

static size_t read_index(struct str digits)
{
    size_t n = 0;

    if (digits.n > INDEX_DIGITS_MAX)
        return STR_NONE;
    for (size_t i = 0; i < digits.n; i++)
        n = n * 10 + (size_t)(digits.p[i] - '0');
    return n;
}

/* --- reading a field ------------------------------------------------------------------ */

/* The name ends at ':' or '!' or the end; inside brackets both are part of it. */
static int read_braces_name(const struct braces *braces, struct str text, size_t *ret_end)
{
    bool bracket = false;
    size_t i;

    for (i = 0; i < text.n; i++) {
        if (text.p[i] == '{')
            return fail_braces_format(braces, "unexpected '{' in field name");
        if (text.p[i] == '[')
            bracket = true;
        else if (text.p[i] == ']')
            bracket = false;
        else if (!bracket && (text.p[i] == '}' || text.p[i] == ':' || text.p[i] == '!'))
            break;
    }
    if (i == text.n)
        return fail_braces_format(braces, "expected '}' before end of string");
    *ret_end = i;
    return 0;
}

static int read_conversion(const struct braces *braces, struct str text, size_t *at,
                           struct field *field)
{
    if (text.p[*at] != '!')
        return 0;
    if (*at + 2 >= text.n)
        return fail_braces_format(braces, "unmatched '{' in format spec");
    field->conversion = text.p[*at + 1];
    *at += 2;
    if (text.p[*at] != ':' && text.p[*at] != '}')
        return fail_braces_format(braces, "expected ':' after conversion specifier");
    return 0;
}

/* The spec ends at the brace that closes the field. */
static int read_spec(const struct braces *braces, struct str text, size_t *at, struct field *field)
{
    unsigned depth = 1;
    size_t begin;

    if (text.p[*at] == '}') {
        (*at)++;
        return 0;
    }
    begin = ++*at;
    for (; *at < text.n; (*at)++) {
        depth += text.p[*at] == '{' ? 1U : text.p[*at] == '}' ? -1U : 0U;
        if (depth == 0) {
            field->spec = str_slice(text, begin, *at - begin);
            (*at)++;
            return 0;
        }
    }
    return fail_braces_format(braces, "unmatched '{' in format spec");
}

/* `text` begins after the '{'; sets the size of the field. */
static int read_braces_field(const struct braces *braces, struct str text, struct field *ret,
                             size_t *ret_size)
{
    size_t at = 0;

    *ret = (struct field){ .spec = STR("") };
    if (read_braces_name(braces, text, &at) < 0)
        return -1;
    ret->name = str_slice(text, 0, at);
    if (read_conversion(braces, text, &at, ret) < 0 || read_spec(braces, text, &at, ret) < 0)
        return -1;
    *ret_size = at;
    return 0;
}

/* --- finding its value ------------------------------------------------------------------ */

static int get_numbered(struct braces *braces, struct str digits, struct value *ret)
{
    bool automatic = digits.n == 0;
    enum numbering wanted = automatic ? NUMBERING_AUTOMATIC : NUMBERING_MANUAL;
    size_t i = automatic ? braces->next : read_index(digits);

    if (braces->numbering != NUMBERING_OPEN && braces->numbering != wanted)
        return fail_braces_format(braces, automatic
                                              ? "cannot switch from manual field specification to "
                                                "automatic field numbering"
                                              : "cannot switch from automatic field numbering to "
                                                "manual field specification");
    braces->numbering = wanted;
    if (i >= braces->args->count)
        return render_fail(
            braces->render, RENDER_TYPE,
            "Replacement index %.*s out of range for positional args tuple",
            STR_ARG(automatic ? str_from(arena_printf(braces->render->arena, "%zu", i)) : digits));
    if (automatic)
        braces->next++;
    *ret = braces->args->items[i];
    return 0;
}

static int get_first(struct braces *braces, struct str name, struct value *ret)
{
    const struct value key = value_str(name);
    const struct value *found;

    if (name.n == 0 || is_digits(name))
        return get_numbered(braces, name, ret);
    found = braces->named ? value_map_find(braces->named, &key) : NULL;
    if (!found)
        return render_fail(braces->render, RENDER_TYPE, "format: no argument '%.*s'",
                           STR_ARG(name));
    *ret = *found;
    return 0;
}

/* Follow the ".name" in front of `path`, which moves past it. */
static int follow_attribute(struct braces *braces, struct str *path, struct value *v)
{
    struct value owner = *v;
    size_t end = 1;
    struct str name;

    while (end < path->n && path->p[end] != '.' && path->p[end] != '[')
        end++;
    name = arena_str(braces->render->arena, str_slice(*path, 1, end - 1));
    *path = str_from_offset(*path, end);
    if (name.n == 0)
        return fail_braces_format(braces, "Empty attribute in format string");
    return op_attribute(braces->render, &owner, name, v);
}

/* "[key]"; digits are a number. */
static int follow_braces_item(struct braces *braces, struct str *path, struct value *v)
{
    struct value owner = *v;
    size_t end = str_find_char(*path, ']', 1);
    struct value key;
    struct str name;

    if (end == STR_NONE)
        return fail_braces_format(braces, "Missing ']' in format string");
    name = arena_str(braces->render->arena, str_slice(*path, 1, end - 1));
    *path = str_from_offset(*path, end + 1);
    if (name.n == 0)
        return fail_braces_format(braces, "Empty attribute in format string");
    if (path->n > 0 && path->p[0] != '.' && path->p[0] != '[')
        return fail_braces_format(braces,
                                  "Only '.' or '[' may follow ']' in format field specifier");
    key = is_digits(name) && name.n <= INDEX_DIGITS_MAX ? value_int((int64_t)read_index(name))
                                                        : value_str(name);
    return op_item(braces->render, &owner, &key, v);
}

static int get_value(struct braces *braces, struct str name, struct value *ret)
{
    size_t end = 0;
    struct str path;

    while (end < name.n && name.p[end] != '.' && name.p[end] != '[')
        end++;
    path = str_from_offset(name, end);
    if (get_first(braces, str_slice(name, 0, end), ret) < 0)
        return -1;
    while (path.n > 0)
        if ((path.p[0] == '.' ? follow_attribute : follow_braces_item)(braces, &path, ret) < 0)
            return -1;
    return 0;
}

/* --- writing ------------------------------------------------------------------------------ */

static int convert_braces_value(struct braces *braces, char conversion, struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    const struct value from = *v;
    int result = 0;

    switch (conversion) {
    case 0: return 0;
    case 's': result = op_print(braces->render, &from, &text); break;
    case 'r': result = op_repr(braces->render, &from, &text); break;
    case 'a': result = format_ascii(braces->render, &from, &text); break;
    default:
        return render_fail(braces->render, RENDER_TYPE, "Unknown conversion specifier %c",
                           conversion);
    }
    return result < 0 ? -1 : text_finish(braces->render, &text, 0, v);
}

static int add_braces_value(struct braces *braces, const struct value *v, struct str spec,
                            struct buf *out)
{
    AUTO_BUF struct buf plain = BUF_INIT(TEXT_MAX);

    if (!braces->markup)
        return format_value(braces->render, v, spec, out);
    if (value_is_markup(v)) {
        if (spec.n > 0)
            return fail_braces_format(braces, "Unsupported format specification for Markup.");
        buf_add_str(out, v->s);
        return 0;
    }
    if (format_value(braces->render, v, spec, &plain) < 0)
        return -1;
    op_escape(buf_view(&plain), out);
    return 0;
}

static int add_braces_field(struct braces *braces, const struct field *field, unsigned depth,
                            struct buf *out)
{
    AUTO_BUF struct buf spec = BUF_INIT(TEXT_MAX);
    struct value v;

    if (get_value(braces, field->name, &v) < 0 ||
        convert_braces_value(braces, field->conversion, &v) < 0 ||
        add_braces_text(braces, field->spec, depth + 1, &spec) < 0)
        return -1;
    return add_braces_value(braces, &v, buf_view(&spec), out);
}

/* Copy text up to the next field; doubled braces become one. Sets the start of the field, after its
 * brace, or the end. */
static int add_braces_literal(const struct braces *braces, struct str text, size_t *at,
                              bool *ret_field, struct buf *out)
{
    *ret_field = false;
    for (; *at < text.n; (*at)++) {
        char c = text.p[*at];

        if (c != '{' && c != '}') {
            buf_add_char(out, c);
            continue;
        }
        (*at)++;
        if (*at < text.n && text.p[*at] == c) {
            buf_add_char(out, c);
            continue;
        }
        if (c == '}')
            return fail_braces_format(braces, "Single '}' encountered in format string");
        if (*at == text.n)
            return fail_braces_format(braces, "Single '{' encountered in format string");
        *ret_field = true;
        return 0;
    }
    return 0;
}

static int add_braces_text(struct braces *braces, struct str text, unsigned depth, struct buf *out)
{
    size_t at = 0;

    if (depth > SPEC_DEPTH_MAX)
        return fail_braces_format(braces, "Max string recursion exceeded");
    while (at < text.n && !out->full) {
        struct field field;
        bool is_field;
        size_t size;

        if (add_braces_literal(braces, text, &at, &is_field, out) < 0)
            return -1;
        if (!is_field)
            break;
        if (read_braces_field(braces, str_from_offset(text, at), &field, &size) < 0 ||
            add_braces_field(braces, &field, depth, out) < 0)
            return -1;
        at += size;
    }
    return 0;
}

int format_braces(struct render *render, const struct value *format, const struct value_list *args,
                  const struct value_map *named, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct braces braces = {
        .render = render, .args = args, .named = named, .markup = value_is_markup(format)
    };

    if (add_braces_text(&braces, format->s, 1, &out) < 0)
        return -1;
    return text_finish(render, &out, braces.markup ? VALUE_SAFE : 0, ret);
}

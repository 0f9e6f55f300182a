/* Filters between data and text: JSON, YAML, encodings, hashes, shell words. */
#include "language/jinja/filters/filter.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "core/data/yaml_dump.h"
#include "core/data/yaml_print.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/plain.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

#define INDENT_MAX 32

static int fail_dump(struct render *render, const struct err *err)
{
    return render_fail(render, RENDER_TYPE, "%s", err->text);
}

/* --- JSON and YAML ---------------------------------------------------------------------- */

static int print_filtered_json(struct render *render, const struct value *v,
                               const struct value *indent, unsigned style, uint8_t flags,
                               struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value plain;
    struct err err;
    int64_t n;

    if (plain_value(render, v, &plain) < 0)
        return -1;
    style |= JSON_STYLE_SPACED | JSON_STYLE_NAN;
    if (!argument_is_none(indent)) {
        if (argument_int(render, indent, &n) < 0)
            return -1;
        if (n < 0 || n > INDENT_MAX)
            return render_fail(render, RENDER_LIMIT, "an indent is 0 to %d", INDENT_MAX);
        style |= JSON_STYLE_INDENT(n);
    }
    if (json_print(&out, &plain, style, &err) < 0)
        return fail_dump(render, &err);
    return text_finish(render, &out, flags, ret);
}

static bool is_salt_dialect(const struct render *render)
{
    return render->yaml == YAML_DIALECT_SALT;
}

/* Keys are sorted as in Jinja2; in Salt files they stay as they are. */
static int filter_tojson(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const unsigned style = JSON_STYLE_HTML | JSON_STYLE_ASCII;

    return print_filtered_json(render, &bound->args[0], &bound->args[1],
                               is_salt_dialect(render) ? style : style | JSON_STYLE_SORTED,
                               VALUE_SAFE, ret);
}

/* Salt files keep what is not ASCII. */
static int filter_json(struct render *render, const struct bound_args *bound, struct value *ret)
{
    unsigned style = is_salt_dialect(render) ? 0 : JSON_STYLE_ASCII;
    bool sorted;

    if (op_truth(render, &bound->args[1], &sorted) < 0)
        return -1;
    if (sorted)
        style |= JSON_STYLE_SORTED;
    return print_filtered_json(render, &bound->args[0], &bound->args[2], style, VALUE_SAFE, ret);
}

/* In Salt files as PyYAML prints it; a scalar stays on one line. */
static int print_filtered_yaml(struct render *render, struct buf *out, const struct value *v,
                               bool flow, struct err *err)
{
    if (is_salt_dialect(render) && (v->kind == VALUE_MAP || v->kind == VALUE_LIST))
        return yaml_dump_ordered(render->arena, out, v, flow, err);
    return flow ? yaml_print_flow(out, v, err) : yaml_print(out, v, err);
}

static int filter_yaml(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value plain;
    struct err err;
    bool flow;

    if (op_truth(render, &bound->args[1], &flow) < 0 ||
        plain_value(render, &bound->args[0], &plain) < 0)
        return -1;
    if (print_filtered_yaml(render, &out, &plain, flow, &err) < 0)
        return fail_dump(render, &err);
    while (out.n > 0 && out.p[out.n - 1] == '\n')
        buf_cut(&out, out.n - 1);
    return text_finish(render, &out, VALUE_SAFE, ret);
}

/* The arguments of a state: a list of maps with one key each. */
static int filter_params(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value args[] = { value_null(), bound->args[1] };
    const struct value_map *map;
    struct value_list *list;

    if (bound->args[0].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "%s expects a map, got '%s'", bound->name,
                           op_type_name(&bound->args[0]));
    map = container_map(render, &bound->args[0]);
    list = container_new_list(render, map->count);
    for (size_t i = 0; i < map->count; i++) {
        struct value_map *one = container_new_map(render, 1);

        value_map_set(render->arena, one, map->pairs[i].key, map->pairs[i].value);
        value_list_push(render->arena, list, value_map(one));
    }
    args[0] = value_list(list);
    return filter_yaml(render,
                       &(struct bound_args){ .args = args, .count = 2, .name = bound->name }, ret);
}

static int filter_yaml_dquote(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    json_print_text(&out, text, JSON_STYLE_COMPACT); /* JSON text is YAML text */
    return text_finish(render, &out, 0, ret);
}

/* One scalar that YAML reads back as it is. */
static int filter_yaml_encode(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    const struct value flow[] = { bound->args[0], value_bool(true) };

    if (bound->args[0].kind >= VALUE_LIST)
        return render_fail(render, RENDER_TYPE, "yaml_encode expects a scalar, got '%s'",
                           op_type_name(&bound->args[0]));
    if (is_salt_dialect(render) && bound->args[0].kind == VALUE_STR)
        return filter_yaml_dquote(render, bound, ret);
    return filter_yaml(render,
                       &(struct bound_args){ .args = flow, .count = 2, .name = bound->name }, ret);
}

static int filter_yaml_squote(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    buf_add_char(&out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_add_char(&out, '\'');
        buf_add_char(&out, text.p[i]);
    }
    buf_add_char(&out, '\'');
    return text_finish(render, &out, 0, ret);
}

/* Turn mistakes in a text that a template loads into a render error. */
static int fail_load(struct render *render, const struct diags *diags)
{
    struct err err;

    (void)diags_to_err(diags, &err);
    return fail_dump(render, &err);
}

static int filter_load_yaml(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct diags diags = DIAGS_INIT(render->arena);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    if (yaml_parse(render->arena, NULL, text,
                   &(struct yaml_options){ .dialect = render->yaml, .unordered = true }, ret,
                   &diags) < 0)
        return fail_load(render, &diags);
    return 0;
}

static int filter_load_json(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct diags diags = DIAGS_INIT(render->arena);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    if (json_parse(render->arena, NULL, text, ret, &diags) < 0)
        return fail_load(render, &diags);
    return 0;
}

/* --- encodings and hashes ----------------------------------------------------------------- */

/* The bytes of a text or bytes value. */
static int get_input_bytes(struct render *render, const struct value *v, struct str *ret)
{
    if (v->kind != VALUE_BYTES)
        return argument_text(render, v, ret);
    *ret = v->s;
    return 0;
}

static int filter_b64encode(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str bytes;

    if (get_input_bytes(render, &bound->args[0], &bytes) < 0)
        return -1;
    base64_encode(bytes, BASE64_STANDARD, &out);
    return text_finish(render, &out, 0, ret);
}

static int filter_b64decode(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;
    struct err err;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    if (base64_decode(str_trim(text), BASE64_STANDARD, &out, &err) < 0)
        return fail_dump(render, &err);
    return text_finish(render, &out, 0, ret);
}

/* --- words -------------------------------------------------------------------------------- */

/* One shell word, whatever it contains. */
static int filter_quote(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;
    bool plain;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    plain = text.n > 0;
    for (size_t i = 0; i < text.n && plain; i++) {
        unsigned char c = (unsigned char)text.p[i];

        plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                (c && strchr("@%+=:,./-_", c));
    }
    if (plain) {
        buf_add_str(&out, text);
        return text_finish(render, &out, 0, ret);
    }
    buf_add_char(&out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_add_text(&out, "'\"'\"'");
        else
            buf_add_char(&out, text.p[i]);
    }
    buf_add_char(&out, '\'');
    return text_finish(render, &out, 0, ret);
}

/* Salt's true values: the words yes, true and 1, and numbers above zero. */
static int filter_to_bool(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    bool yes = false;

    if (v->kind == VALUE_STR)
        yes = (v->s.n == 3 && strncasecmp(v->s.p, "yes", 3) == 0) ||
              (v->s.n == 4 && strncasecmp(v->s.p, "true", 4) == 0) || str_is(v->s, "1");
    else if (v->kind == VALUE_INT)
        yes = v->i > 0;
    else if (v->kind == VALUE_DOUBLE)
        yes = v->d > 0;
    else if (op_truth(render, v, &yes) < 0)
        return -1;
    *ret = value_bool(yes);
    return 0;
}

static int filter_path_join(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct value_list *more = bound->args[1].list;

    for (size_t i = 0; i <= more->count; i++) {
        struct str part;

        if (argument_text(render, i == 0 ? &bound->args[0] : &more->items[i - 1], &part) < 0)
            return -1;
        while (i > 0 && part.n > 0 && part.p[0] == '/')
            part = str_from_offset(part, 1);
        if (i > 0 && (out.n == 0 || out.p[out.n - 1] != '/'))
            buf_add_char(&out, '/');
        buf_add_str(&out, part);
    }
    return text_finish(render, &out, 0, ret);
}

static int filter_to_bytes(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str encoding;

    if (argument_text(render, &bound->args[1], &encoding) < 0)
        return -1;
    if (!argument_is_none(&bound->args[1]) && !str_is(encoding, "utf-8") &&
        !str_is(encoding, "UTF-8") && !str_is(encoding, "utf8"))
        return render_fail(render, RENDER_TYPE, "to_bytes: the encoding must be utf-8");
    *ret = bound->args[0];
    if (ret->kind == VALUE_STR)
        *ret = value_bytes(ret->s);
    else if (ret->kind != VALUE_BYTES)
        return render_fail(render, RENDER_TYPE, "to_bytes expects text, got '%s'",
                           op_type_name(ret));
    return 0;
}

/* Texts are Unicode anyway. */
static int filter_as_it_is(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    *ret = bound->args[0];
    return 0;
}

/* Convert every text in it to bytes. */
static int encode_texts(struct render *render, const struct value *v, struct value *ret)
{
    *ret = *v;
    if (v->kind == VALUE_STR)
        *ret = value_bytes(v->s);
    if (v->kind != VALUE_LIST && v->kind != VALUE_MAP)
        return 0;
    if (render_enter(render) < 0)
        return -1;
    if (v->kind == VALUE_LIST) {
        const struct value_list *list = container_list(render, v);
        struct value_list *made = container_new_list(render, list->count);

        for (size_t i = 0; i < list->count; i++) {
            struct value item;

            if (encode_texts(render, &list->items[i], &item) < 0)
                return -1;
            value_list_push(render->arena, made, item);
        }
        *ret = value_list(made);
    } else {
        const struct value_map *map = container_map(render, v);
        struct value_map *made = container_new_map(render, map->count);

        for (size_t i = 0; i < map->count; i++) {
            struct value key, item;

            if (encode_texts(render, &map->pairs[i].key, &key) < 0 ||
                encode_texts(render, &map->pairs[i].value, &item) < 0)
                return -1;
            value_map_set(render->arena, made, key, item);
        }
        *ret = value_map(made);
    }
    render_leave(render);
    return 0;
}

static int filter_encode_texts(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    return encode_texts(render, &bound->args[0], ret);
}

static int filter_skip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    (void)bound;
    *ret = value_text("");
    return 0;
}

/* clang-format off */
const struct function filter_data_functions[] = {
    { "b64decode",     "value", filter_b64decode, "the text of base64" },
    { "b64encode",     "value", filter_b64encode, "as base64" },
    { "base64_decode", "value", filter_b64decode, "the text of base64" },
    { "base64_encode", "value", filter_b64encode, "as base64" },
    { "dict_to_sls_yaml_params", "value, flow_style=false", filter_params, "a map as the arguments of a state" },
    { "json",          "value, sort_keys=true, indent=none", filter_json, "as JSON, keys sorted" },
    { "json_decode_dict", "value", filter_as_it_is, "the map as it is: texts are Unicode" },
    { "json_decode_list", "value", filter_as_it_is, "the list as it is: texts are Unicode" },
    { "json_encode_dict", "value", filter_encode_texts, "the map with its texts as bytes" },
    { "json_encode_list", "value", filter_encode_texts, "the list with its texts as bytes" },
    { "load_json",     "value", filter_load_json, "the data of a JSON text" },
    { "load_text",     "value", filter_as_it_is, "the text as it is" },
    { "load_yaml",     "value", filter_load_yaml, "the data of a YAML text" },
    { "path_join",     "value, *parts", filter_path_join, "parts of a path joined by slashes" },
    { "quote",         "value", filter_quote, "one word for a shell" },
    { "skip",          "value", filter_skip, "nothing: the value is evaluated and not shown" },
    { "to_bool",       "value", filter_to_bool, "true for yes, true, 1 and numbers above zero" },
    { "to_bytes",      "value, encoding='utf-8'", filter_to_bytes, "the bytes of a text" },
    { "to_json",       "value, sort_keys=true, indent=none", filter_json, "as JSON, keys sorted" },
    { "tojson",        "value, indent=none", filter_tojson, "as JSON that is safe inside HTML" },
    { "yaml",          "value, flow_style=true", filter_yaml, "as YAML on one line; as lines with yaml(false)" },
    { "yaml_dquote",   "value", filter_yaml_dquote, "text in double quotes for YAML" },
    { "yaml_encode",   "value", filter_yaml_encode, "a scalar that YAML reads back as it is" },
    { "yaml_squote",   "value", filter_yaml_squote, "text in single quotes for YAML" },
    { 0 },
};
/* clang-format on */

/* Filters on text. */
#include "language/jinja/filters/filter.h"

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/regex.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "core/base/unicode.h"

/* The excess length that `truncate` tolerates. */
#define TRUNCATE_LEEWAY 5

/* The text of a value, safe if the value is: the first step of every filter here. */
static int soft_text(struct render *render, const struct value *v, struct value *ret)
{
    struct str text;

    if (v->kind == VALUE_STR) {
        *ret = *v;
        return 0;
    }
    if (argument_text(render, v, &text) < 0)
        return -1;
    *ret = value_str(text);
    return 0;
}

static int text_method(struct render *render, const struct bound_args *bound, const char *method,
                       size_t arguments, struct value *ret)
{
    struct value text;

    if (soft_text(render, &bound->args[0], &text) < 0)
        return -1;
    return argument_method(render, &text, method, bound->args + 1, arguments, ret);
}

static int filter_upper(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return text_method(render, bound, "upper", 0, ret);
}

static int filter_lower(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];

    if (v->kind == VALUE_STR && text_lower(render, v, ret))
        return 0;
    return text_method(render, bound, "lower", 0, ret);
}

static int filter_capitalize(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    return text_method(render, bound, "capitalize", 0, ret);
}

static int filter_center(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return text_method(render, bound, "center", 1, ret);
}

static int filter_trim(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return text_method(render, bound, "strip", 1, ret);
}

static int filter_string(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return soft_text(render, &bound->args[0], ret);
}

/* A character after which a word begins. */
static bool is_word_edge(uint32_t c)
{
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || unicode_is(c, UNICODE_SPACE);
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_large(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_text_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A title of ASCII, in place. */
static void title_ascii(char *text, size_t n)
{
    bool begins = true;

    for (size_t i = 0; i < n; i++) {
        const char c = text[i];

        if (begins ? is_small(c) : is_large(c))
            text[i] = (char)(c ^ 0x20);
        begins =
            !is_small(c) && !is_large(c) && !is_text_digit(c) && is_word_edge((unsigned char)c);
    }
}

/* A letter after a blank, a dash or an opening bracket becomes upper case, the others lower case.
 */
static int filter_title(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value text;
    struct str rest;
    char *copy;

    if (soft_text(render, &bound->args[0], &text) < 0)
        return -1;
    if (utf8_is_ascii(text.s)) {
        copy = arena_strndup(render->arena, text.s.p, text.s.n);
        title_ascii(copy, text.s.n);
        *ret = value_str((struct str){ copy, text.s.n });
        return text_expect(render, text.s.n);
    }
    /* a letter in upper case, then all up to the next edge in lower case */
    for (rest = text.s; rest.n > 0;) {
        struct str begin = rest, word;

        uint32_t c = utf8_next(&rest);
        unicode_upper(str_slice(begin, 0, begin.n - rest.n), &out);
        for (word = rest; rest.n > 0 && !is_word_edge(c);)
            c = utf8_next(&rest);
        unicode_lower(str_slice(word, 0, word.n - rest.n), &out);
    }
    return text_finish(render, &out, 0, ret);
}

static int filter_format(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value text, values = bound->args[1];

    if (bound->args[1].list->count > 0 && bound->args[2].map->count > 0)
        return render_fail(render, RENDER_TYPE,
                           "can't handle positional and keyword arguments at the same time");
    if (bound->args[2].map->count > 0)
        values = bound->args[2];
    else
        values.flags |= VALUE_TUPLE;
    if (soft_text(render, &bound->args[0], &text) < 0)
        return -1;
    return op_binary(render, OP_MOD, &text, &values, ret);
}

/* Safe text meets unsafe text only with autoescape on, and then the unsafe is escaped. */
static int filter_text_replace(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    struct value text, args[3] = { bound->args[1], bound->args[2], bound->args[3] };

    if (soft_text(render, &bound->args[0], &text) < 0 ||
        soft_text(render, &bound->args[1], &args[0]) < 0 ||
        soft_text(render, &bound->args[2], &args[1]) < 0)
        return -1;
    if (argument_is_none(&args[2]))
        args[2] = value_int(-1);
    if (!render->autoescape) {
        text.flags &= (uint8_t)~VALUE_SAFE;
        args[0].flags &= (uint8_t)~VALUE_SAFE;
        args[1].flags &= (uint8_t)~VALUE_SAFE;
    } else if (!(text.flags & VALUE_SAFE) && ((args[0].flags | args[1].flags) & VALUE_SAFE)) {
        AUTO_BUF struct buf escaped = BUF_INIT(TEXT_MAX);

        op_escape(text.s, &escaped);
        if (text_finish(render, &escaped, VALUE_SAFE, &text) < 0)
            return -1;
    }
    return argument_method(render, &text, "replace", args, 3, ret);
}

/* The width of `indent` is a number of blanks, or the text itself. */
static int indent_text(struct render *render, const struct value *width, struct buf *out)
{
    int64_t n;

    if (width->kind == VALUE_STR) {
        buf_add_str(out, width->s);
        return 0;
    }
    if (argument_int(render, width, &n) < 0 || (n > 0 && text_expect(render, (size_t)n) < 0))
        return -1;
    if (n > 0)
        buf_fill(out, ' ', (size_t)n);
    return 0;
}

static int filter_indent(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX), indent = BUF_INIT(TEXT_MAX);
    const struct value_list *lines;
    struct value text, split, newline = value_text("\n");
    bool first, blank;

    text = bound->args[0];
    if (value_is_undefined(&text))
        return undefined_fail(render, &text);
    if (text.kind != VALUE_STR) /* the one filter here that Jinja2 does not convert with soft_str */
        return render_fail(render, RENDER_TYPE, "indent expects text, got '%s'",
                           op_type_name(&text));
    if (indent_text(render, &bound->args[1], &indent) < 0 ||
        op_truth(render, &bound->args[2], &first) < 0 ||
        op_truth(render, &bound->args[3], &blank) < 0)
        return -1;
    newline.flags = text.flags & VALUE_SAFE;
    if (op_concat(render, (struct value[]){ text, newline }, 2, &split) < 0 ||
        argument_method(render, &split, "splitlines", NULL, 0, &split) < 0 ||
        op_list(render, &split, &lines) < 0)
        return -1;
    for (size_t i = 0; i < lines->count; i++) {
        struct str line = lines->items[i].s;

        if (i > 0)
            buf_add_char(&out, '\n');
        if (i == 0 ? first : blank || line.n > 0)
            buf_add_str(&out, buf_view(&indent));
        buf_add_str(&out, line);
    }
    return text_finish(render, &out, text.flags & VALUE_SAFE, ret);
}

static int filter_truncate(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    int64_t length, leeway = TRUNCATE_LEEWAY;
    size_t size, end_length, keep;
    struct value text, end;
    bool killwords;
    struct str cut;

    text = bound->args[0];
    if (argument_int(render, &bound->args[1], &length) < 0 ||
        op_truth(render, &bound->args[2], &killwords) < 0 ||
        soft_text(render, &bound->args[3], &end) < 0 || op_length(render, &text, &size) < 0)
        return -1;
    if (!argument_is_none(&bound->args[4]) && argument_int(render, &bound->args[4], &leeway) < 0)
        return -1;
    end_length = utf8_count(end.s);
    if (length < (int64_t)end_length)
        return render_fail(render, RENDER_TYPE, "expected length >= %zu, got %lld", end_length,
                           (long long)length);
    if (leeway < 0)
        return render_fail(render, RENDER_TYPE, "expected leeway >= 0, got %lld",
                           (long long)leeway);
    *ret = text;
    if (size <= (uint64_t)length + (uint64_t)leeway)
        return 0;
    if (text.kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE, "truncate cannot cut a '%s'", op_type_name(&text));
    keep = utf8_offset(text.s, (size_t)length - end_length);
    cut = str_slice(text.s, 0, keep);
    for (size_t i = cut.n; !killwords && i-- > 0;)
        if (cut.p[i] == ' ') {
            cut.n = i;
            break;
        }
    buf_add_str(&out, cut);
    buf_add_str(&out, end.s);
    return text_finish(render, &out, text.flags & VALUE_SAFE, ret);
}

static int filter_wordcount(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct matcher *word;
    struct matcher_match match;
    struct value text;
    int64_t count = 0;
    size_t at = 0;
    bool found;

    if (soft_text(render, &bound->args[0], &text) < 0 ||
        regex_new(render, STR("\\w+"), 0, &word) < 0)
        return -1;
    for (;; count++) {
        if (regex_find(render, word, text.s, at, &match, &found) < 0)
            return -1;
        if (!found)
            break;
        at = match.groups[0].end;
    }
    *ret = value_int(count);
    return 0;
}

/* An upper-case letter begins a word after a lower-case one, and before one. */
static int filter_snake(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        const bool begins = i > 0 && is_large(text.p[i]) && text.p[i - 1] != '_' &&
                            (is_small(text.p[i - 1]) || is_text_digit(text.p[i - 1]) ||
                             (i + 1 < text.n && is_small(text.p[i + 1])));

        if (begins)
            buf_add_char(&out, '_');
        buf_add_char(&out, is_large(text.p[i]) ? (char)(text.p[i] | 0x20) : text.p[i]);
    }
    return text_finish(render, &out, 0, ret);
}

static int filter_camel(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;
    bool large;

    if (argument_text(render, &bound->args[0], &text) < 0 ||
        op_truth(render, &bound->args[1], &large) < 0)
        return -1;
    for (bool first = true; text.p; first = false) {
        struct value word = op_new_str(render, str_cut(&text, '_'));

        if ((!first || large) &&
            filter_capitalize(render, &(struct bound_args){ .args = &word, .count = 1 }, &word) < 0)
            return -1;
        buf_add_str(&out, word.s);
    }
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_text_functions[] = {
    { "capitalize", "s", filter_capitalize, "the first letter in upper case, the others in lower case" },
    { "center",     "value, width=80", filter_center, "with blanks on both sides" },
    { "format",     "value, *args, **kwargs", filter_format, "printf-style: '%s'|format(x)" },
    { "indent",     "s, width=4, first=false, blank=false", filter_indent, "lines indented" },
    { "lower",      "s", filter_lower, "in lower case" },
    { "replace",    "s, old, new, count=none", filter_text_replace, "one text in place of another" },
    { "string",     "s", filter_string, "as text" },
    { "title",      "s", filter_title, "Words Begin With A Capital Letter" },
    { "to_camelcase", "s, uppercamel=false", filter_camel, "like_this as likeThis" },
    { "to_snake_case", "s", filter_snake, "likeThis as like_this" },
    { "trim",       "value, chars=none", filter_trim, "without blanks, or other characters, at both ends" },
    { "truncate",   "s, length=255, killwords=false, end='...', leeway=none", filter_truncate, "cut to a length" },
    { "upper",      "s", filter_upper, "in upper case" },
    { "wordcount",  "s", filter_wordcount, "the number of words" },
    { 0 },
};
/* clang-format on */

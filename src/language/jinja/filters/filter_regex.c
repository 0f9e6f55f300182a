/* Filters with regular expressions. */
#include "language/jinja/filters/filter.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/regex.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

static int compile_filter_regex(struct render *render, const struct value *pattern,
                                const struct value *ignorecase, const struct value *multiline,
                                unsigned flags, const struct matcher **ret)
{
    bool ignore, multi;
    struct str text;

    if (argument_text(render, pattern, &text) < 0 || op_truth(render, ignorecase, &ignore) < 0 ||
        op_truth(render, multiline, &multi) < 0)
        return -1;
    flags |= (ignore ? MATCHER_IGNORE_CASE : 0u) | (multi ? MATCHER_MULTILINE : 0u);
    return regex_new(render, text, flags, ret);
}

/* The groups of the match as a tuple, or none. */
static int find_regex_groups(struct render *render, const struct bound_args *bound, unsigned flags,
                             struct value *ret)
{
    const struct matcher *regex;
    struct matcher_match match;
    struct value_list *made;
    struct str text;
    bool found;

    if (argument_text(render, &bound->args[0], &text) < 0 ||
        compile_filter_regex(render, &bound->args[1], &bound->args[2], &bound->args[3], flags,
                             &regex) < 0 ||
        regex_find(render, regex, text, 0, &match, &found) < 0)
        return -1;
    *ret = value_null();
    if (!found)
        return 0;
    made = container_new_list(render, match.count);
    for (size_t i = 1; i < match.count; i++) {
        struct str group = matcher_text(&match, text, i);

        value_list_push(render->arena, made, group.p ? op_new_str(render, group) : value_null());
    }
    *ret = value_list(made);
    ret->flags = VALUE_TUPLE;
    return 0;
}

static int filter_match(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_regex_groups(render, bound, MATCHER_ANCHORED, ret);
}

static int filter_search(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_regex_groups(render, bound, 0, ret);
}

/* `\1`, `\g<1>`, `\n`, `\\`: a replacement as in re.sub. Returns the bytes read. */
static size_t add_regex_escape(struct str rest, struct str text, const struct matcher_match *match,
                               struct buf *out)
{
    static const char letters[] = "nrtabfv", meanings[] = "\n\r\t\a\b\f\v";
    const char *hit = rest.n > 1 && rest.p[1] ? strchr(letters, rest.p[1]) : NULL;
    size_t n = 2, group = 0;

    if (rest.n < 2) {
        buf_add_char(out, '\\');
        return 1;
    }
    if (hit) {
        buf_add_char(out, meanings[hit - letters]);
        return 2;
    }
    if (rest.p[1] >= '0' && rest.p[1] <= '9') {
        group = (size_t)(rest.p[1] - '0');
        if (rest.n > 2 && rest.p[2] >= '0' && rest.p[2] <= '9') {
            group = group * 10 + (size_t)(rest.p[2] - '0');
            n = 3;
        }
        buf_add_str(out, matcher_text(match, text, group));
        return n;
    }
    if (rest.p[1] == 'g' && rest.n > 3 && rest.p[2] == '<') {
        for (n = 3;
             n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9' && group < MATCHER_GROUPS_MAX; n++)
            group = group * 10 + (size_t)(rest.p[n] - '0');
        if (n < rest.n && rest.p[n] == '>' && n > 3) {
            buf_add_str(out, matcher_text(match, text, group));
            return n + 1;
        }
        n = 2;
    }
    if (rest.p[1] != '\\')
        buf_add_char(out, '\\');
    buf_add_char(out, rest.p[1]);
    return n;
}

static void add_regex_replacement(struct str with, struct str text,
                                  const struct matcher_match *match, struct buf *out)
{
    for (size_t i = 0; i < with.n;) {
        if (with.p[i] == '\\')
            i += add_regex_escape(str_from_offset(with, i), text, match, out);
        else
            buf_add_char(out, with.p[i++]);
    }
}

static int filter_regex_replace(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct matcher *regex;
    struct matcher_match match;
    struct str text, with;
    size_t at = 0, copied = 0;
    bool found = true;

    if (argument_text(render, &bound->args[0], &text) < 0 ||
        argument_text(render, &bound->args[2], &with) < 0 ||
        compile_filter_regex(render, &bound->args[1], &bound->args[3], &bound->args[4], 0, &regex) <
            0)
        return -1;
    while (at <= text.n) {
        if (regex_find(render, regex, text, at, &match, &found) < 0)
            return -1;
        if (!found)
            break;
        buf_add_str(&out, str_slice(text, copied, match.groups[0].start - copied));
        add_regex_replacement(with, text, &match, &out);
        copied = match.groups[0].end;
        at = copied;
        if (match.groups[0].end == match.groups[0].start) { /* an empty match: step on */
            size_t n = at < text.n ? utf8_length_at(str_from_offset(text, at)) : 1;

            at += n;
        }
    }
    buf_add_str(&out, str_from_offset(text, copied));
    return text_finish(render, &out, 0, ret);
}

static int filter_regex_escape(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] && strchr("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", text.p[i]))
            buf_add_char(&out, '\\');
        buf_add_char(&out, text.p[i]);
    }
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_regex_functions[] = {
    { "regex_escape",  "value", filter_regex_escape, "text that a pattern takes literally" },
    { "regex_match",   "value, rgx, ignorecase=false, multiline=false", filter_match, "the groups of a match at the beginning, or none" },
    { "regex_replace", "value, rgx, val, ignorecase=false, multiline=false", filter_regex_replace, "every match replaced; \\1 is the first group" },
    { "regex_search",  "value, rgx, ignorecase=false, multiline=false", filter_search, "the groups of a match anywhere, or none" },
    { 0 },
};
/* clang-format on */

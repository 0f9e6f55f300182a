/* edit - replace the matches of a pattern. */
#include "core/edit/edit.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/base/utf8.h"

/* Matches between two checks for cancellation. */
#define LOOK_EVERY 64

struct expansion {
    const struct edit_replace *args;
    const struct matcher_match *match; /* NULL: nothing matched, and groups are empty */
    struct str text;
    struct buf *out;
};

static bool is_group_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number of the group `name`; STR_NONE when the pattern has no such group. */
static size_t find_group_number(const struct edit_replace *args, struct str name)
{
    size_t number = 0;

    if (name.n == 0)
        return STR_NONE;
    for (size_t i = 0; i < name.n; i++) {
        if (!is_group_digit(name.p[i]) || number >= MATCHER_GROUPS_MAX)
            return matcher_group_named(args->pattern, name);
        number = number * 10 + (size_t)(name.p[i] - '0');
    }
    return number < matcher_groups(args->pattern) ? number : STR_NONE;
}

/* The length of a group number at `at`: one or two digits. */
static size_t count_group_digits(const struct edit_replace *args, size_t at)
{
    size_t n = 0;

    while (n < 2 && at + n < args->repl.n && is_group_digit(args->repl.p[at + n]))
        n++;
    while (n > 0 && find_group_number(args, str_slice(args->repl, at, n)) == STR_NONE)
        n--;
    return n;
}

static void add_match_group(const struct expansion *x, struct str name)
{
    if (x->match)
        buf_add_str(x->out, matcher_text(x->match, x->text, find_group_number(x->args, name)));
}

/* A name between `open` at `at` and `close`: "{name}", "<name>"; 0 when it is not a group. */
static size_t find_bracketed_name(const struct expansion *x, size_t at, char open, char close)
{
    const struct str repl = x->args->repl;
    size_t end;

    if (at >= repl.n || repl.p[at] != open)
        return 0;
    end = str_find_char(repl, close, at);
    if (end == STR_NONE)
        return 0;

    const struct str name = str_slice(repl, at + 1, end - at - 1);
    if (find_group_number(x->args, name) == STR_NONE)
        return 0;
    add_match_group(x, name);
    return end + 1 - at;
}

/* The escape after a backslash at `at`; returns its length, 0: no escape. */
static size_t expand_escape(const struct expansion *x, size_t at)
{
    static const char from[] = "nrt\\$", to[] = "\n\r\t\\$";
    const struct str repl = x->args->repl;
    const size_t digits = count_group_digits(x->args, at);

    if (digits > 0) {
        add_match_group(x, str_slice(repl, at, digits));
        return digits;
    }
    if (at < repl.n && repl.p[at] == 'g') {
        const size_t n = find_bracketed_name(x, at + 1, '<', '>');

        return n > 0 ? n + 1 : 0;
    }
    for (size_t i = 0; at < repl.n && i < sizeof(from) - 1; i++)
        if (repl.p[at] == from[i]) {
            buf_add_char(x->out, to[i]);
            return 1;
        }
    return 0;
}

static size_t expand_dollar(const struct expansion *x, size_t at)
{
    const size_t digits = count_group_digits(x->args, at);

    if (digits == 0)
        return find_bracketed_name(x, at, '{', '}');
    add_match_group(x, str_slice(x->args->repl, at, digits));
    return digits;
}

/* The replacement of a match. A reference to an unknown group is text, so that shell variables need
 * no escaping. */
static void expand_replacement(const struct expansion *x)
{
    const struct str repl = x->args->repl;

    if (x->args->literal) {
        buf_add_str(x->out, repl);
        return;
    }
    for (size_t i = 0; i < repl.n; i++) {
        size_t used = 0;

        if (repl.p[i] == '\\')
            used = expand_escape(x, i + 1);
        else if (repl.p[i] == '$')
            used = expand_dollar(x, i + 1);
        if (used == 0)
            buf_add_char(x->out, repl.p[i]);
        i += used;
    }
}

/* Is the match inside a copy of its own replacement? */
static bool is_replaced_already(struct str text, const struct matcher_match *match,
                                struct str replacement)
{
    const size_t start = match->groups[0].start;
    const struct str matched = matcher_text(match, text, 0);

    for (size_t at = 0; at + matched.n <= replacement.n; at++) {
        if (!str_eq(str_slice(replacement, at, matched.n), matched) || start < at)
            continue;
        if (str_eq(str_slice(text, start - at, replacement.n), replacement))
            return true;
    }
    return false;
}

/* Copy from `*done` to the match, then add its replacement. */
static void replace_match(const struct edit_replace *args, struct str text,
                          const struct matcher_match *match, size_t *done, struct buf *out)
{
    AUTO_BUF struct buf replacement = BUF_INIT(EDIT_SIZE_MAX);
    const struct expansion x = { args, match, text, &replacement };
    const size_t start = match->groups[0].start, end = match->groups[0].end;

    expand_replacement(&x);
    out->full |= replacement.full;
    if (is_replaced_already(text, match, buf_view(&replacement)))
        return;
    buf_add_str(out, str_slice(text, *done, start - *done));
    buf_add_str(out, buf_view(&replacement));
    *done = end;
}

static int replace_matches(struct str text, const struct edit_replace *args, struct buf *out,
                           size_t *ret_found, struct err *err)
{
    struct matcher_scan scan = matcher_scan(args->pattern, text);
    struct matcher_match match;
    size_t from = 0, done = 0, n = 0;
    bool found = true;

    while (from <= text.n && (args->count == 0 || n < args->count) && !out->full) {
        if (args->is_stopped && n % LOOK_EVERY == 0 && args->is_stopped(args->user))
            return err_set(err, ERR_CANCELED, "canceled while text was replaced");
        if (matcher_scan_find(&scan, from, &match, &found, err) < 0)
            return -1;
        if (!found || match.groups[0].start > match.groups[0].end) /* \K can reverse them */
            break;
        n++;
        if (match.groups[0].start >= done)
            replace_match(args, text, &match, &done, out);
        from = match.groups[0].end;
        if (match.groups[0].end == match.groups[0].start) /* an empty match: step on */
            from += from < text.n ? utf8_length_at(str_from_offset(text, from)) : 1;
    }
    buf_add_str(out, str_from_offset(text, done));
    *ret_found = n;
    return 0;
}

/* Nothing matched: add the text for that, as whole lines, unless it is present already. A
 * replacement is expanded as for a match, so the text that an earlier run added is found again. */
static int add_not_found(struct str text, const struct edit_replace *args, struct buf *out,
                         struct err *err)
{
    AUTO_BUF struct buf expanded = BUF_INIT(EDIT_SIZE_MAX);
    const struct expansion x = { .args = args, .text = text, .out = &expanded };
    struct str content = args->not_found;
    const struct edit_chunks chunk = { .p = &content, .n = 1 };
    size_t lines;

    if (!content.p) {
        expand_replacement(&x);
        out->full |= expanded.full;
        content = buf_view(&expanded);
    }
    if (args->append)
        return edit_append(text, &chunk, out, &lines, err);
    return edit_prepend(text, &chunk, out, &lines, err);
}

int edit_replace(struct str text, const struct edit_replace *args, struct buf *out,
                 size_t *ret_found, struct err *err)
{
    const size_t base = out->n;

    if (replace_matches(text, args, out, ret_found, err) < 0)
        return -1;
    if (*ret_found == 0 && (args->append || args->prepend)) {
        buf_cut(out, base);
        return add_not_found(text, args, out, err);
    }
    return edit_finish(out, err);
}

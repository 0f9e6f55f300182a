#include "states/provider/package/repo_line.h"

#include <ctype.h>

#include "core/base/buf.h"
#include "core/base/err.h"

static const struct str types[] = { { "deb", 3 }, { "deb-src", 7 } };

static struct str cut_line_word(struct str *rest)
{
    size_t n = 0;
    struct str word;

    *rest = str_trim_left(*rest);
    while (n < rest->n && !isspace((unsigned char)rest->p[n]))
        n++;
    word = str_slice(*rest, 0, n);
    *rest = str_trim_left(str_from_offset(*rest, n));
    return word;
}

static bool is_line_type(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(word, types[i]))
            return true;
    return false;
}

bool repo_line_is(struct str text)
{
    struct str rest = str_trim(text);

    return is_line_type(cut_line_word(&rest)) && rest.n > 0;
}

bool repo_line_is_clean(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (iscntrl((unsigned char)text.p[i]))
            return false;
    return true;
}

static int cut_options(struct str *rest, struct str *ret, struct err *err)
{
    size_t end;

    *ret = (struct str){ "", 0 };
    if (rest->n == 0 || rest->p[0] != '[')
        return 0;
    end = str_find_char(*rest, ']', 0);
    if (end == STR_NONE)
        return err_set(err, ERR_INVALID, "unclosed options in source: '%.*s'", STR_ARG(*rest));
    *ret = str_trim(str_slice(*rest, 1, end - 1));
    *rest = str_trim_left(str_from_offset(*rest, end + 1));
    return 0;
}

int repo_line_parse(struct str text, struct repo_line *ret_line, struct err *err)
{
    struct str rest = str_trim(text);
    struct repo_line line = { 0 };

    while (rest.n > 0 && rest.p[0] == '#') {
        line.disabled = true;
        rest = str_trim_left(str_from_offset(rest, 1));
    }
    line.type = cut_line_word(&rest);
    if (!is_line_type(line.type))
        return err_set(err, ERR_INVALID, "a source must begin with 'deb' or 'deb-src': '%.*s'",
                       STR_ARG(text));
    if (cut_options(&rest, &line.options, err) < 0)
        return -1;
    line.uri = cut_line_word(&rest);
    line.suite = cut_line_word(&rest);
    line.components = str_trim(rest);
    if (line.uri.n == 0 || line.suite.n == 0)
        return err_set(err, ERR_INVALID, "a source requires a URL and a suite: '%.*s'",
                       STR_ARG(text));
    *ret_line = line;
    return 0;
}

void repo_line_print(const struct repo_line *line, struct buf *out)
{
    if (line->disabled)
        buf_add_text(out, "# ");
    buf_add_str(out, line->type);
    if (line->options.n > 0)
        buf_printf(out, " [%.*s]", STR_ARG(line->options));
    buf_printf(out, " %.*s %.*s", STR_ARG(line->uri), STR_ARG(line->suite));
    if (line->components.n > 0)
        buf_printf(out, " %.*s", STR_ARG(line->components));
}

static struct str trim_slash(struct str uri)
{
    while (uri.n > 0 && uri.p[uri.n - 1] == '/')
        uri.n--;
    return uri;
}

bool repo_line_is_same(const struct repo_line *a, const struct repo_line *b)
{
    return str_eq(a->type, b->type) && str_eq(trim_slash(a->uri), trim_slash(b->uri)) &&
           str_eq(a->suite, b->suite);
}

static bool matches_line(struct str part, struct str pattern)
{
    return pattern.n == 0 || str_eq(part, pattern);
}

bool repo_line_matches(const struct repo_line *line, const struct repo_line *pattern)
{
    return line->uri.n > 0 && matches_line(line->type, pattern->type) &&
           matches_line(trim_slash(line->uri), trim_slash(pattern->uri)) &&
           matches_line(line->suite, pattern->suite);
}

static bool is_safe_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (isspace((unsigned char)text.p[i]))
            return false;
    return text.n > 0 && text.p[0] != '[';
}

int repo_line_check(const struct repo_line *line, const char *comment, struct err *err)
{
    const struct str all[] = { line->type, line->options, line->uri, line->suite,
                               line->components };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!repo_line_is_clean(all[i]))
            return err_set(err, ERR_INVALID, "source contains a control character");
    if (!repo_line_is_clean(str_from(comment)))
        return err_set(err, ERR_INVALID, "comment contains a control character");
    if (!is_line_type(line->type) || !is_safe_word(line->uri) || !is_safe_word(line->suite) ||
        str_find_char(line->options, ']', 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "'%.*s %.*s' is not a valid URL and suite of a source",
                       STR_ARG(line->uri), STR_ARG(line->suite));
    return 0;
}

void repo_line_add(struct buf *out, struct str line)
{
    buf_add_str(out, line);
    buf_add_char(out, '\n');
}

bool repo_line_next(struct str *text, struct str *ret)
{
    if (!text->p || text->n == 0)
        return false;
    *ret = str_cut(text, '\n');
    return true;
}

static bool is_line_for(struct str text, const struct repo_line *line)
{
    struct repo_line other;
    struct err ignored;

    return repo_line_parse(text, &other, &ignored) == 0 && repo_line_is_same(&other, line);
}

int repo_line_set(struct str text, const struct repo_line *line, const char *comment,
                  struct buf *out, struct err *err)
{
    bool done = false;
    struct str next;

    if (repo_line_check(line, comment, err) < 0)
        return -1;
    if (text.n == 0)
        buf_printf(out, "# %s\n", comment);
    while (repo_line_next(&text, &next)) {
        if (!is_line_for(next, line)) {
            repo_line_add(out, next);
        } else if (!done) {
            repo_line_print(line, out);
            buf_add_char(out, '\n');
            done = true;
        }
    }
    if (!done) {
        repo_line_print(line, out);
        buf_add_char(out, '\n');
    }
    return 0;
}

void repo_line_remove(struct str text, const struct repo_line *pattern, struct buf *out,
                      size_t *ret_count)
{
    struct str next;

    *ret_count = 0;
    while (repo_line_next(&text, &next)) {
        struct repo_line line;
        struct err ignored;

        if (repo_line_parse(next, &line, &ignored) == 0 && repo_line_matches(&line, pattern))
            (*ret_count)++;
        else
            repo_line_add(out, next);
    }
}

bool repo_line_is_empty(struct str text)
{
    struct str next;

    while (repo_line_next(&text, &next)) {
        next = str_trim(next);
        if (next.n > 0 && next.p[0] != '#')
            return false;
    }
    return true;
}

/* --- lines that are words ------------------------------------------------------------------ */

static bool is_plain_for(struct str text, struct str line)
{
    text = str_trim(text);
    while (text.n > 0 && text.p[0] == '#')
        text = str_trim_left(str_from_offset(text, 1));
    return str_eq(trim_slash(text), trim_slash(line));
}

int repo_line_set_plain(struct str text, struct str line, bool disabled, struct buf *out,
                        struct err *err)
{
    bool done = false;
    struct str next;

    line = str_trim(line);
    if (!repo_line_is_clean(line) || line.n == 0 || line.p[0] == '#')
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid repository URL", STR_ARG(line));
    while (repo_line_next(&text, &next)) {
        bool mine = is_plain_for(next, line);

        if (!mine)
            repo_line_add(out, next);
        else if (!done)
            buf_printf(out, "%s%.*s\n", disabled ? "#" : "", STR_ARG(line));
        done |= mine;
    }
    if (!done)
        buf_printf(out, "%s%.*s\n", disabled ? "#" : "", STR_ARG(line));
    return 0;
}

void repo_line_remove_plain(struct str text, struct str line, struct buf *out, size_t *ret_count)
{
    struct str next;

    line = str_trim(line);
    *ret_count = 0;
    while (repo_line_next(&text, &next)) {
        if (is_plain_for(next, line))
            (*ret_count)++;
        else
            repo_line_add(out, next);
    }
}

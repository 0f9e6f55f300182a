/* edit - lines in and out of comments. */
#include "core/edit/edit.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/lines.h"

/* The parts of a line, split at the comment mark. */
struct commented {
    struct str indent; /* before the mark */
    struct str rest;   /* after the mark */
    bool is_comment;
};

static struct commented divide_comment_line(struct str line, struct str mark)
{
    const struct str indent = lines_indent(line);
    const struct str rest = str_from_offset(line, indent.n);

    if (mark.n == 0 || !str_starts(rest, mark))
        return (struct commented){ indent, line, false };
    return (struct commented){ indent, str_from_offset(rest, mark.n), true };
}

/* Does the line after the mark match, unchanged or without leading blanks? `ret_line` is the
 * matching form. A line that is still a comment then was not made by commenting a line out. */
static int match_commented(const struct edit_comment *args, struct str rest, struct str *ret_line,
                           bool *ret_found, struct err *err)
{
    *ret_line = rest;
    *ret_found = false;
    if (divide_comment_line(rest, args->mark).is_comment)
        return 0;
    if (matcher_find(args->pattern, rest, 0, NULL, ret_found, err) < 0)
        return -1;
    if (*ret_found)
        return 0;
    *ret_line = str_from_offset(rest, lines_indent(rest).n);
    return matcher_find(args->pattern, *ret_line, 0, NULL, ret_found, err);
}

static int comment_line(const struct edit_comment *args, struct str line, struct buf *out,
                        bool *ret_found, struct err *err)
{
    const struct commented parts = divide_comment_line(line, args->mark);
    struct str ignored;

    if (parts.is_comment) {
        buf_add_str(out, line);
        return match_commented(args, parts.rest, &ignored, ret_found, err);
    }
    if (matcher_find(args->pattern, line, 0, NULL, ret_found, err) < 0)
        return -1;
    if (*ret_found)
        buf_add_str(out, args->mark);
    buf_add_str(out, line);
    return 0;
}

static int uncomment_line(const struct edit_comment *args, struct str line, struct buf *out,
                          bool *ret_found, struct err *err)
{
    const struct commented parts = divide_comment_line(line, args->mark);
    struct str bare = line;

    if (!parts.is_comment) {
        buf_add_str(out, line);
        return match_commented(args, line, &bare, ret_found, err);
    }
    if (match_commented(args, parts.rest, &bare, ret_found, err) < 0)
        return -1;
    if (*ret_found)
        buf_add_str(out, parts.indent);
    buf_add_str(out, *ret_found ? bare : line);
    return 0;
}

static bool has_comment_newline(struct str text)
{
    return memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n);
}

static int each_line(struct str text, const struct edit_comment *args,
                     int (*edit)(const struct edit_comment *args, struct str line, struct buf *out,
                                 bool *ret_found, struct err *err),
                     struct buf *out, size_t *ret_found, struct err *err)
{
    struct line line;
    size_t n = 0;

    if (args->mark.n == 0 || lines_indent(args->mark).n > 0 || has_comment_newline(args->mark))
        return err_set(err, ERR_INVALID, "the comment character must not be empty or blank");
    while (lines_next(&text, &line)) {
        bool found;

        if (edit(args, line.text, out, &found, err) < 0)
            return -1;
        buf_add_str(out, line.end);
        n += found;
    }
    *ret_found = n;
    return edit_finish(out, err);
}

int edit_comment(struct str text, const struct edit_comment *args, struct buf *out,
                 size_t *ret_found, struct err *err)
{
    return each_line(text, args, comment_line, out, ret_found, err);
}

int edit_uncomment(struct str text, const struct edit_comment *args, struct buf *out,
                   size_t *ret_found, struct err *err)
{
    return each_line(text, args, uncomment_line, out, ret_found, err);
}

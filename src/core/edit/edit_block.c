/* edit - the lines between two markers. */
#include "core/edit/edit.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/lines.h"

/* Byte offsets of the lines between the markers. */
struct block {
    bool found;
    size_t start, end;
};

static bool is_block_marker(struct str line, struct str marker)
{
    return str_eq(str_trim_right(line), str_trim_right(marker));
}

static int check_block_args(const struct edit_block *args, struct err *err)
{
    const struct str start = str_trim_right(args->start), end = str_trim_right(args->end);
    struct str rest = args->content;
    struct line line;

    if (start.n == 0 || end.n == 0 || str_eq(start, end))
        return err_set(err, ERR_INVALID, "the markers must be two different lines");
    if (memchr(start.p, '\n', start.n) || memchr(end.p, '\n', end.n))
        return err_set(err, ERR_INVALID, "a marker must be one line");
    while (lines_next(&rest, &line))
        if (is_block_marker(line.text, start) || is_block_marker(line.text, end))
            return err_set(err, ERR_INVALID, "the content holds a marker: '%.*s'",
                           STR_ARG(line.text));
    return 0;
}

/* The last start marker before the first end marker that has one. */
static int find_block(struct str text, const struct edit_block *args, struct block *ret,
                      struct err *err)
{
    struct str rest = text;
    struct line line;
    bool started = false;
    size_t number = 0, started_at = 0;

    *ret = (struct block){ 0 };
    while (lines_next(&rest, &line)) {
        number++;
        if (is_block_marker(line.text, args->start)) {
            started = true;
            started_at = number;
            ret->start = (size_t)(rest.p - text.p);
        } else if (started && is_block_marker(line.text, args->end)) {
            ret->end = (size_t)(line.text.p - text.p);
            ret->found = true;
            return 0;
        }
    }
    if (started)
        return err_set(err, ERR_INVALID, "the marker '%.*s' in line %zu has no '%.*s' after it",
                       STR_ARG(args->start), started_at, STR_ARG(args->end));
    return 0;
}

/* The content with the line ends of the text. */
static void add_block_content(struct buf *out, struct str content, struct str end)
{
    while (content.n > 0 && (content.p[content.n - 1] == '\n' || content.p[content.n - 1] == '\r'))
        content.n--;
    lines_add_all(out, content, end);
}

static void add_marked_block(const struct edit_block *args, struct buf *out, struct str end)
{
    lines_add(out, str_trim_right(args->start), end);
    add_block_content(out, args->content, end);
    lines_add(out, str_trim_right(args->end), end);
}

/* The start, or the end, of the first line that matches; STR_NONE when none does. */
static int find_block_place(struct str text, const struct matcher *pattern, bool behind,
                            size_t *ret_at, struct err *err)
{
    struct str rest = text;
    struct line line;
    bool found = false;

    *ret_at = STR_NONE;
    while (lines_next(&rest, &line)) {
        if (matcher_find(pattern, line.text, 0, NULL, &found, err) < 0)
            return -1;
        if (!found)
            continue;
        *ret_at = (size_t)((behind ? rest.p : line.text.p) - text.p);
        return 0;
    }
    return 0;
}

static int choose_block_place(struct str text, const struct edit_block *args, size_t *ret_at,
                              struct err *err)
{
    *ret_at = STR_NONE;
    if (args->before && find_block_place(text, args->before, false, ret_at, err) < 0)
        return -1;
    if (*ret_at == STR_NONE && args->after &&
        find_block_place(text, args->after, true, ret_at, err) < 0)
        return -1;
    if (*ret_at == STR_NONE && args->append)
        *ret_at = text.n;
    else if (*ret_at == STR_NONE && args->prepend)
        *ret_at = 0;
    return 0;
}

static int insert_block(struct str text, const struct edit_block *args, struct buf *out,
                        enum edit_block_found *ret_found, struct err *err)
{
    const struct str end = lines_end_of(text);
    size_t at;

    if (choose_block_place(text, args, &at, err) < 0)
        return -1;
    if (at == STR_NONE) {
        buf_add_str(out, text);
        *ret_found = EDIT_BLOCK_MISSING;
        return edit_finish(out, err);
    }
    buf_add_str(out, str_slice(text, 0, at));
    lines_finish(out, end);
    add_marked_block(args, out, end);
    if (args->append_newline && at == text.n)
        buf_add_str(out, end);
    buf_add_str(out, str_from_offset(text, at));
    *ret_found = EDIT_BLOCK_ADDED;
    return edit_finish(out, err);
}

int edit_block(struct str text, const struct edit_block *args, struct buf *out,
               enum edit_block_found *ret_found, struct err *err)
{
    AUTO_BUF struct buf content = BUF_INIT(EDIT_SIZE_MAX);
    struct block block;
    struct str have;

    if (check_block_args(args, err) < 0 || find_block(text, args, &block, err) < 0)
        return -1;
    if (!block.found)
        return insert_block(text, args, out, ret_found, err);
    add_block_content(&content, args->content, lines_end_of(text));
    have = str_slice(text, block.start, block.end - block.start);
    *ret_found = str_eq(have, buf_view(&content)) ? EDIT_BLOCK_SAME : EDIT_BLOCK_REPLACED;
    buf_add_str(out, str_slice(text, 0, block.start));
    buf_add_str(out, buf_view(&content));
    buf_add_str(out, str_from_offset(text, block.end));
    return edit_finish(out, err);
}

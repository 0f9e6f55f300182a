/* edit - one line of a text: ensure, replace, insert, delete. */
#include "core/edit/edit.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/base/vec.h"
#include "core/edit/lines.h"

/* The search for a line: by a pattern, by a part of it, or by the content. */
struct finder {
    const struct matcher *pattern;
    struct str part;
};

struct editing {
    const struct edit_line *args;
    struct str text;
    struct finder match, before, after;
    VEC(struct line) lines;
    bool changed;
};

static int finder_init(struct arena *arena, struct finder *finder, struct str text, struct err *err)
{
    finder->part = text;
    if (text.n == 0)
        return 0;
    if (matcher_new(arena, text, 0, &finder->pattern, NULL, err) == 0)
        return 0;
    return err->code == ERR_INVALID ? 0 : -1; /* no pattern: a part of a line */
}

static int finder_test(const struct finder *finder, struct str line, bool *ret, struct err *err)
{
    if (finder->pattern)
        return matcher_find(finder->pattern, line, 0, NULL, ret, err);
    *ret = str_find(line, finder->part, 0) != STR_NONE;
    return 0;
}

/* Does the content take the indentation of its place? */
static bool takes_indent(const struct edit_line *args)
{
    return args->indent && lines_indent(args->content).n == 0;
}

static bool is_wanted_line(const struct edit_line *args, struct str line)
{
    if (takes_indent(args))
        line = str_from_offset(line, lines_indent(line).n);
    return str_eq(line, args->content);
}

static bool has_wanted_line(const struct editing *e)
{
    if (memchr(e->args->content.p, '\n', e->args->content.n))
        return lines_have(e->text, e->args->content, false);
    VEC_EACH (&e->lines, line)
        if (is_wanted_line(e->args, line->text))
            return true;
    return false;
}

/* The first match at line `from` or later; the number of lines when there is none. */
static int find_edited_line(const struct editing *e, const struct finder *finder, size_t from,
                            size_t *ret_at, struct err *err)
{
    bool found = false;
    size_t i = from;

    for (; i < e->lines.n; i++) {
        if (finder_test(finder, e->lines.p[i].text, &found, err) < 0)
            return -1;
        if (found)
            break;
    }
    *ret_at = i;
    return 0;
}

/* --- changing the list ---------------------------------------------------------- */

/* The content as a line, indented like `beside`, whose buffer must outlive the edit. */
static struct line content_line(const struct editing *e, struct str beside, struct buf *room)
{
    const struct str indent = takes_indent(e->args) ? lines_indent(beside) : STR("");
    const size_t at = room->n;

    buf_add_str(room, indent);
    buf_add_str(room, e->args->content);
    /* The buffer moves when it grows: keep offsets, not pointers. */
    return (struct line){ { NULL, at }, { NULL, indent.n + e->args->content.n } };
}

static void set_line(struct editing *e, size_t at, struct buf *room)
{
    e->lines.p[at] = content_line(e, e->lines.p[at].text, room);
    e->changed = true;
}

static void insert_line(struct editing *e, size_t at, struct str beside, struct buf *room)
{
    VEC_PUSH(&e->lines, (struct line){ 0 });
    memmove(&e->lines.p[at + 1], &e->lines.p[at], (e->lines.n - 1 - at) * sizeof(struct line));
    e->lines.p[at] = content_line(e, beside, room);
    e->changed = true;
}

static void print_edited_lines(const struct editing *e, const struct buf *room, struct buf *out)
{
    const struct str end = lines_end_of(e->text);
    const bool ended = e->text.n == 0 || e->text.p[e->text.n - 1] == '\n';

    for (size_t i = 0; i < e->lines.n; i++) {
        const struct line *line = &e->lines.p[i];
        const bool is_new = !line->text.p;

        if (is_new)
            buf_add_str(out, str_slice(buf_view(room), line->text.n, line->end.n));
        else
            buf_add_str(out, line->text);
        if (i + 1 < e->lines.n || ended)
            buf_add_str(out, !is_new && str_ends(line->end, STR("\n")) ? line->end : end);
    }
}

/* --- the modes --------------------------------------------------------------------- */

/* The place that the anchors define. */
static int insert_at_anchor(struct editing *e, struct buf *room, struct err *err)
{
    const struct edit_line *args = e->args;
    const bool is_after = args->after.n > 0;
    size_t at;

    if (args->after.n == 0 && args->before.n == 0) {
        insert_line(e, args->location == EDIT_AT_START ? 0 : e->lines.n, STR(""), room);
        return 0;
    }
    if (find_edited_line(e, is_after ? &e->after : &e->before, 0, &at, err) < 0)
        return -1;
    if (at == e->lines.n)
        insert_line(e, at, STR(""), room);
    else
        insert_line(e, is_after ? at + 1 : at, e->lines.p[at].text, room);
    return 0;
}

/* Only the content is between the two anchors. */
static int ensure_between(struct editing *e, struct buf *room, struct err *err)
{
    size_t first, last;

    if (find_edited_line(e, &e->after, 0, &first, err) < 0 ||
        find_edited_line(e, &e->before, first + 1, &last, err) < 0)
        return -1;
    if (first >= e->lines.n || last >= e->lines.n)
        return has_wanted_line(e) ? 0 : insert_at_anchor(e, room, err);
    for (size_t i = first + 1; i < last; i++)
        if (is_wanted_line(e->args, e->lines.p[i].text))
            return 0;
    if (last == first + 1)
        insert_line(e, last, e->lines.p[first].text, room);
    else if (last == first + 2)
        set_line(e, first + 1, room);
    else
        return err_set(err, ERR_INVALID, "found %zu lines between '%.*s' and '%.*s'",
                       last - first - 1, STR_ARG(e->args->after), STR_ARG(e->args->before));
    return 0;
}

/* Content that its own pattern does not find is accepted wherever it is; otherwise every run
 * would replace one more line. */
static int ensure_matching(struct editing *e, size_t at, struct buf *room, struct err *err)
{
    bool own;

    if (is_wanted_line(e->args, e->lines.p[at].text))
        return 0;
    if (finder_test(&e->match, e->args->content, &own, err) < 0)
        return -1;
    if (own || !has_wanted_line(e))
        set_line(e, at, room);
    return 0;
}

static int do_ensure(struct editing *e, struct buf *room, struct err *err)
{
    size_t at = e->lines.n;

    if (e->args->match.n == 0 && e->args->before.n > 0 && e->args->after.n > 0)
        return ensure_between(e, room, err);
    if (e->args->match.n > 0 && find_edited_line(e, &e->match, 0, &at, err) < 0)
        return -1;
    if (at < e->lines.n)
        return ensure_matching(e, at, room, err);
    return has_wanted_line(e) ? 0 : insert_at_anchor(e, room, err);
}

static int do_replace(struct editing *e, struct buf *room, struct err *err)
{
    size_t at;

    for (size_t i = 0; i < e->lines.n; i = at + 1) {
        if (find_edited_line(e, &e->match, i, &at, err) < 0)
            return -1;
        if (at < e->lines.n && !is_wanted_line(e->args, e->lines.p[at].text))
            set_line(e, at, room);
    }
    return 0;
}

static int do_insert(struct editing *e, struct buf *room, struct err *err)
{
    return has_wanted_line(e) ? 0 : insert_at_anchor(e, room, err);
}

static int do_delete(struct editing *e, struct buf *room, struct err *err)
{
    size_t kept = 0;

    (void)room;
    for (size_t i = 0; i < e->lines.n; i++) {
        bool drop;

        if (e->args->match.n == 0)
            drop = is_wanted_line(e->args, e->lines.p[i].text);
        else if (finder_test(&e->match, e->lines.p[i].text, &drop, err) < 0)
            return -1;
        if (!drop)
            e->lines.p[kept++] = e->lines.p[i];
        e->changed |= drop;
    }
    e->lines.n = kept;
    return 0;
}

static int (*const modes[])(struct editing *e, struct buf *room, struct err *err) = {
    [EDIT_LINE_ENSURE] = do_ensure,
    [EDIT_LINE_REPLACE] = do_replace,
    [EDIT_LINE_INSERT] = do_insert,
    [EDIT_LINE_DELETE] = do_delete,
};

static int edit_lines(struct editing *e, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf room = BUF_INIT(EDIT_SIZE_MAX);
    struct str rest = e->text;
    struct line line;

    if (finder_init(&arena, &e->match, e->args->match, err) < 0 ||
        finder_init(&arena, &e->before, e->args->before, err) < 0 ||
        finder_init(&arena, &e->after, e->args->after, err) < 0)
        return -1;
    while (lines_next(&rest, &line))
        VEC_PUSH(&e->lines, line);
    if (modes[e->args->mode](e, &room, err) < 0 || edit_finish(&room, err) < 0)
        return -1;
    if (e->changed)
        print_edited_lines(e, &room, out);
    else
        buf_add_str(out, e->text);
    return edit_finish(out, err);
}

int edit_line(struct str text, const struct edit_line *args, struct buf *out, struct err *err)
{
    struct edit_line one = *args;
    struct editing e = { .args = &one, .text = text };
    int result;

    /* A YAML block text ends with a newline. */
    if (str_ends(one.content, STR("\n")))
        one.content.n--;
    while (str_ends(one.content, STR("\r")))
        one.content.n--;
    if (one.content.n == 0 && (one.mode == EDIT_LINE_ENSURE || one.mode == EDIT_LINE_INSERT))
        return err_set(err, ERR_INVALID, "the content is empty");
    if (one.mode != EDIT_LINE_INSERT && one.content.n > 0 &&
        memchr(one.content.p, '\n', one.content.n))
        return err_set(err, ERR_INVALID, "the content has more than one line");
    result = edit_lines(&e, out, err);
    vec_done(&e.lines);
    return result;
}

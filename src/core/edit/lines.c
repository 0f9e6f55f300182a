#include "core/edit/lines.h"

#include <string.h>

#include "core/base/buf.h"

bool lines_next(struct str *rest, struct line *ret_line)
{
    const char *newline;
    size_t size, n;

    if (rest->n == 0)
        return false;
    newline = memchr(rest->p, '\n', rest->n);
    size = newline ? (size_t)(newline - rest->p) + 1 : rest->n;
    n = newline ? size - 1 : size;
    while (n > 0 && rest->p[n - 1] == '\r')
        n--;
    ret_line->text = (struct str){ rest->p, n };
    ret_line->end = str_slice(*rest, n, size - n);
    *rest = str_from_offset(*rest, size);
    return true;
}

struct str lines_end_of(struct str text)
{
    struct line line;

    if (lines_next(&text, &line) && line.end.n > 0 && line.end.p[0] == '\r')
        return STR("\r\n");
    return STR("\n");
}

static bool is_line_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str lines_indent(struct str line)
{
    size_t n = 0;

    while (n < line.n && is_line_blank(line.p[n]))
        n++;
    return str_slice(line, 0, n);
}

struct str lines_word(struct str *rest)
{
    size_t at = 0, n = 0;
    struct str word;

    while (at < rest->n && is_line_blank(rest->p[at]))
        at++;
    while (at + n < rest->n && !is_line_blank(rest->p[at + n]))
        n++;
    word = str_slice(*rest, at, n);
    *rest = str_from_offset(*rest, at + n);
    return word;
}

bool lines_equal(struct str a, struct str b, bool ignore_blanks)
{
    struct str left, right;

    if (!ignore_blanks)
        return str_eq(a, b);
    do {
        left = lines_word(&a);
        right = lines_word(&b);
        if (!str_eq(left, right))
            return false;
    } while (left.n > 0);
    return true;
}

bool lines_begin_with(struct str text, struct str block, bool ignore_blanks)
{
    struct line have, want;

    while (lines_next(&block, &want))
        if (!lines_next(&text, &have) || !lines_equal(have.text, want.text, ignore_blanks))
            return false;
    return true;
}

bool lines_have(struct str text, struct str block, bool ignore_blanks)
{
    struct line line;

    do {
        if (lines_begin_with(text, block, ignore_blanks))
            return true;
    } while (lines_next(&text, &line));
    return false;
}

size_t lines_count(struct str text)
{
    struct line line;
    size_t n = 0;

    while (lines_next(&text, &line))
        n++;
    return n;
}

void lines_add(struct buf *out, struct str line, struct str end)
{
    buf_add_str(out, line);
    buf_add_str(out, end);
}

void lines_add_all(struct buf *out, struct str text, struct str end)
{
    struct line line;

    while (lines_next(&text, &line))
        lines_add(out, line.text, end);
}

void lines_finish(struct buf *out, struct str end)
{
    if (out->n == 0 || out->p[out->n - 1] == '\n')
        return;
    buf_add_str(out, out->p[out->n - 1] == '\r' ? STR("\n") : end);
}

void lines_put(struct buf *out, struct str text, lines_is_fn *is_about, struct str what,
               struct str line)
{
    const struct str end = lines_end_of(text);
    bool placed = line.n == 0;
    struct line old;

    while (lines_next(&text, &old)) {
        if (!is_about(old.text, what)) {
            lines_add(out, old.text, old.end);
        } else if (!placed) {
            placed = true;
            lines_add(out, line, old.end);
        }
    }
    if (placed)
        return;
    lines_finish(out, end);
    lines_add(out, line, end);
}

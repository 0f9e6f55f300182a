/*
 * lines - a text as lines that remember how they ended.
 *
 *     struct str rest = text;
 *     struct line line;
 *     while (lines_next(&rest, &line))
 *         use(line.text, line.end);
 *
 * An end is "\n" or "\r\n"; carriage returns belong to it however many there are, and
 * the "\n" may be missing in the last line. The texts and ends of all lines together
 * are the original text, byte for byte.
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_LINES_H
#define CORE_EDIT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

struct line {
    struct str text, end;
};

/* The next line; false at the end of the text. */
bool lines_next(struct str *rest, struct line *ret_line);

/* The line end of a text: that of its first line, else "\n". */
struct str lines_end_of(struct str text);

/* The blanks (space and tab) at the beginning. */
struct str lines_indent(struct str line);

/* Take the next word off a line; empty at its end. */
struct str lines_word(struct str *rest);

/* Equal lines; with `ignore_blanks`, any run of blanks equals any other, and those at both ends are
 * ignored. */
bool lines_equal(struct str a, struct str b, bool ignore_blanks);

/* Does `text` contain the lines of `block`, one after another, as whole lines? It always contains
 * an empty block. */
bool lines_have(struct str text, struct str block, bool ignore_blanks);
/* Does `text` begin with the lines of `block`? */
bool lines_begin_with(struct str text, struct str block, bool ignore_blanks);
size_t lines_count(struct str text);

/* Append a line with this end. */
void lines_add(struct buf *out, struct str line, struct str end);
/* Append every line of `text`, each with this end. */
void lines_add_all(struct buf *out, struct str text, struct str end);
/* End the last line of `out`, unless it has an end or there is none. */
void lines_finish(struct buf *out, struct str end);

/* Is `line` about `what`? */
typedef bool lines_is_fn(struct str line, struct str what);
/* Append the text with `line` as the only one about `what`: in the place of the first one, else at
 * the end. An empty `line`: none. */
void lines_put(struct buf *out, struct str text, lines_is_fn *is_about, struct str what,
               struct str line);

#endif

/*
 * edit - changes to the text of a configuration file, as functions of text.
 *
 * Each takes the text and what it should contain, appends the edited text to `out`, and reports
 * what it found. A correct text is returned byte for byte, and editing an edited text changes
 * nothing more, so that states are idempotent. (For edit_replace that depends on the pattern: see
 * there.)
 *
 * Line ends ("\n" or "\r\n") are those of the text. A missing one at its end stays missing, unless
 * something is added after it.
 *
 * All fail with ERR_LIMIT when `out` is full. Threads: any; a pattern is used by
 * one at a time.
 */
#ifndef CORE_EDIT_EDIT_H
#define CORE_EDIT_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;
struct matcher;

/* Maximum size of an edited text. */
#define EDIT_SIZE_MAX ((size_t)64 << 20)

/* --- whole lines at the ends ------------------------------------------------------ */

/* Each chunk is one or more lines: it is present when its lines follow one another in the text. */
struct edit_chunks {
    const struct str *p;
    size_t n;
    bool ignore_blanks; /* see lines_equal */
    bool header;        /* edit_prepend: they must be the first lines, in this order */
    bool (*is_stopped)(const void *user); /* the edit ends with ERR_CANCELED; NULL: never */
    const void *user;
};

/* Add the missing chunks at the end, or before the first line. `ret_lines` is the number of lines
 * added. */
int edit_append(struct str text, const struct edit_chunks *chunks, struct buf *out,
                size_t *ret_lines, struct err *err);
int edit_prepend(struct str text, const struct edit_chunks *chunks, struct buf *out,
                 size_t *ret_lines, struct err *err);

/* --- one line ----------------------------------------------------------------------- */

enum edit_line_mode {
    EDIT_LINE_ENSURE,  /* the first line that matches becomes the content; none: insert it */
    EDIT_LINE_REPLACE, /* every line that matches becomes the content */
    EDIT_LINE_INSERT,  /* add the content unless it is present */
    EDIT_LINE_DELETE,  /* drop every line that matches */
};

enum edit_location { EDIT_AT_END, EDIT_AT_START };

struct edit_line {
    enum edit_line_mode mode;
    struct str content; /* one line, or several that are inserted together */
    struct str
        match; /* a pattern, or a part of a line when it is not a valid one; empty: the content */
    struct str before, after; /* the same, for the place to insert at; `after` wins */
    enum edit_location location;
    bool indent; /* indent the content like the line beside it, unless it has blanks in front */
};

int edit_line(struct str text, const struct edit_line *args, struct buf *out, struct err *err);

/* --- patterns -------------------------------------------------------------------------- */

struct edit_replace {
    const struct matcher *pattern;
    struct str repl;                      /* with \1 \g<name> $1 ${1} ${name}, and \n \t \\ \$ */
    bool literal;                         /* nothing in repl is special */
    size_t count;                         /* maximum number of matches; 0: all */
    bool append, prepend;                 /* add not_found when nothing matched; append wins */
    struct str not_found;                 /* the text to add; a NULL view: repl as it is */
    bool (*is_stopped)(const void *user); /* the edit ends with ERR_CANCELED; NULL: never */
    const void *user;
};

/* A match that is already part of its replacement is left alone: `foo` to `foobar` settles after
 * one time. `ret_found` is the number of matches. */
int edit_replace(struct str text, const struct edit_replace *args, struct buf *out,
                 size_t *ret_found, struct err *err);

struct edit_comment {
    const struct matcher *pattern; /* for the line without comment character */
    struct str mark;               /* "#" */
};

/* Put the mark in front of every line that matches, or remove it. `ret_found` counts the lines
 * that match, whether or not they had to change. */
int edit_comment(struct str text, const struct edit_comment *args, struct buf *out,
                 size_t *ret_found, struct err *err);
int edit_uncomment(struct str text, const struct edit_comment *args, struct buf *out,
                   size_t *ret_found, struct err *err);

/* --- keys and values --------------------------------------------------------------------- */

struct edit_pair {
    struct str key, value;
};

struct edit_keyvalue {
    const struct edit_pair *pairs;
    size_t n;
    struct str separator; /* written as it is, found with any blanks around it */
    struct str uncomment; /* characters that may precede a key and are then removed; empty: none */
    size_t count;         /* lines of a key that are set; 0: all */
    bool append, prepend; /* a missing key is added; append wins */
    bool key_ignore_case, value_ignore_case;
};

struct edit_keyvalue_found {
    size_t changed; /* keys whose lines had to change, or that were added */
    size_t missing; /* keys that are missing and were not added */
};

int edit_keyvalue(struct str text, const struct edit_keyvalue *args, struct buf *out,
                  struct edit_keyvalue_found *ret_found, struct err *err);

/* --- a block between two markers ------------------------------------------------------------ */

struct edit_block {
    struct str start, end; /* whole lines */
    struct str content;
    bool append, prepend;                 /* a missing block is added; append wins */
    bool append_newline;                  /* an empty line after a block that was appended */
    const struct matcher *before, *after; /* add it beside the first line that matches; or NULL */
};

enum edit_block_found {
    EDIT_BLOCK_MISSING, /* missing, and not added */
    EDIT_BLOCK_ADDED,
    EDIT_BLOCK_REPLACED,
    EDIT_BLOCK_SAME,
};

/* Fails with ERR_INVALID when a start marker has no end. */
int edit_block(struct str text, const struct edit_block *args, struct buf *out,
               enum edit_block_found *ret_found, struct err *err);

/* For implementations of edits: -1 with ERR_LIMIT when `out` is full. */
int edit_finish(const struct buf *out, struct err *err);

#endif

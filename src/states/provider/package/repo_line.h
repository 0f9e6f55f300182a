/*
 * repo_line - one line of apt's list of sources, and files of such lines.
 *
 *     deb [arch=amd64 signed-by=/etc/apt/keyrings/x.gpg] https://example.org/debian bookworm main
 *
 * Two lines are the same source if type, URL and suite agree; options, components and whether it is
 * commented out may change. Editing leaves every other line alone. Nothing with a control character
 * is ever written.
 *
 * Memory: views of what was parsed. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_LINE_H
#define STATES_PROVIDER_PACKAGE_REPO_LINE_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;
struct err;

struct repo_line {
    bool disabled; /* commented out */
    struct str type, options, uri, suite, components;
};

bool repo_line_is(struct str text); /* begins like one */
int repo_line_parse(struct str text, struct repo_line *ret_line, struct err *err);
void repo_line_print(const struct repo_line *line, struct buf *out);
/* Fails when a part of it, or the comment, is not valid. */
int repo_line_check(const struct repo_line *line, const char *comment, struct err *err);
bool repo_line_is_same(const struct repo_line *a, const struct repo_line *b);
/* The same, where an empty part of the pattern matches anything. */
bool repo_line_matches(const struct repo_line *line, const struct repo_line *pattern);

/* `text` with the line replacing those of the same source, or appended. A new file begins with
 * `comment`, a line without its '#'. Fails when a part is not valid. */
int repo_line_set(struct str text, const struct repo_line *line, const char *comment,
                  struct buf *out, struct err *err);
/* `text` without the lines that match; returns how many there were. */
void repo_line_remove(struct str text, const struct repo_line *pattern, struct buf *out,
                      size_t *ret_count);
/* Nothing but comments and blanks. */
bool repo_line_is_empty(struct str text);

/* --- lines of repository files -------------------------------------------------------- */

/* Cut the next line of a text, the last one even without a newline; false at the end. */
bool repo_line_next(struct str *text, struct str *ret);
void repo_line_add(struct buf *out, struct str line);
/* Without control characters. */
bool repo_line_is_clean(struct str text);

/* --- lines that are words ---------------------------------------------------------- */

/* The same for files whose lines are compared in full, like those of apk. */
int repo_line_set_plain(struct str text, struct str line, bool disabled, struct buf *out,
                        struct err *err);
void repo_line_remove_plain(struct str text, struct str line, struct buf *out, size_t *ret_count);

#endif

/*
 * ini - options in sections, as in my.cnf, php.ini or smb.conf.
 *
 *     # options before the first header are outside of any section
 *     [section]
 *     key = value
 *         more of the value: a line that is indented deeper than its key
 *     key without a value
 *
 * A comment is a line that begins with '#' or ';'. Everything else stays byte for byte. If a
 * section or key occurs several times, the last one counts, as for readers of such files, and is
 * the one that changes.
 *
 * Each edit appends the edited text to `out`; editing an edited text changes nothing more. A
 * section that is a NULL view means outside of any section; a value that is one means none.
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_INI_H
#define CORE_EDIT_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

struct ini_format {
    struct str separator; /* between key and value; blanks: any blanks */
    bool tight;           /* no blanks around it in new lines */
};

enum ini_kind {
    INI_HEADER,
    INI_OPTION,
    INI_OTHER, /* a comment, an empty line */
};

/* A header, an option with all lines of its value, or a line of another kind. */
struct ini_item {
    enum ini_kind kind;
    struct str text;    /* its bytes, with the end of its last line */
    struct str section; /* the section it is in, or that the header begins */
    struct str key;
    struct str value; /* trimmed; of all its lines, as written */
};

/* Walks over the items of a text; starts as { .rest = text, .format = format }. */
struct ini_walk {
    struct str rest;
    const struct ini_format *format;
    struct str section;
};
bool ini_next(struct ini_walk *walk, struct ini_item *ret_item);

/* Can a file of this format hold this? No line ends, nothing that reads as a comment or header, no
 * separator in a key, no empty line in a value. Fails with ERR_INVALID. */
int ini_check_section(struct str section, struct err *err);
int ini_check_key(const struct ini_format *format, struct str key, struct err *err);
int ini_check_value(struct str value, struct err *err);

/* Does the value in the file mean `want`? Blanks around lines are ignored. */
bool ini_same_value(struct str have, struct str want);

/* The option in effect; false when there is none. */
bool ini_find(struct str text, const struct ini_format *format, struct str section, struct str key,
              struct ini_item *ret_item);
/* Set the option, in the spacing of its line; a new one comes after the last option of the section,
 * a new section at the end. */
void ini_set(struct str text, const struct ini_format *format, const struct ini_item *want,
             struct buf *out);
/* Remove every option with this key. */
void ini_remove(struct str text, const struct ini_format *format, struct str section,
                struct str key, struct buf *out);

bool ini_has_section(struct str text, const struct ini_format *format, struct str section);
void ini_add_section(struct str text, struct str section, struct buf *out);
/* Remove the section with its options and comments, except comments right above the next header and
 * set apart. */
void ini_remove_section(struct str text, const struct ini_format *format, struct str section,
                        struct buf *out);

#endif

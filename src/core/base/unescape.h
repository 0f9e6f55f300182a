/*
 * unescape - a text without its escapes, and the origin of each byte.
 *
 * For those who look for something in a text that somebody else has quoted or broken into lines: in
 * JSON, YAML, base64, a shell command, SQL, a URL or HTML. Each form is tried on its own; what is
 * not an escape in it stays as it is, so any text can be read in every form.
 *
 *     for each form: if (unescape(&u, form, text)) { look in u.text; u.spans[i] } -> unescape_done
 *
 * Memory: heap; the bytes are wiped at the end. Threads: any.
 */
#ifndef CORE_BASE_UNESCAPE_H
#define CORE_BASE_UNESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

enum unescape_form {
    UNESCAPE_CHARACTERS,  /* \" \\ \n \u00fc, and \xfc is a character: JSON, YAML */
    UNESCAPE_BYTES,       /* the same, and \xc3 and \303 are bytes: C, shells, systemd */
    UNESCAPE_APOSTROPHES, /* '' is ': YAML, SQL */
    UNESCAPE_QUOTES,      /* "" is ": CSV */
    UNESCAPE_SHELL,       /* '\'' and '"'"' are ' */
    UNESCAPE_URL,         /* %C3%BC */
    UNESCAPE_FORM,        /* the same, and + is a blank */
    UNESCAPE_ENTITIES,    /* &quot; &#34; &#x22;: HTML, XML */
    UNESCAPE_FOLDED,      /* a line end and an indent are a blank: YAML, also in a diff */
    UNESCAPE_WRAPPED,     /* a line end and an indent are nothing: base64 */
    UNESCAPE_DIFFERENCE,  /* the same in a diff, whose lines begin with + or - */
};
#define UNESCAPE_FORMS (UNESCAPE_DIFFERENCE + 1)

/* Where a byte came from. A line end that was left out belongs to no byte. */
struct unescape_span {
    size_t first, end;
};

struct unescaped {
    struct buf text;
    struct unescape_span *spans; /* of each byte of the text, in what was read */
    size_t room;
};

/* False when the text has no escape of this form: no unescape_done is needed then. */
bool unescape(struct unescaped *ret, enum unescape_form form, struct str text);
void unescape_done(struct unescaped *unescaped);

#endif

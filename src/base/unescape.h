/*
 * unescape - a text as it reads without its escapes, and where each byte of that came from.
 *
 * For those who look for something in a text that somebody else has quoted: in JSON, YAML, a shell
 * command, SQL, a URL or HTML. Each form is tried on its own; what is not an escape in it stays as
 * it is, so any text can be read in every form.
 *
 *     for each form: if (unescape(&u, form, text)) { look in u.text; u.from[i] } -> unescape_done
 *
 * Memory: heap; the bytes are wiped at the end. Threads: any.
 */
#ifndef BASE_UNESCAPE_H
#define BASE_UNESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum unescape_form {
    UNESCAPE_CHARACTERS,  /* \" \\ \n \u00fc, and \xfc is a character: JSON, YAML */
    UNESCAPE_BYTES,       /* the same, and \xc3 and \303 are bytes: C, shells, systemd */
    UNESCAPE_APOSTROPHES, /* '' is ': YAML, SQL */
    UNESCAPE_QUOTES,      /* "" is ": CSV */
    UNESCAPE_SHELL,       /* '\'' and '"'"' are ' */
    UNESCAPE_URL,         /* %C3%BC */
    UNESCAPE_FORM,        /* the same, and + is a blank */
    UNESCAPE_ENTITIES,    /* &quot; &#34; &#x22;: HTML, XML */
};
#define UNESCAPE_FORMS (UNESCAPE_ENTITIES + 1)

struct unescaped {
    struct buf text;
    size_t *from; /* text.n + 1 offsets into what was read */
    size_t room;
};

/* False when the text has no escape of this form: then there is nothing to end. */
bool unescape(struct unescaped *ret, enum unescape_form form, struct str text);
void unescape_done(struct unescaped *unescaped);

#endif

/*
 * redact - a line of input without its secrets, to show in a message.
 *
 * Mistakes are found before the input is decoded, so secret parameters are not known yet: the text
 * decides. After a key that names a password, secret, token, credential or private key, or after
 * the tag !secret or !encrypted (misspelt or not), the rest of the line is hidden, and so are the
 * other lines of such a value. The tag !secret_from hides nothing. A template expression as
 * the whole value ({{ x }}) is shown: it names the secret and does not hold it.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef CORE_BASE_REDACT_H
#define CORE_BASE_REDACT_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;

#define REDACTED "********"

/* The line of `text` that begins at `at`, in the arena; a NULL view when it is too long to show. */
struct str redact_line(struct arena *arena, struct str text, size_t at);
/* Is the byte at `at` in the hidden part of its line? */
bool redact_hides(struct str text, size_t at);

#endif

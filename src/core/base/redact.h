/*
 * redact - a line of input that can be shown in a message, without the secrets that it may hold.
 *
 * Where a mistake is found, nobody has decoded the input yet: which parameters are secret is not
 * known. So the text decides. What follows a key that names a password, secret, token, credential
 * or private key, or the tag !secret or !encrypted, misspelt or not, is hidden up to the end of the
 * line, and so is a line that is part of such a value. The tag !secret_from hides nothing. A
 * template expression
 * ({{ ... }}) as the whole value is shown: it names the secret and does not hold it.
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
/* Is the byte at `at` in what is hidden of its line? */
bool redact_hides(struct str text, size_t at);

#endif

#include "commands/cli/shared/keys.h"

#include <string.h>

#include "core/base/mem.h"

/* After Escape and a bracket or O. */
static const struct {
    const char *rest;
    int key;
} sequences[] = {
    { "[A", KEY_UP },       { "[B", KEY_DOWN },       { "OA", KEY_UP },    { "OB", KEY_DOWN },
    { "[5~", KEY_PAGE_UP }, { "[6~", KEY_PAGE_DOWN }, { "[H", KEY_HOME },  { "[F", KEY_END },
    { "OH", KEY_HOME },     { "OF", KEY_END },        { "[1~", KEY_HOME }, { "[4~", KEY_END },
};

/* The length of a sequence that begins here: up to a byte from @ to ~. */
static size_t sequence_length(struct str bytes)
{
    size_t n = 2;

    while (n < bytes.n && (bytes.p[n] < '@' || bytes.p[n] > '~'))
        n++;
    return n < bytes.n ? n + 1 : bytes.n;
}

int key_next(struct str *bytes)
{
    int first;

    if (bytes->n == 0)
        return KEY_NONE;
    first = (unsigned char)bytes->p[0];
    *bytes = str_from_offset(*bytes, 1);
    if (first != 0x1b)
        return first;
    if (bytes->n == 0 || (bytes->p[0] != '[' && bytes->p[0] != 'O'))
        return KEY_ESCAPE;
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++)
        if (str_starts(*bytes, str_from(sequences[i].rest))) {
            *bytes = str_from_offset(*bytes, strlen(sequences[i].rest));
            return sequences[i].key;
        }
    *bytes =
        str_from_offset(*bytes, sequence_length((struct str){ bytes->p - 1, bytes->n + 1 }) - 1);
    return KEY_OTHER;
}

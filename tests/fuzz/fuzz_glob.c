/* The matcher and the plain definition of a glob agree. Input: pattern, NUL, text. */
#include <assert.h>
#include <stdint.h>

#include "base/glob.h"
#include "base/utf8.h"

/* The definition below tries everything: only short inputs are compared. */
#define COMPARED_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str first_char(struct str text)
{
    return str_slice(text, 0, utf8_length_at(text));
}

static struct str rest_of(struct str text)
{
    return str_from_offset(text, utf8_length_at(text));
}

/* A character as a number; bytes that are none lie behind Unicode. */
static uint32_t number_of(struct str c)
{
    struct str copy = c;

    if (c.n == 1)
        return (unsigned char)c.p[0] < 0x80 ? (unsigned char)c.p[0]
                                            : 0x110000U + (unsigned char)c.p[0];
    return utf8_next(&copy);
}

/* Where the set that begins at a '[' ends, or 0. */
static size_t set_end(struct str pattern)
{
    size_t at = 1;

    if (at < pattern.n && pattern.p[at] == '!')
        at++;
    if (at < pattern.n && pattern.p[at] == ']')
        at++;
    while (at < pattern.n && pattern.p[at] != ']')
        at++;
    return at < pattern.n ? at : 0;
}

static bool in_set(struct str set, uint32_t c)
{
    if (set.n == 0)
        return false;

    struct str low = first_char(set), rest = rest_of(set);

    if (rest.n >= 2 && rest.p[0] == '-') {
        struct str high = first_char(str_from_offset(rest, 1));

        if (number_of(low) <= c && c <= number_of(high))
            return true;
        return in_set(str_from_offset(rest, 1 + high.n), c);
    }
    return number_of(low) == c || in_set(rest, c);
}

static bool naive(struct str pattern, struct str text)
{
    size_t end;

    if (pattern.n == 0)
        return text.n == 0;
    if (pattern.p[0] == '*')
        return naive(str_from_offset(pattern, 1), text) ||
               (text.n > 0 && naive(pattern, rest_of(text)));
    if (text.n == 0)
        return false;
    if (pattern.p[0] == '?')
        return naive(str_from_offset(pattern, 1), rest_of(text));
    end = pattern.p[0] == '[' ? set_end(pattern) : 0;
    if (end > 0) {
        bool negated = pattern.p[1] == '!';
        struct str set = str_slice(pattern, 1 + negated, end - 1 - negated);

        return in_set(set, number_of(first_char(text))) != negated &&
               naive(str_from_offset(pattern, end + 1), rest_of(text));
    }
    return str_eq(first_char(pattern), first_char(text)) && naive(rest_of(pattern), rest_of(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_bytes(data, size);
    struct str pattern = str_cut(&text, '\0');
    bool match = glob_match(pattern, text);

    if (pattern.n <= COMPARED_MAX && text.n <= COMPARED_MAX)
        assert(match == naive(pattern, text));
    if (glob_is_plain(pattern))
        assert(match == str_eq(pattern, text));
    return 0;
}

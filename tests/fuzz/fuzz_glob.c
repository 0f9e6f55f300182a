/* The matcher and the plain definition of a glob agree, with all flags. Input: pattern, NUL, text.
 */
#include <assert.h>
#include <stdint.h>

#include "core/base/glob.h"
#include "core/base/utf8.h"

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

static unsigned flags;
static const char *pattern_begin;

/* A character as a number; bytes that are not one come after Unicode. */
static uint32_t number_of(struct str c)
{
    struct str copy = c;
    unsigned char first = (unsigned char)c.p[0];

    if (c.n == 1 && (flags & GLOB_FOLD) && first >= 'A' && first <= 'Z')
        return first + 32U;
    if (c.n == 1)
        return first < 0x80 ? first : 0x110000U + first;
    return utf8_next(&copy);
}

static bool is_not(struct str pattern)
{
    return pattern.n > 1 && (pattern.p[1] == '!' || (pattern.p[1] == '^' && (flags & GLOB_CARET)));
}

/* Where the set that begins at a '[' ends, or 0. */
static size_t set_end(struct str pattern)
{
    size_t at = 1;

    if (is_not(pattern))
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

static bool naive(struct str pattern, struct str text);

/* Two stars or more over paths. */
static bool naive_deep(struct str pattern, struct str text)
{
    bool at_part = pattern.p == pattern_begin || pattern.p[-1] == '/';
    size_t n = 0;

    while (n < pattern.n && pattern.p[n] == '*')
        n++;
    if (!at_part || n == pattern.n || pattern.p[n] != '/')
        return naive(str_from_offset(pattern, n), text) ||
               (text.n > 0 && naive_deep(pattern, rest_of(text)));
    if (naive(str_from_offset(pattern, n + 1), text))
        return true;
    for (size_t at = 0; at < text.n; at++)
        if (text.p[at] == '/' &&
            naive(str_from_offset(pattern, n + 1), str_from_offset(text, at + 1)))
            return true;
    return false;
}

static bool naive(struct str pattern, struct str text)
{
    bool path = flags & GLOB_PATH, slash = path && text.n > 0 && text.p[0] == '/';
    size_t end;

    if (pattern.n == 0)
        return text.n == 0;
    if (path && str_starts(pattern, STR("**")))
        return naive_deep(pattern, text);
    if (pattern.p[0] == '*')
        return naive(str_from_offset(pattern, 1), text) ||
               (text.n > 0 && !slash && naive(pattern, rest_of(text)));
    if (text.n == 0)
        return false;
    if (pattern.p[0] == '?')
        return !slash && naive(str_from_offset(pattern, 1), rest_of(text));
    if (pattern.p[0] == '\\' && pattern.n > 1 && (flags & GLOB_ESCAPE)) {
        pattern = str_from_offset(pattern, 1);
        return number_of(first_char(pattern)) == number_of(first_char(text)) &&
               naive(rest_of(pattern), rest_of(text));
    }
    end = pattern.p[0] == '[' ? set_end(pattern) : 0;
    if (end > 0) {
        bool negated = is_not(pattern);
        struct str set = str_slice(pattern, 1 + negated, end - 1 - negated);

        return !slash && in_set(set, number_of(first_char(text))) != negated &&
               naive(str_from_offset(pattern, end + 1), rest_of(text));
    }
    return number_of(first_char(pattern)) == number_of(first_char(text)) &&
           naive(rest_of(pattern), rest_of(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_bytes(data, size);
    struct str pattern = str_cut(&text, '\0');

    pattern_begin = pattern.p;
    for (flags = 0; flags < 2 * GLOB_PATH; flags++) {
        bool match = glob_match_with(pattern, text, flags);

        if (pattern.n <= COMPARED_MAX && text.n <= COMPARED_MAX)
            assert(match == naive(pattern, text));
        if (glob_is_plain(pattern) && !(flags & (GLOB_FOLD | GLOB_ESCAPE)))
            assert(match == str_eq(pattern, text));
    }
    return 0;
}

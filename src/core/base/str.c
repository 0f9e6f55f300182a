#include "core/base/str.h"

#include <limits.h>
#include <string.h>

int str_int(size_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

bool str_eq_text(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

int str_compare(struct str a, struct str b)
{
    size_t shared = a.n < b.n ? a.n : b.n;
    int order = shared > 0 ? memcmp(a.p, b.p, shared) : 0;

    if (order != 0)
        return order;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool str_starts(struct str text, struct str prefix)
{
    return text.n >= prefix.n && str_eq(str_slice(text, 0, prefix.n), prefix);
}

bool str_ends(struct str text, struct str suffix)
{
    return text.n >= suffix.n && str_eq(str_from_offset(text, text.n - suffix.n), suffix);
}

size_t str_find(struct str text, struct str part, size_t from)
{
    const char *hit;

    if (from > text.n)
        return STR_NONE;
    if (part.n == 0)
        return from;
    if (!text.p)
        return STR_NONE;
    hit = memmem(text.p + from, text.n - from, part.p, part.n);
    return hit ? (size_t)(hit - text.p) : STR_NONE;
}

size_t str_find_char(struct str text, char c, size_t from)
{
    const char *hit;

    if (from >= text.n)
        return STR_NONE;
    hit = memchr(text.p + from, c, text.n - from);
    return hit ? (size_t)(hit - text.p) : STR_NONE;
}

static bool is_str_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim_left(struct str text)
{
    size_t at = 0;

    while (at < text.n && is_str_blank(text.p[at]))
        at++;
    return str_from_offset(text, at);
}

struct str str_trim_right(struct str text)
{
    while (text.n > 0 && is_str_blank(text.p[text.n - 1]))
        text.n--;
    return text;
}

struct str str_trim(struct str text)
{
    return str_trim_left(str_trim_right(text));
}

struct str str_cut(struct str *rest, char separator)
{
    struct str all = *rest;
    size_t at = str_find_char(all, separator, 0);

    if (at == STR_NONE) {
        *rest = (struct str){ NULL, 0 };
        return all;
    }
    *rest = str_from_offset(all, at + 1);
    return str_slice(all, 0, at);
}

struct str str_line_at(struct str text, size_t at)
{
    size_t start, end;

    if (at > text.n)
        at = text.n;
    start = at;
    while (start > 0 && text.p[start - 1] != '\n')
        start--;
    end = str_find_char(text, '\n', at);
    if (end == STR_NONE)
        end = text.n;
    if (end > start && text.p[end - 1] == '\r')
        end--;
    return str_slice(text, start, end - start);
}

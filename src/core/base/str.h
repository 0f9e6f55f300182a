/*
 * str - a view of text: its start and its length.
 *
 * A view borrows; it may hold any bytes and need not end in NUL. Texts that go
 * to libc are `const char *`; everything cut from input is a view.
 */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* A view of a literal, and one of a C string. */
#define STR(literal) ((struct str){ "" literal "", sizeof(literal) - 1 })
static inline struct str str_from(const char *text)
{
    return (struct str){ text, strlen(text) };
}
/* A view of bytes of any type. */
static inline struct str str_bytes(const void *bytes, size_t n)
{
    return (struct str){ (const char *)bytes, n };
}

/* For printf: "%.*s", STR_ARG(view). Long views are cut at INT_MAX. */
#define STR_ARG(view) str_int((view).n), (view).p
int str_int(size_t n);

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
bool str_eq_text(struct str a, const char *text);
/* Tables of words are searched with this, so most comparisons fail, and do so at the first byte. */
static inline bool str_is(struct str a, const char *text)
{
    return (a.n > 0 ? a.p[0] : '\0') == text[0] && str_eq_text(a, text);
}
/* Byte order; a prefix comes first. */
int str_compare(struct str a, struct str b);
bool str_starts(struct str text, struct str prefix);
bool str_ends(struct str text, struct str suffix);

/* From `at` on, `n` bytes at most; never beyond the end. */
static inline struct str str_slice(struct str text, size_t at, size_t n)
{
    if (text.n == 0)
        return text; /* it may be NULL */
    if (at > text.n)
        at = text.n;
    if (n > text.n - at)
        n = text.n - at;
    return (struct str){ text.p + at, n };
}
static inline struct str str_from_offset(struct str text, size_t at)
{
    return str_slice(text, at, text.n);
}

#define STR_NONE ((size_t)-1)
/* Where `part` begins at or after `from`, or STR_NONE. */
size_t str_find(struct str text, struct str part, size_t from);
size_t str_find_char(struct str text, char c, size_t from);

/* Without blanks (space, \t, \n, \v, \f, \r) at both ends, or at one. */
struct str str_trim(struct str text);
struct str str_trim_left(struct str text);
struct str str_trim_right(struct str text);

/* Cut at the first `separator`: returns what is before it and moves `rest` past it. When there is
 * none, returns all and leaves `rest` with a NULL pointer, which ends a loop over fields. */
struct str str_cut(struct str *rest, char separator);

/* The line that holds byte `at`, without its line end. */
struct str str_line_at(struct str text, size_t at);

#endif

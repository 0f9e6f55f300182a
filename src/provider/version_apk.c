/* Versions of Alpine packages: 1.2.3b_rc1_p2-r4. */
#include "provider/version.h"

#include <ctype.h>
#include <stddef.h>

#include "base/mem.h"

/* In order; the empty one is a version without a suffix. */
static const char *const suffixes[] = { "alpha", "beta", "pre", "rc", "",
                                        "cvs",   "svn",  "git", "hg", "p" };
#define PLAIN 4

/* What a version is made of, one after the other. Later kinds are older, as "1.2" is older than
 * "1.2.3"; a suffix tells by itself. */
enum token { TOKEN_NUMBER, TOKEN_LETTER, TOKEN_SUFFIX, TOKEN_REVISION, TOKEN_END, TOKEN_OTHER };

struct part {
    enum token token;
    struct str text;
    int suffix;
};

static struct str cut_digits(struct str *rest)
{
    size_t n = 0;
    struct str digits;

    while (n < rest->n && isdigit((unsigned char)rest->p[n]))
        n++;
    digits = str_slice(*rest, 0, n);
    *rest = str_from_offset(*rest, n);
    return digits;
}

static struct part cut_suffix(struct str *rest)
{
    struct part part = { .token = TOKEN_OTHER, .text = *rest };
    size_t n = 1;

    while (n < rest->n && isalpha((unsigned char)rest->p[n]))
        n++;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (n > 1 && str_is(str_slice(*rest, 1, n - 1), suffixes[i])) {
            part.token = TOKEN_SUFFIX;
            part.suffix = (int)i;
        }
    *rest = str_from_offset(*rest, part.token == TOKEN_SUFFIX ? n : rest->n);
    if (part.token == TOKEN_SUFFIX)
        part.text = cut_digits(rest);
    return part;
}

static struct part next(struct str *rest, bool *first)
{
    struct part part = { .token = TOKEN_END, .suffix = PLAIN };
    const bool begins = *first;

    *first = false;
    if (rest->n == 0)
        return part;
    if (begins || (rest->p[0] == '.' && rest->n > 1 && isdigit((unsigned char)rest->p[1]))) {
        *rest = str_from_offset(*rest, begins ? 0 : 1);
        part.token = TOKEN_NUMBER;
        part.text = cut_digits(rest);
    } else if (islower((unsigned char)rest->p[0])) {
        part.token = TOKEN_LETTER;
        part.text = str_slice(*rest, 0, 1);
        *rest = str_from_offset(*rest, 1);
    } else if (rest->p[0] == '_') {
        return cut_suffix(rest);
    } else if (str_starts(*rest, STR("-r"))) {
        *rest = str_from_offset(*rest, 2);
        part.token = TOKEN_REVISION;
        part.text = cut_digits(rest);
    } else {
        part.token = TOKEN_OTHER;
        part.text = *rest;
        *rest = (struct str){ "", 0 };
    }
    return part;
}

static int compare_number(struct str a, struct str b)
{
    while (a.n > 0 && a.p[0] == '0')
        a = str_from_offset(a, 1);
    while (b.n > 0 && b.p[0] == '0')
        b = str_from_offset(b, 1);
    if (a.n != b.n)
        return a.n > b.n ? 1 : -1;
    return str_compare(a, b);
}

/* A part behind the first that begins with a zero is a fraction: 1.05 is older than 1.1. */
static int compare_like(const struct part *a, const struct part *b, bool first)
{
    bool fraction =
        a->token == TOKEN_NUMBER && !first &&
        ((a->text.n > 0 && a->text.p[0] == '0') || (b->text.n > 0 && b->text.p[0] == '0'));

    if (a->token == TOKEN_SUFFIX && a->suffix != b->suffix)
        return a->suffix - b->suffix;
    if (fraction || a->token == TOKEN_LETTER || a->token == TOKEN_OTHER)
        return str_compare(a->text, b->text);
    return compare_number(a->text, b->text);
}

/* One side is at something that the other is not at. */
static int compare_kinds(const struct part *a, const struct part *b)
{
    int x = a->token == TOKEN_SUFFIX ? a->suffix : PLAIN;
    int y = b->token == TOKEN_SUFFIX ? b->suffix : PLAIN;

    if (x < PLAIN || y < PLAIN)
        return x - y;
    return a->token < b->token ? 1 : -1;
}

int version_compare_apk(struct str a, struct str b)
{
    bool first = true;

    a = str_trim(a);
    b = str_trim(b);
    for (;;) {
        bool begins = first, other = first;
        const struct part x = next(&a, &first), y = next(&b, &other);
        int order;

        if (x.token != y.token)
            return compare_kinds(&x, &y);
        if (x.token == TOKEN_END)
            return 0;
        order = compare_like(&x, &y, begins);
        if (order != 0)
            return order;
    }
}

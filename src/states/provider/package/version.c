#include "states/provider/package/version.h"

#include <ctype.h>

static bool starts_with_char(struct str s, char c)
{
    return s.n > 0 && s.p[0] == c;
}

/* Cut the run of digits, or of letters, at the front. */
static struct str cut_segment(struct str *rest, bool digits)
{
    size_t n = 0;
    struct str segment;

    while (n < rest->n &&
           (digits ? isdigit((unsigned char)rest->p[n]) : isalpha((unsigned char)rest->p[n])))
        n++;
    segment = str_slice(*rest, 0, n);
    *rest = str_from_offset(*rest, n);
    return segment;
}

/* Ignore leading zeros. */
int version_compare_digits(struct str a, struct str b)
{
    while (starts_with_char(a, '0'))
        a = str_from_offset(a, 1);
    while (starts_with_char(b, '0'))
        b = str_from_offset(b, 1);
    if (a.n != b.n)
        return a.n > b.n ? 1 : -1;
    return str_compare(a, b);
}

/* The segments at the front of both, which begin with a letter or a digit. A number is newer than
 * letters. */
int version_compare_segment(struct str *a, struct str *b)
{
    bool digits = isdigit((unsigned char)a->p[0]);
    struct str x = cut_segment(a, digits), y = cut_segment(b, digits);

    if (y.n == 0)
        return digits ? 1 : -1;
    return digits ? version_compare_digits(x, y) : str_compare(x, y);
}

/* --- whole versions --------------------------------------------------------------------------- */

struct parts {
    struct str epoch, version, release;
};

static struct parts split_parts(struct str text)
{
    size_t colon = str_find_char(text, ':', 0), dash;
    struct parts parts = { { "0", 1 }, text, { NULL, 0 } };

    if (colon != STR_NONE) {
        if (colon > 0)
            parts.epoch = str_slice(text, 0, colon);
        parts.version = str_from_offset(text, colon + 1);
    }
    for (dash = parts.version.n; dash > 0 && parts.version.p[dash - 1] != '-';)
        dash--;
    if (dash > 0) {
        parts.release = str_from_offset(parts.version, dash);
        parts.version = str_slice(parts.version, 0, dash - 1);
    }
    return parts;
}

int version_compare_parts(struct str a, struct str b, version_compare_fn part,
                          enum version_missing missing)
{
    const struct parts x = split_parts(str_trim(a)), y = split_parts(str_trim(b));
    int order = part(x.epoch, y.epoch);

    if (order == 0)
        order = part(x.version, y.version);
    if (order != 0 || (missing == VERSION_MISSING_IS_ANY && (!x.release.p || !y.release.p)))
        return order;
    return part(x.release, y.release);
}

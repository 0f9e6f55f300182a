/* Versions of Debian packages. */
#include "provider/version.h"

#include <ctype.h>

static bool is_digit(struct str s, size_t at)
{
    return at < s.n && isdigit((unsigned char)s.p[at]);
}

/* A tilde sorts before the end, letters before everything else. A digit and the end are equal: both
 * end the part that is no number. */
static int weight(struct str s, size_t at)
{
    int c = at < s.n ? (unsigned char)s.p[at] : 0;

    if (c == 0 || isdigit(c))
        return 0;
    if (c == '~')
        return -1;
    return isalpha(c) ? c : c + 256;
}

/* Compare the number that begins at both places; any length, zeros in front do not count. */
static int compare_number(struct str a, size_t *i, struct str b, size_t *j)
{
    int first = 0;

    while (*i < a.n && a.p[*i] == '0')
        (*i)++;
    while (*j < b.n && b.p[*j] == '0')
        (*j)++;
    while (is_digit(a, *i) && is_digit(b, *j)) {
        if (first == 0)
            first = a.p[*i] - b.p[*j];
        (*i)++;
        (*j)++;
    }
    if (is_digit(a, *i))
        return 1;
    if (is_digit(b, *j))
        return -1;
    return first;
}

static int compare_part(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    while (i < a.n || j < b.n) {
        int order;

        while ((i < a.n && !is_digit(a, i)) || (j < b.n && !is_digit(b, j))) {
            order = weight(a, i) - weight(b, j);
            if (order != 0)
                return order;
            i++;
            j++;
        }
        order = compare_number(a, &i, b, &j);
        if (order != 0)
            return order;
    }
    return 0;
}

struct parts {
    struct str epoch, upstream, revision;
};

static struct parts split(struct str text)
{
    size_t colon = str_find_char(text, ':', 0), dash;
    struct parts parts = { { "", 0 }, text, { "", 0 } };

    if (colon != STR_NONE) {
        parts.epoch = str_slice(text, 0, colon);
        parts.upstream = str_from_offset(text, colon + 1);
    }
    for (dash = parts.upstream.n; dash > 0 && parts.upstream.p[dash - 1] != '-';)
        dash--;
    if (dash > 0) {
        parts.revision = str_from_offset(parts.upstream, dash);
        parts.upstream = str_slice(parts.upstream, 0, dash - 1);
    }
    return parts;
}

int version_compare_deb(struct str a, struct str b)
{
    const struct parts x = split(str_trim(a)), y = split(str_trim(b));
    int order = compare_part(x.epoch, y.epoch);

    if (order == 0)
        order = compare_part(x.upstream, y.upstream);
    return order != 0 ? order : compare_part(x.revision, y.revision);
}

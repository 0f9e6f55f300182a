/* Versions of RPM and Arch packages: segments of digits or letters, whatever is between them. */
#include "provider/version.h"

#include <ctype.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c);
}

static bool at(struct str s, char c)
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

/* Numbers of any length. */
static int compare_digits(struct str a, struct str b)
{
    while (at(a, '0'))
        a = str_from_offset(a, 1);
    while (at(b, '0'))
        b = str_from_offset(b, 1);
    if (a.n != b.n)
        return a.n > b.n ? 1 : -1;
    return str_compare(a, b);
}

/* The segments at the front of both, which begin with a letter or a digit. A number is newer than
 * letters. */
static int compare_segment(struct str *a, struct str *b)
{
    bool digits = isdigit((unsigned char)a->p[0]);
    struct str x = cut_segment(a, digits), y = cut_segment(b, digits);

    if (y.n == 0)
        return digits ? 1 : -1;
    return digits ? compare_digits(x, y) : str_compare(x, y);
}

/* --- rpm ---------------------------------------------------------------------------------- */

static void skip_separators(struct str *s)
{
    while (s->n > 0 && !is_word(s->p[0]) && s->p[0] != '~' && s->p[0] != '^')
        *s = str_from_offset(*s, 1);
}

/* '~' is older than the end, '^' newer than the end and older than anything else. True: told. */
static bool compare_marks(struct str *a, struct str *b, int *ret)
{
    if (at(*a, '~') || at(*b, '~')) {
        *ret = at(*a, '~') && at(*b, '~') ? 0 : at(*a, '~') ? -1 : 1;
    } else if (at(*a, '^') || at(*b, '^')) {
        if (a->n == 0 || b->n == 0)
            *ret = a->n == 0 ? -1 : 1;
        else
            *ret = at(*a, '^') && at(*b, '^') ? 0 : at(*a, '^') ? -1 : 1;
    } else {
        return false;
    }
    if (*ret != 0)
        return true;
    *a = str_from_offset(*a, 1);
    *b = str_from_offset(*b, 1);
    return true;
}

static int compare_rpm_part(struct str a, struct str b)
{
    while (a.n > 0 || b.n > 0) {
        int order = 0;

        skip_separators(&a);
        skip_separators(&b);
        if (!compare_marks(&a, &b, &order)) {
            if (a.n == 0 || b.n == 0)
                break;
            order = compare_segment(&a, &b);
        }
        if (order != 0)
            return order;
    }
    return a.n > 0 ? 1 : b.n > 0 ? -1 : 0;
}

/* --- pacman ------------------------------------------------------------------------------- */

static size_t skip_dots(struct str *s)
{
    size_t n = 0;

    while (n < s->n && !is_word(s->p[n]))
        n++;
    *s = str_from_offset(*s, n);
    return n;
}

/* What is left of one side when the other has ended: letters are older than nothing, unless they
 * stand behind a separator, as "1.0.a" does. */
static int compare_rest(struct str rest, size_t separators)
{
    if (rest.n == 0)
        return 0;
    return isalpha((unsigned char)rest.p[0]) && separators == 0 ? -1 : 1;
}

static int compare_pacman_part(struct str a, struct str b)
{
    size_t x = 0, y = 0;

    while (a.n > 0 && b.n > 0) {
        int order;

        x = skip_dots(&a);
        y = skip_dots(&b);
        if (a.n == 0 || b.n == 0)
            break;
        if (x != y)
            return x < y ? -1 : 1;
        order = compare_segment(&a, &b);
        if (order != 0)
            return order;
        x = y = 0;
    }
    if (a.n > 0 && x == 0)
        x = skip_dots(&a);
    if (b.n > 0 && y == 0)
        y = skip_dots(&b);
    return a.n > 0 ? compare_rest(a, x) : -compare_rest(b, y);
}

/* --- whole versions ------------------------------------------------------------------------ */

struct parts {
    struct str epoch, version, release;
};

static struct parts split(struct str text)
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

static int compare(struct str a, struct str b, version_compare_fn part)
{
    const struct parts x = split(str_trim(a)), y = split(str_trim(b));
    int order = part(x.epoch, y.epoch);

    if (order == 0)
        order = part(x.version, y.version);
    if (order != 0 || !x.release.p || !y.release.p)
        return order;
    return part(x.release, y.release);
}

int version_compare_rpm(struct str a, struct str b)
{
    return compare(a, b, compare_rpm_part);
}

int version_compare_pacman(struct str a, struct str b)
{
    return compare(a, b, compare_pacman_part);
}

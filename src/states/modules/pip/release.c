#include "states/modules/pip/release.h"

#include <ctype.h>

#include "core/base/buf.h"

/* The rest of the input. */
static bool is_release_digit(struct str text)
{
    return text.n > 0 && isdigit((unsigned char)text.p[0]);
}

static bool is_separator(struct str text)
{
    return text.n > 0 && (text.p[0] == '.' || text.p[0] == '-' || text.p[0] == '_');
}

static struct str skip_text(struct str text, size_t n)
{
    return str_from_offset(text, n);
}

/* Digits without leading zeros; "0" when there are none. */
static void take_release_number(struct str *rest, struct buf *out)
{
    size_t n = 0;

    while (n + 1 < rest->n && rest->p[n] == '0' && isdigit((unsigned char)rest->p[n + 1]))
        n++;
    *rest = skip_text(*rest, n);
    n = 0;
    while (n < rest->n && isdigit((unsigned char)rest->p[n]))
        n++;
    buf_add_str(out, n > 0 ? str_slice(*rest, 0, n) : STR("0"));
    *rest = skip_text(*rest, n);
}

static bool take_release_word(struct str *rest, const char *word)
{
    const size_t n = str_from(word).n;

    for (size_t i = 0; i < n; i++)
        if (i >= rest->n || tolower((unsigned char)rest->p[i]) != word[i])
            return false;
    *rest = skip_text(*rest, n);
    return true;
}

/* Synonyms, longer ones first. */
static const struct {
    const char *word, *canonical;
} phases[] = {
    { "alpha", "a" },    { "a", "a" },       { "beta", "b" },  { "b", "b" },
    { "preview", "rc" }, { "pre", "rc" },    { "rc", "rc" },   { "c", "rc" },
    { "post", ".post" }, { "rev", ".post" }, { "r", ".post" }, { "dev", ".dev" },
};

/* ".post1", "-alpha_2", "rc", and "-1" for a post release. */
static bool take_phase(struct str *rest, struct buf *out)
{
    struct str text = is_separator(*rest) ? skip_text(*rest, 1) : *rest;

    if (rest->n > 0 && rest->p[0] == '-' && is_release_digit(text)) {
        buf_add_text(out, ".post");
        take_release_number(&text, out);
        *rest = text;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(phases); i++)
        if (take_release_word(&text, phases[i].word)) {
            buf_add_text(out, phases[i].canonical);
            if (is_separator(text) && is_release_digit(skip_text(text, 1)))
                text = skip_text(text, 1);
            take_release_number(&text, out);
            *rest = text;
            return true;
        }
    return false;
}

/* "1!" is epoch 1; without, it is 0. */
static void take_epoch(struct str *rest, struct buf *out)
{
    size_t n = 0;

    while (is_release_digit(skip_text(*rest, n)))
        n++;
    if (n > 0 && n < rest->n && rest->p[n] == '!') {
        take_release_number(rest, out);
        *rest = skip_text(*rest, 1);
    } else {
        buf_add_char(out, '0');
    }
    buf_add_char(out, '!');
}

/* "2.0.10", without trailing zeros. */
static bool take_numbers(struct str *rest, struct buf *out)
{
    size_t kept;

    if (!is_release_digit(*rest))
        return false;
    take_release_number(rest, out);
    kept = out->n;
    while (rest->n > 1 && rest->p[0] == '.' && is_release_digit(skip_text(*rest, 1))) {
        const size_t start = out->n;

        *rest = skip_text(*rest, 1);
        buf_add_char(out, '.');
        take_release_number(rest, out);
        if (!str_is(skip_text(buf_view(out), start), ".0"))
            kept = out->n;
    }
    buf_cut(out, kept);
    return true;
}

/* Normalise the public part; `rest` is then the local part, with its '+'. */
static bool normalize_public(struct str *rest, struct buf *out)
{
    (void)take_release_word(rest, "v");
    take_epoch(rest, out);
    if (!take_numbers(rest, out))
        return false;
    while (take_phase(rest, out))
        ;
    return rest->n == 0 || rest->p[0] == '+';
}

/* "+ubuntu-1" and "+Ubuntu.01" are equal. */
static bool is_same_local(struct str a, struct str b)
{
    AUTO_BUF struct buf left = BUF_INIT(BUF_NO_LIMIT), right = BUF_INIT(BUF_NO_LIMIT);
    struct buf *const out[] = { &left, &right };
    struct str rest[] = { a, b };

    for (size_t i = 0; i < 2; i++)
        while (rest[i].n > 0)
            if (is_release_digit(rest[i])) {
                take_release_number(&rest[i], out[i]);
            } else {
                buf_add_char(out[i], is_separator(rest[i])
                                         ? '.'
                                         : (char)tolower((unsigned char)rest[i].p[0]));
                rest[i] = skip_text(rest[i], 1);
            }
    return str_eq(buf_view(&left), buf_view(&right));
}

bool release_matches(struct str have, struct str wanted)
{
    AUTO_BUF struct buf left = BUF_INIT(BUF_NO_LIMIT), right = BUF_INIT(BUF_NO_LIMIT);
    struct str mine = str_trim(have), theirs = str_trim(wanted);

    if (str_eq(mine, theirs))
        return true;
    if (!normalize_public(&mine, &left) || !normalize_public(&theirs, &right) ||
        !str_eq(buf_view(&left), buf_view(&right)))
        return false;
    return theirs.n == 0 || is_same_local(mine, theirs);
}

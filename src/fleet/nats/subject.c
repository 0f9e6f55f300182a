#include "fleet/nats/subject.h"

#include <string.h>

/* Bytes that end or spoil a token: control characters, the blank, DEL. */
static bool is_bad(unsigned char c)
{
    return c <= ' ' || c == 0x7f;
}

static bool is_wildcard(struct str token)
{
    return token.n == 1 && (token.p[0] == '*' || token.p[0] == '>');
}

static bool check_tokens(struct str subject, bool wildcards)
{
    struct str rest = subject;

    if (subject.n == 0 || subject.n > NATS_SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < subject.n; i++)
        if (is_bad((unsigned char)subject.p[i]))
            return false;
    while (rest.p) {
        struct str token = str_cut(&rest, '.');

        if (token.n == 0 || (is_wildcard(token) && !wildcards))
            return false;
        if (token.n == 1 && token.p[0] == '>' && rest.p)
            return false;
    }
    return true;
}

/* Called for each message: one pass, no cutting. What is neither a dot nor a wildcard nor bad needs
 * no second look. */
bool nats_subject_is_plain(struct str subject)
{
    bool begins = true; /* a token */

    if (subject.n == 0 || subject.n > NATS_SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < subject.n; i++) {
        const unsigned char c = (unsigned char)subject.p[i];

        if (c > '>' && c != 0x7f) {
            begins = false;
            continue;
        }
        if (is_bad(c) || (c == '.' && begins) ||
            ((c == '*' || c == '>') && begins && (i + 1 == subject.n || subject.p[i + 1] == '.')))
            return false;
        begins = c == '.';
    }
    return !begins;
}

bool nats_subject_is_pattern(struct str subject)
{
    return check_tokens(subject, true);
}

bool nats_subject_is_token(struct str token)
{
    return check_tokens(token, false) && str_find_char(token, '.', 0) == STR_NONE;
}

bool nats_subject_match(struct str pattern, struct str subject)
{
    while (pattern.p && subject.p) {
        struct str want = str_cut(&pattern, '.'), have = str_cut(&subject, '.');

        if (want.n == 1 && want.p[0] == '>')
            return true;
        if (!(want.n == 1 && want.p[0] == '*') && !str_eq(want, have))
            return false;
    }
    return !pattern.p && !subject.p;
}

struct str nats_subject_token(struct str subject, size_t number)
{
    struct str token = { NULL, 0 };

    for (size_t i = 0; i <= number; i++) {
        if (!subject.p)
            return (struct str){ NULL, 0 };
        token = str_cut(&subject, '.');
    }
    return token;
}

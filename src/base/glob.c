#include "base/glob.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Bytes that are no UTF-8 become numbers behind Unicode, each its own, so that they equal only
 * themselves. */
#define BYTE_BASE 0x110000U

static uint32_t next_char(struct str *text)
{
    unsigned char first = (unsigned char)text->p[0];
    bool lone = first >= 0x80 && utf8_length_at(*text) == 1;
    uint32_t c = utf8_next(text);

    return lone ? BYTE_BASE + first : c;
}

/* The members of the set that begins behind a '[': `set` moves behind its ']'. False when nothing
 * closes it, which `last_close`, the last ']' of the pattern, tells without a search. */
static bool cut_set(struct str *set, const char *last_close, bool *ret_negated,
                    struct str *ret_members)
{
    bool negated = set->n > 0 && set->p[0] == '!';
    size_t first = negated ? 1 : 0;
    size_t from = first < set->n && set->p[first] == ']' ? first + 1 : first;
    size_t close;

    if (!last_close || last_close < set->p + from)
        return false;
    close = str_find_char(*set, ']', from);
    *ret_negated = negated;
    *ret_members = str_slice(*set, first, close - first);
    *set = str_from_offset(*set, close + 1);
    return true;
}

static bool has_member(struct str members, uint32_t c)
{
    while (members.n > 0) {
        uint32_t low = next_char(&members);
        uint32_t high = low;

        if (members.n > 1 && members.p[0] == '-') {
            members = str_from_offset(members, 1);
            high = next_char(&members);
        }
        if (low <= c && c <= high)
            return true;
    }
    return false;
}

/* Match one character of `text` with the first item of `pattern`, which is no star. Both move
 * behind what was matched. */
static bool match_one(struct str *pattern, struct str *text, const char *last_close)
{
    uint32_t want = next_char(pattern), have = next_char(text);
    struct str members;
    bool negated;

    if (want == '?')
        return true;
    if (want == '[' && cut_set(pattern, last_close, &negated, &members))
        return has_member(members, have) != negated;
    return want == have;
}

/* Only the last star ever needs another try: what it gives up, no earlier star could use better. */
bool glob_match(struct str pattern, struct str text)
{
    const char *last_close = pattern.n > 0 ? memrchr(pattern.p, ']', pattern.n) : NULL;
    struct str retry_pattern = { NULL, 0 }, retry_text = { NULL, 0 };

    for (;;) {
        if (pattern.n > 0 && pattern.p[0] == '*') {
            pattern = str_from_offset(pattern, 1);
            if (pattern.n == 0)
                return true;
            retry_pattern = pattern;
            retry_text = text;
            continue;
        }
        if (pattern.n == 0 && text.n == 0)
            return true;
        if (pattern.n > 0 && text.n > 0 && match_one(&pattern, &text, last_close))
            continue;
        if (!retry_pattern.p || text.n == 0) /* behind the last star every item needs a character */
            return false;
        (void)next_char(&retry_text);
        pattern = retry_pattern;
        text = retry_text;
    }
}

bool glob_is_plain(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.p[i] == '*' || pattern.p[i] == '?' || pattern.p[i] == '[')
            return false;
    return true;
}

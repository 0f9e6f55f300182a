#include "target/wild.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/glob.h"

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The characters of a set, up to and with its ']'; returns where that is. */
static size_t copy_set(struct str pattern, size_t at, struct buf *out)
{
    size_t end = at + 1;

    if (end < pattern.n && (pattern.p[end] == '^' || pattern.p[end] == '!'))
        end++;
    if (end < pattern.n && pattern.p[end] == ']')
        end++;
    end = str_find_char(pattern, ']', end);
    if (end == STR_NONE) {
        buf_add_text(out, "[[]");
        return at;
    }
    buf_add_str(out, str_slice(pattern, at, end - at + 1));
    if (pattern.p[at + 1] == '^')
        out->p[out->n - (end - at)] = '!';
    return end;
}

/* A character that means itself: the special ones need a set around them, which is told. */
static bool copy_escaped(char c, struct buf *out)
{
    bool special = c == '*' || c == '?' || c == '[';

    buf_add_text(out, special ? "[" : "");
    buf_add_char(out, c);
    buf_add_text(out, special ? "]" : "");
    return special;
}

struct wild wild_new(struct arena *arena, struct str pattern, unsigned flags)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct wild wild = { .fold = flags & WILD_FOLD };
    size_t stars = 0;
    bool others = false;

    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];

        if (c == '\\' && i + 1 < pattern.n) {
            others |= copy_escaped(pattern.p[++i], &out);
        } else if (c == '[') {
            i = copy_set(pattern, i, &out);
            others = true;
        } else {
            buf_add_char(&out, c);
            stars += c == '*';
            others |= c == '?';
        }
    }
    for (size_t i = 0; wild.fold && i < out.n; i++)
        out.p[i] = lower(out.p[i]);
    wild.pattern = buf_copy(&out, arena);
    wild.plain = !others && stars == 0;
    wild.all = str_is(wild.pattern, "*");
    wild.prefix = stars == 1 && !others && out.n > 0 && out.p[out.n - 1] == '*';
    return wild;
}

/* `text` begins with the first `n` bytes of the pattern. */
static bool begins(const struct wild *wild, struct str text, size_t n)
{
    if (text.n < n)
        return false;
    if (memcmp(text.p, wild->pattern.p, n) == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if ((wild->fold ? lower(text.p[i]) : text.p[i]) != wild->pattern.p[i])
            return false;
    return true;
}

static bool match_folded(const struct wild *wild, struct str text)
{
    AUTO_BUF struct buf folded = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&folded, text);
    for (size_t i = 0; i < folded.n; i++)
        folded.p[i] = lower(folded.p[i]);
    return glob_match(wild->pattern, buf_view(&folded));
}

bool wild_match(const struct wild *wild, struct str text)
{
    if (wild->all)
        return true;
    if (wild->plain)
        return text.n == wild->pattern.n && begins(wild, text, text.n);
    if (wild->prefix)
        return begins(wild, text, wild->pattern.n - 1);
    return wild->fold ? match_folded(wild, text) : glob_match(wild->pattern, text);
}

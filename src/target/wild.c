#include "target/wild.h"

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
    bool special = false;

    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];

        if (c == '\\' && i + 1 < pattern.n) {
            special |= copy_escaped(pattern.p[++i], &out);
        } else if (c == '[') {
            i = copy_set(pattern, i, &out);
            special = true;
        } else {
            buf_add_char(&out, c);
            special |= c == '*' || c == '?';
        }
    }
    for (size_t i = 0; wild.fold && i < out.n; i++)
        out.p[i] = lower(out.p[i]);
    wild.pattern = buf_copy(&out, arena);
    wild.plain = !special;
    wild.all = str_is(wild.pattern, "*");
    return wild;
}

static bool equal(const struct wild *wild, struct str text)
{
    if (text.n != wild->pattern.n)
        return false;
    if (!wild->fold)
        return str_eq(text, wild->pattern);
    for (size_t i = 0; i < text.n; i++)
        if (lower(text.p[i]) != wild->pattern.p[i])
            return false;
    return true;
}

bool wild_match(const struct wild *wild, struct str text)
{
    AUTO_BUF struct buf folded = BUF_INIT(BUF_NO_LIMIT);

    if (wild->all)
        return true;
    if (wild->plain)
        return equal(wild, text);
    if (!wild->fold)
        return glob_match(wild->pattern, text);
    buf_add_str(&folded, text);
    for (size_t i = 0; i < folded.n; i++)
        folded.p[i] = lower(folded.p[i]);
    return glob_match(wild->pattern, buf_view(&folded));
}

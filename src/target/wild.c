#include "target/wild.h"

#include <strings.h>

#include "base/arena.h"
#include "base/glob.h"

/* It has no special characters. */
static bool is_plain(struct str pattern)
{
    return glob_is_plain(pattern) && str_find_char(pattern, '\\', 0) == STR_NONE;
}

struct wild wild_new(struct arena *arena, struct str pattern, unsigned flags)
{
    struct wild wild = { .pattern = arena_str(arena, pattern), .flags = GLOB_CARET | GLOB_ESCAPE };
    size_t last = pattern.n > 0 ? pattern.n - 1 : 0;

    if (flags & WILD_FOLD)
        wild.flags |= GLOB_FOLD;
    wild.plain = is_plain(pattern);
    wild.prefix = pattern.n > 0 && pattern.p[last] == '*' && is_plain(str_slice(pattern, 0, last));
    return wild;
}

/* `text` begins with the first `n` bytes of the pattern. */
static bool begins(const struct wild *wild, struct str text, size_t n)
{
    if (text.n < n)
        return false;
    if (!(wild->flags & GLOB_FOLD))
        return str_eq(str_slice(text, 0, n), str_slice(wild->pattern, 0, n));
    return strncasecmp(text.p, wild->pattern.p, n) == 0;
}

bool wild_match(const struct wild *wild, struct str text)
{
    if (wild->plain)
        return text.n == wild->pattern.n && begins(wild, text, text.n);
    if (wild->prefix)
        return begins(wild, text, wild->pattern.n - 1);
    return glob_match_with(wild->pattern, text, wild->flags);
}

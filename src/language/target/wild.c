#include "language/target/wild.h"

#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/glob.h"
#include "core/base/unicode.h"
#include "core/base/utf8.h"

/* Has it no special characters? */
static bool is_plain_pattern(struct str pattern)
{
    return glob_is_plain(pattern) && str_find_char(pattern, '\\', 0) == STR_NONE;
}

/* Fold character by character, so that '?' stays one: a character that would become several stays
 * the same. */
static void fold_pattern(struct str text, struct buf *out)
{
    AUTO_BUF struct buf folded = BUF_INIT(BUF_NO_LIMIT);

    while (text.n > 0) {
        const struct str c = str_slice(text, 0, utf8_length_at(text));

        buf_clear(&folded);
        unicode_fold(c, &folded);
        buf_add_str(out, utf8_length_at(buf_view(&folded)) == folded.n ? buf_view(&folded) : c);
        text = str_from_offset(text, c.n);
    }
}

struct wild wild_new(struct arena *arena, struct str pattern, unsigned flags)
{
    struct wild wild = { .pattern = arena_str(arena, pattern), .flags = GLOB_CARET | GLOB_ESCAPE };
    size_t last = pattern.n > 0 ? pattern.n - 1 : 0;

    if (flags & WILD_FOLD)
        wild.flags |= GLOB_FOLD;
    if ((flags & WILD_FOLD) && !utf8_is_ascii(pattern)) {
        AUTO_BUF struct buf folded = BUF_INIT(BUF_NO_LIMIT);

        fold_pattern(pattern, &folded);
        wild.pattern = pattern = buf_copy(&folded, arena);
        last = pattern.n > 0 ? pattern.n - 1 : 0;
    }
    wild.plain = is_plain_pattern(pattern);
    wild.prefix =
        pattern.n > 0 && pattern.p[last] == '*' && is_plain_pattern(str_slice(pattern, 0, last));
    return wild;
}

/* Does `text` begin with the first `n` bytes of the pattern? */
static bool begins_with_pattern(const struct wild *wild, struct str text, size_t n)
{
    if (text.n < n)
        return false;
    if (!(wild->flags & GLOB_FOLD))
        return str_eq(str_slice(text, 0, n), str_slice(wild->pattern, 0, n));
    return strncasecmp(text.p, wild->pattern.p, n) == 0;
}

static bool match_text(const struct wild *wild, struct str text)
{
    if (wild->plain)
        return text.n == wild->pattern.n && begins_with_pattern(wild, text, text.n);
    if (wild->prefix)
        return begins_with_pattern(wild, text, wild->pattern.n - 1);
    return glob_match_with(wild->pattern, text, wild->flags);
}

bool wild_match(const struct wild *wild, struct str text)
{
    AUTO_BUF struct buf folded = BUF_INIT(BUF_NO_LIMIT);

    /* ASCII is compared without regard to case anyway */
    if (!(wild->flags & GLOB_FOLD) || utf8_is_ascii(text))
        return match_text(wild, text);
    fold_pattern(text, &folded);
    return match_text(wild, buf_view(&folded));
}

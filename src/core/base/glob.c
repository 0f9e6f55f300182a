#include "core/base/glob.h"

#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

/* Bytes that are not UTF-8 become numbers beyond Unicode, one each, so that they equal only
 * themselves. */
#define BYTE_BASE 0x110000U

enum item_kind {
    ITEM_CHAR,
    ITEM_ANY, /* ? */
    ITEM_SET, /* [...] */
    /* From here on: may match nothing. */
    ITEM_STAR,  /* * */
    ITEM_DEEP,  /* ** over paths */
    ITEM_PARTS, /* a part that is ** and the slash after it */
};

struct item {
    enum item_kind kind;
    uint32_t c;
    struct str members;
    bool negated;
};

struct glob {
    struct str pattern;
    const char *last_close; /* the last ']': whether a set is closed is known without a search */
    unsigned flags;
};

/* --- characters ----------------------------------------------------------------------- */

static uint32_t fold_glob_char(const struct glob *glob, uint32_t c)
{
    return (glob->flags & GLOB_FOLD) && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static uint32_t next_char(const struct glob *glob, struct str *text)
{
    unsigned char first = (unsigned char)text->p[0];
    bool lone = first >= 0x80 && utf8_length_at(*text) == 1;
    uint32_t c = utf8_next(text);

    return lone ? BYTE_BASE + first : fold_glob_char(glob, c);
}

static bool has_member(const struct glob *glob, struct str members, uint32_t c)
{
    while (members.n > 0) {
        uint32_t low = next_char(glob, &members);
        uint32_t high = low;

        if (members.n > 1 && members.p[0] == '-') {
            members = str_from_offset(members, 1);
            high = next_char(glob, &members);
        }
        if (low <= c && c <= high)
            return true;
    }
    return false;
}

/* --- items ---------------------------------------------------------------------------- */

/* The set that begins after a '[': `rest` moves past its ']'. False when nothing closes it. */
static bool cut_set(const struct glob *glob, struct str *rest, struct item *item)
{
    bool negated =
        rest->n > 0 && (rest->p[0] == '!' || (rest->p[0] == '^' && (glob->flags & GLOB_CARET)));
    size_t first = negated ? 1 : 0;
    size_t from = first < rest->n && rest->p[first] == ']' ? first + 1 : first;
    size_t close;

    if (!glob->last_close || glob->last_close < rest->p + from)
        return false;
    close = str_find_char(*rest, ']', from);
    *item = (struct item){ .kind = ITEM_SET,
                           .members = str_slice(*rest, first, close - first),
                           .negated = negated };
    *rest = str_from_offset(*rest, close + 1);
    return true;
}

static struct item cut_stars(const struct glob *glob, struct str *rest)
{
    bool at_part = rest->p == glob->pattern.p || rest->p[-1] == '/';
    struct item item = { .kind = ITEM_STAR };
    size_t n = 1;

    if (glob->flags & GLOB_PATH) {
        while (n < rest->n && rest->p[n] == '*')
            n++;
        if (n > 1)
            item.kind = ITEM_DEEP;
        if (n > 1 && at_part && n < rest->n && rest->p[n] == '/') {
            item.kind = ITEM_PARTS;
            n++;
        }
    }
    *rest = str_from_offset(*rest, n);
    return item;
}

static struct item take_glob_item(const struct glob *glob, struct str *rest)
{
    struct item item = { .kind = ITEM_CHAR };

    if (rest->p[0] == '*')
        return cut_stars(glob, rest);
    if (rest->p[0] == '\\' && rest->n > 1 && (glob->flags & GLOB_ESCAPE)) {
        *rest = str_from_offset(*rest, 1);
        item.c = next_char(glob, rest);
        return item;
    }
    item.c = next_char(glob, rest);
    if (item.c == '?')
        item.kind = ITEM_ANY;
    else if (item.c == '[')
        (void)cut_set(glob, rest, &item);
    return item;
}

/* Whether an item other than a star matches a character. */
static bool match_one(const struct glob *glob, const struct item *item, uint32_t c)
{
    if (item->kind == ITEM_CHAR)
        return item->c == c;
    if (c == '/' && (glob->flags & GLOB_PATH))
        return false;
    return item->kind == ITEM_ANY || has_member(glob, item->members, c) != item->negated;
}

/* --- one kind of star ----------------------------------------------------------------- */

/* Let the star take one character more; over paths it takes no slash. */
static bool widen_star(const struct glob *glob, struct str *text)
{
    return text->n > 0 && (next_char(glob, text) != '/' || !(glob->flags & GLOB_PATH));
}

/* Only the last star ever needs another try: no earlier star could use the characters better. That
 * holds over paths too, where slashes pair the parts of both sides. */
static bool match_stars(const struct glob *glob, struct str text)
{
    struct str pattern = glob->pattern, retry_pattern = { NULL, 0 }, retry_text = { NULL, 0 };

    for (;;) {
        struct str rest = pattern;
        struct item item = { .kind = ITEM_CHAR };

        if (pattern.n > 0)
            item = take_glob_item(glob, &rest);
        if (item.kind == ITEM_STAR) {
            retry_pattern = pattern = rest;
            retry_text = text;
            continue;
        }
        if (pattern.n == 0 && text.n == 0)
            return true;
        if (pattern.n > 0 && text.n > 0 && match_one(glob, &item, next_char(glob, &text))) {
            pattern = rest;
            continue;
        }
        if (!retry_pattern.p || text.n == 0) /* after the last star every item needs a character */
            return false;
        if (!widen_star(glob, &retry_text))
            return false;
        pattern = retry_pattern;
        text = retry_text;
    }
}

/* --- two kinds of stars --------------------------------------------------------------- */

/* Walk the text once, and keep every place of the pattern that may come next. */
struct walk {
    const struct glob *glob;
    bool *now, *next; /* by the offset in the pattern */
};

static struct item read_item_at(const struct walk *walk, size_t at, size_t *ret_after)
{
    struct str rest = str_from_offset(walk->glob->pattern, at);
    struct item item = take_glob_item(walk->glob, &rest);

    *ret_after = (size_t)(rest.p - walk->glob->pattern.p);
    return item;
}

/* An item that may match nothing adds the place after it too. */
static void add_glob_place(const struct walk *walk, bool *places, size_t at)
{
    while (!places[at]) {
        size_t after = at;

        places[at] = true;
        if (at == walk->glob->pattern.n || read_item_at(walk, at, &after).kind < ITEM_STAR)
            return;
        at = after;
    }
}

static void advance_place(const struct walk *walk, size_t at, uint32_t c)
{
    size_t after;
    const struct item item = read_item_at(walk, at, &after);

    switch (item.kind) {
    case ITEM_STAR:
        if (c != '/')
            add_glob_place(walk, walk->next, at);
        break;
    case ITEM_DEEP: add_glob_place(walk, walk->next, at); break;
    case ITEM_PARTS:
        walk->next[at] = true; /* inside a part: only its slash leads on */
        if (c == '/')
            add_glob_place(walk, walk->next, after);
        break;
    default:
        if (match_one(walk->glob, &item, c))
            add_glob_place(walk, walk->next, after);
        break;
    }
}

static bool match_deep(const struct glob *glob, struct str text)
{
    const size_t count = glob->pattern.n + 1;
    AUTO_FREE bool *places = mem_zalloc(2 * count);
    struct walk walk = { .glob = glob, .now = places, .next = places + count };

    add_glob_place(&walk, walk.now, 0);
    while (text.n > 0) {
        uint32_t c = next_char(glob, &text);
        bool *old = walk.now;

        memset(walk.next, 0, count);
        for (size_t at = 0; at < glob->pattern.n; at++)
            if (walk.now[at])
                advance_place(&walk, at, c);
        walk.now = walk.next;
        walk.next = old;
    }
    return walk.now[glob->pattern.n];
}

/* --- public --------------------------------------------------------------------------- */

/* Cut the common literal beginning of both. False: they differ there, as most patterns that do not
 * match do. */
static bool cut_common(struct str *pattern, struct str *text)
{
    size_t n = 0;

    while (n < pattern->n && (unsigned char)pattern->p[n] < 0x80 && !strchr("*?[", pattern->p[n])) {
        if (n == text->n || pattern->p[n] != text->p[n])
            return false;
        n++;
    }
    *pattern = str_from_offset(*pattern, n);
    *text = str_from_offset(*text, n);
    return true;
}

bool glob_match_with(struct str pattern, struct str text, unsigned flags)
{
    struct glob glob = { .flags = flags };

    if (flags == 0 && !cut_common(&pattern, &text))
        return false;
    glob.pattern = pattern;
    glob.last_close = pattern.n > 0 ? memrchr(pattern.p, ']', pattern.n) : NULL;
    if ((flags & GLOB_PATH) && str_find(pattern, STR("**"), 0) != STR_NONE)
        return match_deep(&glob, text);
    return match_stars(&glob, text);
}

bool glob_match(struct str pattern, struct str text)
{
    return glob_match_with(pattern, text, 0);
}

bool glob_is_plain(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.p[i] == '*' || pattern.p[i] == '?' || pattern.p[i] == '[')
            return false;
    return true;
}

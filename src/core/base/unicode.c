#include "core/base/unicode.h"

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/base/unicode_table.h"

#define CAPITAL_SIGMA 0x3a3U
#define SMALL_SIGMA   0x3c3U
#define FINAL_SIGMA   0x3c2U
#define ASCII_END     0x80U

static bool in_runs(const struct unicode_runs *table, uint32_t c)
{
    size_t low = 0, high = table->count;

    if (c < ASCII_END) { /* the first few runs, one after the other, are sooner found */
        while (low < high && table->runs[low].last < c)
            low++;
        return low < high && table->runs[low].first <= c;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct unicode_run *run = &table->runs[middle];

        if (c < run->first)
            high = middle;
        else if (c > run->last)
            low = middle + 1;
        else
            return (c - run->first) % run->stride == 0;
    }
    return false;
}

bool unicode_is(uint32_t c, enum unicode_property property)
{
    return in_runs(&unicode_properties[property], c);
}

bool unicode_is_cased(uint32_t c)
{
    return unicode_is(c, UNICODE_UPPER) || unicode_is(c, UNICODE_LOWER) ||
           unicode_is(c, UNICODE_TITLE);
}

static const struct unicode_expansion *find_expansion(const struct unicode_map *map, uint32_t c)
{
    size_t low = 0, high = map->expansion_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c < map->expansions[middle].from)
            high = middle;
        else if (c > map->expansions[middle].from)
            low = middle + 1;
        else
            return &map->expansions[middle];
    }
    return NULL;
}

static const struct unicode_shift *find_shift(const struct unicode_map *map, uint32_t c)
{
    size_t low = 0, high = map->shift_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct unicode_shift *shift = &map->shifts[middle];

        if (c < shift->first)
            high = middle;
        else if (c > shift->last)
            low = middle + 1;
        else
            return (c - shift->first) % shift->stride == 0 ? shift : NULL;
    }
    return NULL;
}

/* Append the mapping of `c`; false when `map` has none. */
static bool add_by(const struct unicode_map *map, uint32_t c, struct buf *out)
{
    const struct unicode_expansion *expansion = find_expansion(map, c);
    const struct unicode_shift *shift;

    if (expansion) {
        for (size_t i = 0; i < UNICODE_EXPANSION_MAX && expansion->to[i] > 0; i++)
            utf8_add(out, expansion->to[i]);
        return true;
    }
    shift = find_shift(map, c);
    if (shift)
        utf8_add(out, (uint32_t)((int64_t)c + shift->delta));
    return shift != NULL;
}

/* The tables for title case and folding hold only where they differ from upper and lower. */
static void add_cased_char(uint32_t c, enum unicode_case kind, struct buf *out)
{
    static const enum unicode_case below[] = {
        [UNICODE_TO_UPPER] = UNICODE_TO_UPPER,
        [UNICODE_TO_LOWER] = UNICODE_TO_LOWER,
        [UNICODE_TO_TITLE] = UNICODE_TO_UPPER,
        [UNICODE_TO_FOLD] = UNICODE_TO_LOWER,
    };

    if (!add_by(&unicode_maps[kind], c, out) &&
        (below[kind] == kind || !add_by(&unicode_maps[below[kind]], c, out)))
        utf8_add(out, c);
}

/* Is there a cased character at the near end of `text`, past those that do not count? */
static bool cased_before(struct str text)
{
    while (text.n > 0) {
        size_t at = text.n - 1;
        struct str last;
        uint32_t c;

        while (at > 0 && ((unsigned char)text.p[at] & 0xc0) == 0x80)
            at--;
        last = str_from_offset(text, at);
        c = utf8_next(&last);
        if (!unicode_is(c, UNICODE_IGNORABLE))
            return unicode_is_cased(c);
        text.n = at;
    }
    return false;
}

static bool cased_after(struct str text)
{
    while (text.n > 0) {
        uint32_t c = utf8_next(&text);

        if (!unicode_is(c, UNICODE_IGNORABLE))
            return unicode_is_cased(c);
    }
    return false;
}

/* A walk over a text that copies invalid UTF-8. */
struct walk {
    struct str text, rest;
    uint32_t c;
    size_t at; /* offset of c */
};

static bool walk_next(struct walk *walk, struct buf *out)
{
    for (;;) {
        size_t n = utf8_length_at(walk->rest);

        if (n == 0)
            return false;
        walk->at = walk->text.n - walk->rest.n;
        walk->c = utf8_next(&walk->rest);
        if (n > 1 || walk->c != UTF8_BAD)
            return true;
        buf_add_char(out, walk->text.p[walk->at]);
    }
}

static void add_lower(const struct walk *walk, struct buf *out)
{
    if (walk->c != CAPITAL_SIGMA)
        add_cased_char(walk->c, UNICODE_TO_LOWER, out);
    else if (cased_before(str_slice(walk->text, 0, walk->at)) && !cased_after(walk->rest))
        utf8_add(out, FINAL_SIGMA);
    else
        utf8_add(out, SMALL_SIGMA);
}

static char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void add_cased_ascii(struct str text, char (*convert)(char), struct buf *out)
{
    char *room = text.n > 0 ? buf_reserve(out, text.n) : NULL;

    if (!room)
        return;
    for (size_t i = 0; i < text.n; i++)
        room[i] = convert(text.p[i]);
    out->n += text.n;
    out->p[out->n] = '\0';
}

void unicode_upper(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };

    if (utf8_is_ascii(text)) {
        add_cased_ascii(text, ascii_upper, out);
        return;
    }
    while (walk_next(&walk, out))
        add_cased_char(walk.c, UNICODE_TO_UPPER, out);
}

void unicode_lower(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };

    if (utf8_is_ascii(text)) {
        add_cased_ascii(text, ascii_lower, out);
        return;
    }
    while (walk_next(&walk, out))
        add_lower(&walk, out);
}

void unicode_fold(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };

    while (walk_next(&walk, out))
        add_cased_char(walk.c, UNICODE_TO_FOLD, out);
}

void unicode_capitalize(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };

    if (walk_next(&walk, out))
        add_cased_char(walk.c, UNICODE_TO_TITLE, out);
    while (walk_next(&walk, out))
        add_lower(&walk, out);
}

void unicode_title(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };
    bool inside = false;

    while (walk_next(&walk, out)) {
        if (inside)
            add_lower(&walk, out);
        else
            add_cased_char(walk.c, UNICODE_TO_TITLE, out);
        inside = unicode_is_cased(walk.c);
    }
}

void unicode_swap(struct str text, struct buf *out)
{
    struct walk walk = { .text = text, .rest = text };

    while (walk_next(&walk, out)) {
        if (unicode_is(walk.c, UNICODE_UPPER))
            add_lower(&walk, out);
        else if (unicode_is(walk.c, UNICODE_LOWER))
            add_cased_char(walk.c, UNICODE_TO_UPPER, out);
        else
            utf8_add(out, walk.c);
    }
}

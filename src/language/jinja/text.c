#include "language/jinja/text.h"

#include "core/base/utf8.h"
#include "language/jinja/render.h"

#define BYTES_PER_STEP 1024
#define ITEMS_PER_STEP 32
/* Longer texts are counted as steps. */
#define LOWER_MAX (BYTES_PER_STEP - 1)

int text_expect(struct render *render, size_t bytes)
{
    if (bytes > TEXT_MAX)
        return render_fail(render, RENDER_LIMIT, "a text may have %zu bytes at most", TEXT_MAX);
    return bytes < BYTES_PER_STEP ? 0 : render_step(render, bytes / BYTES_PER_STEP);
}

int text_expect_items(struct render *render, size_t items)
{
    if (items > ITEMS_MAX)
        return render_fail(render, RENDER_LIMIT, "a list may have %zu items at most", ITEMS_MAX);
    return items < ITEMS_PER_STEP ? 0 : render_step(render, items / ITEMS_PER_STEP);
}

int text_finish(struct render *render, const struct buf *out, uint8_t flags, struct value *ret)
{
    if (text_expect(render, out->full ? TEXT_MAX + 1 : out->n) < 0)
        return -1;
    *ret = value_str(buf_copy(out, render->arena));
    ret->flags = flags;
    return 0;
}

static bool is_ascii_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool text_lower(struct render *render, const struct value *v, struct value *ret)
{
    const struct str text = v->s;
    size_t same = 0;
    char *lower;

    if (text.n > LOWER_MAX || !utf8_is_ascii(text))
        return false;
    *ret = value_str(text);
    ret->flags = v->flags & VALUE_SAFE;
    while (same < text.n && !is_ascii_upper(text.p[same]))
        same++;
    if (same == text.n)
        return true;
    lower = arena_strndup(render->arena, text.p, text.n);
    for (size_t i = same; i < text.n; i++)
        lower[i] = (char)(is_ascii_upper(lower[i]) ? lower[i] | 0x20 : lower[i]);
    ret->s.p = lower;
    return true;
}

struct str text_ascii(unsigned char c)
{
    /* clang-format off */
    static const char chars[128][2] = {
        { 0 }, { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 7 },
        { 8 }, { 9 }, { 10 }, { 11 }, { 12 }, { 13 }, { 14 }, { 15 },
        { 16 }, { 17 }, { 18 }, { 19 }, { 20 }, { 21 }, { 22 }, { 23 },
        { 24 }, { 25 }, { 26 }, { 27 }, { 28 }, { 29 }, { 30 }, { 31 },
        { 32 }, { 33 }, { 34 }, { 35 }, { 36 }, { 37 }, { 38 }, { 39 },
        { 40 }, { 41 }, { 42 }, { 43 }, { 44 }, { 45 }, { 46 }, { 47 },
        { 48 }, { 49 }, { 50 }, { 51 }, { 52 }, { 53 }, { 54 }, { 55 },
        { 56 }, { 57 }, { 58 }, { 59 }, { 60 }, { 61 }, { 62 }, { 63 },
        { 64 }, { 65 }, { 66 }, { 67 }, { 68 }, { 69 }, { 70 }, { 71 },
        { 72 }, { 73 }, { 74 }, { 75 }, { 76 }, { 77 }, { 78 }, { 79 },
        { 80 }, { 81 }, { 82 }, { 83 }, { 84 }, { 85 }, { 86 }, { 87 },
        { 88 }, { 89 }, { 90 }, { 91 }, { 92 }, { 93 }, { 94 }, { 95 },
        { 96 }, { 97 }, { 98 }, { 99 }, { 100 }, { 101 }, { 102 }, { 103 },
        { 104 }, { 105 }, { 106 }, { 107 }, { 108 }, { 109 }, { 110 }, { 111 },
        { 112 }, { 113 }, { 114 }, { 115 }, { 116 }, { 117 }, { 118 }, { 119 },
        { 120 }, { 121 }, { 122 }, { 123 }, { 124 }, { 125 }, { 126 }, { 127 },
    };
    /* clang-format on */

    return (struct str){ chars[c], 1 };
}

struct value text_part(struct render *render, const struct value *whole, size_t at, size_t n)
{
    struct str part = str_slice(whole->s, at, n);
    struct value made;

    /* Values end in NUL: the tail of a value already does. */
    if (part.n == 0)
        made = value_str(STR(""));
    else if (part.n == 1 && (unsigned char)part.p[0] < 128)
        made = value_str(text_ascii((unsigned char)part.p[0]));
    else if (at + part.n == whole->s.n)
        made = value_str(part);
    else
        made = value_str(arena_str(render->arena, part));
    made.kind = whole->kind;
    made.flags = whole->flags & (VALUE_SAFE | VALUE_SECRET);
    return made;
}

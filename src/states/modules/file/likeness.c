#include "states/modules/file/likeness.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/vec.h"
#include "core/edit/lines.h"

struct essence {
    VEC(struct str) list;
};

static bool is_likeness_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The part of a line that is compared. */
static struct str reduce_line(struct arena *arena, const struct likeness *rules, struct str line)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const size_t at = rules->comment ? str_find(line, str_from(rules->comment), 0) : STR_NONE;

    if (at != STR_NONE)
        line = str_slice(line, 0, at);
    if (!rules->whitespace)
        return line;
    for (size_t i = 0; i < line.n; i++)
        if (!is_likeness_blank(line.p[i]))
            buf_add_char(&out, line.p[i]);
    return buf_copy(&out, arena);
}

static int compare_similar_lines(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static void reduce_text(struct arena *arena, const struct likeness *rules, struct str text,
                        struct essence *ret)
{
    struct line line;

    while (lines_next(&text, &line))
        VEC_PUSH_IN(arena, &ret->list, reduce_line(arena, rules, line.text));
    if (rules->ordering && ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_similar_lines);
}

bool likeness_holds(struct arena *arena, const struct likeness *rules, struct str a, struct str b)
{
    struct essence one = { .list = VEC_INIT }, other = { .list = VEC_INIT };

    reduce_text(arena, rules, a, &one);
    reduce_text(arena, rules, b, &other);
    if (one.list.n != other.list.n)
        return false;
    for (size_t i = 0; i < one.list.n; i++)
        if (!str_eq(one.list.p[i], other.list.p[i]))
            return false;
    return true;
}

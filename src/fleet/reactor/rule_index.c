#include "fleet/reactor/rule_index.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"

/* Characters with a special meaning in patterns. */
#define SPECIAL "*?[]\\"

void rule_index_init(struct rule_index *index, struct arena *arena)
{
    *index = (struct rule_index){
        .arena = arena,
        .begins.numbers = MAP_INIT_IN(arena),
        .ends.numbers = MAP_INIT_IN(arena),
        .parts.numbers = MAP_INIT_IN(arena),
    };
}

static bool is_special(char c)
{
    return c != '\0' && strchr(SPECIAL, c);
}

static struct str find_begin(struct str pattern)
{
    size_t n = 0;

    while (n < pattern.n && !is_special(pattern.p[n]))
        n++;
    return (struct str){ pattern.p, n };
}

static struct str find_pattern_end(struct str pattern)
{
    size_t n = 0;

    while (n < pattern.n && !is_special(pattern.p[pattern.n - 1 - n]))
        n++;
    return (struct str){ pattern.p + pattern.n - n, n };
}

/* The next part between two slashes, from `*at` on; empty: none is left. */
static struct str next_part(struct str text, size_t *at)
{
    size_t begin, end;

    while ((begin = str_find_char(text, '/', *at)) != STR_NONE) {
        end = str_find_char(text, '/', begin + 1);
        if (end == STR_NONE)
            break;
        *at = end;
        if (end > begin + 1)
            return str_slice(text, begin + 1, end - begin - 1);
    }
    *at = text.n;
    return (struct str){ text.p, 0 };
}

/* The first one that has no other characters than letters. A set may have slashes in it. */
static struct str find_plain_part(struct str pattern)
{
    struct str part;
    size_t at = str_find_char(pattern, '[', 0) == STR_NONE ? 0 : pattern.n;

    do
        part = next_part(pattern, &at);
    while (part.n > 0 && find_begin(part).n < part.n);
    return part;
}

static void note_length(struct rule_index *index, struct rule_index_side *side, size_t length)
{
    VEC_EACH (&side->lengths, known)
        if (*known == length)
            return;
    VEC_PUSH_IN(index->arena, &side->lengths, length);
}

static void add_to_side(struct rule_index *index, struct rule_index_side *side, struct str letters,
                        size_t number)
{
    struct rule_index_numbers *numbers = map_find(&side->numbers, letters);

    if (!numbers) {
        numbers = ARENA_NEW(index->arena, struct rule_index_numbers);
        (void)map_set(&side->numbers, letters, numbers);
        note_length(index, side, letters.n);
    }
    VEC_PUSH_IN(index->arena, &numbers->list, number);
}

void rule_index_add(struct rule_index *index, struct str pattern, size_t number)
{
    const struct str begin = find_begin(pattern), end = find_pattern_end(pattern);
    const struct str part = find_plain_part(pattern);

    if (begin.n == 0 && end.n == 0 && part.n > 0)
        add_to_side(index, &index->parts, part, number);
    else if (begin.n >= end.n)
        add_to_side(index, &index->begins, begin, number);
    else
        add_to_side(index, &index->ends, end, number);
}

static void add_rule_numbers(const struct rule_index_side *side, struct str letters,
                             struct arena *arena, struct rule_index_numbers *out)
{
    const struct rule_index_numbers *numbers = map_find(&side->numbers, letters);

    if (!numbers)
        return;
    VEC_EACH (&numbers->list, number)
        VEC_PUSH_IN(arena, &out->list, *number);
}

static int compare_rule_numbers(const void *a, const void *b)
{
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;

    return left < right ? -1 : left > right;
}

/* A part may be in a key twice. */
static void sort_numbers(struct rule_index_numbers *numbers)
{
    size_t *p = numbers->list.p, kept = 1;

    if (numbers->list.n < 2)
        return;
    qsort(p, numbers->list.n, sizeof(p[0]), compare_rule_numbers);
    for (size_t i = 1; i < numbers->list.n; i++)
        if (p[i] != p[kept - 1])
            p[kept++] = p[i];
    numbers->list.n = kept;
}

void rule_index_find(const struct rule_index *index, struct arena *arena, struct str key,
                     struct rule_index_numbers *ret_numbers)
{
    struct str part;
    size_t at = 0;

    *ret_numbers = (struct rule_index_numbers){ VEC_INIT };
    VEC_EACH (&index->begins.lengths, n)
        if (*n <= key.n)
            add_rule_numbers(&index->begins, (struct str){ key.p, *n }, arena, ret_numbers);
    VEC_EACH (&index->ends.lengths, n)
        if (*n <= key.n)
            add_rule_numbers(&index->ends, (struct str){ key.p + key.n - *n, *n }, arena,
                             ret_numbers);
    while (index->parts.lengths.n > 0 && (part = next_part(key, &at)).n > 0)
        add_rule_numbers(&index->parts, part, arena, ret_numbers);
    sort_numbers(ret_numbers);
}

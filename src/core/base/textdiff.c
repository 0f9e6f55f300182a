/*
 * Myers' algorithm in linear space: find the middle of a shortest edit path by
 * walking from both ends at once, then do both halves. Lines are numbers first,
 * equal lines equal numbers, so that comparing is cheap. The halves are kept on
 * an explicit stack, not in recursion.
 */
#include "core/base/textdiff.h"

#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/map.h"
#include "core/base/vec.h"

#define BINARY_LOOK 8000
/* No path of this cost ends on the diagonal within both texts, and none goes on from there. */
#define OUTSIDE (PTRDIFF_MIN / 2)

struct side {
    VEC(struct str) lines; /* with their line ends */
    VEC(uint32_t) numbers; /* equal lines have equal numbers */
    VEC(bool) marked;      /* the line is not in the other text */
};

/* A part of both texts still to be compared. */
struct part {
    ptrdiff_t a0, a1, b0, b1;
};

struct diff {
    struct side a, b;
    ptrdiff_t *down, *up; /* furthest points on each diagonal, from the start and from the end */
    ptrdiff_t zero;       /* diagonal 0 in both */
    VEC(struct part) todo;
};

/* --- lines --------------------------------------------------------------------- */

static void split_diff_lines(struct side *side, struct str text)
{
    for (size_t at = 0; at < text.n;) {
        size_t end = str_find_char(text, '\n', at);
        size_t next = end == STR_NONE ? text.n : end + 1;

        VEC_PUSH(&side->lines, str_slice(text, at, next - at));
        VEC_PUSH(&side->marked, false);
        at = next;
    }
}

static void number_diff_lines(struct side *side, struct map *known)
{
    VEC_EACH (&side->lines, line) {
        void *found = map_find(known, *line);
        uintptr_t id = found ? (uintptr_t)found : map_count(known) + 1;

        if (!found)
            map_set(known, *line, (void *)id); /* the map keeps numbers, not pointers */
        VEC_PUSH(&side->numbers, (uint32_t)id);
    }
}

static void side_done(struct side *side)
{
    vec_done(&side->lines);
    vec_done(&side->numbers);
    vec_done(&side->marked);
}

/* --- the search ------------------------------------------------------------------ */

static void mark_changed_lines(struct side *side, ptrdiff_t from, ptrdiff_t to)
{
    for (ptrdiff_t i = from; i < to; i++)
        side->marked.p[i] = true;
}

static bool lines_equal(const struct diff *d, ptrdiff_t x, ptrdiff_t y)
{
    return d->a.numbers.p[x] == d->b.numbers.p[y];
}

/* Equal lines at both ends need no search. */
static void shrink_diff_part(const struct diff *d, struct part *part)
{
    while (part->a0 < part->a1 && part->b0 < part->b1 && lines_equal(d, part->a0, part->b0)) {
        part->a0++;
        part->b0++;
    }
    while (part->a0 < part->a1 && part->b0 < part->b1 &&
           lines_equal(d, part->a1 - 1, part->b1 - 1)) {
        part->a1--;
        part->b1--;
    }
}

struct point {
    ptrdiff_t x, y;
};

/* One of the two walks: from the start (`down`), or from the end and counting lines from there. */
struct walk {
    ptrdiff_t *far, *other; /* its furthest points, by diagonal, and those of the other walk */
    bool down;
};

static bool same_ahead(const struct diff *d, const struct part *p, bool down, struct point at)
{
    return down ? lines_equal(d, p->a0 + at.x, p->b0 + at.y)
                : lines_equal(d, p->a1 - at.x - 1, p->b1 - at.y - 1);
}

/* Has the walk, now at `x` on diagonal `k`, met the other? The walk down goes first: the other is
 * one step behind it, and they meet on it when the paths' length is odd, on the walk up when it is
 * even. */
static bool has_met(const struct walk *w, const struct part *p, ptrdiff_t cost, ptrdiff_t k)
{
    ptrdiff_t n = p->a1 - p->a0, delta = n - (p->b1 - p->b0);
    ptrdiff_t reach = w->down ? cost - 1 : cost;

    return ((delta & 1) != 0) == w->down && k >= delta - reach && k <= delta + reach &&
           w->far[k] + w->other[delta - k] >= n;
}

/* One step of a walk: all diagonals of cost `cost`. True when it met the other. */
static bool walk_on(struct diff *d, const struct part *p, const struct walk *w, ptrdiff_t cost,
                    struct point *ret)
{
    ptrdiff_t n = p->a1 - p->a0, m = p->b1 - p->b0, *far = w->far;

    for (ptrdiff_t k = -cost; k <= cost; k += 2) {
        bool from_above = k == -cost || (k != cost && far[k - 1] < far[k + 1]);
        struct point at = { .x = from_above ? far[k + 1] : far[k - 1] + 1 };

        at.y = at.x - k;
        if (at.x < 0 || at.x > n || at.y > m || at.y < 0) {
            far[k] = OUTSIDE;
            continue;
        }
        while (at.x < n && at.y < m && same_ahead(d, p, w->down, at)) {
            at.x++;
            at.y++;
        }
        far[k] = at.x;
        if (has_met(w, p, cost, k)) {
            *ret = w->down ? (struct point){ p->a0 + at.x, p->b0 + at.y }
                           : (struct point){ p->a1 - at.x, p->b1 - at.y };
            return true;
        }
    }
    return false;
}

/* A point on a shortest path; false when that costs too much to find. */
static bool find_middle(struct diff *d, const struct part *p, struct point *ret)
{
    ptrdiff_t longest = (p->a1 - p->a0) + (p->b1 - p->b0);
    const struct walk down = { d->down + d->zero, d->up + d->zero, true };
    const struct walk up = { d->up + d->zero, d->down + d->zero, false };

    down.far[1] = up.far[1] = 0;
    for (ptrdiff_t cost = 0; cost <= (longest + 1) / 2 && cost <= TEXTDIFF_COST_MAX; cost++)
        if (walk_on(d, p, &down, cost, ret) || walk_on(d, p, &up, cost, ret))
            return true;
    return false;
}

static void compare_diff_part(struct diff *d, struct part part)
{
    struct point middle;

    shrink_diff_part(d, &part);
    if (part.a0 == part.a1 || part.b0 == part.b1 || !find_middle(d, &part, &middle)) {
        mark_changed_lines(&d->a, part.a0, part.a1);
        mark_changed_lines(&d->b, part.b0, part.b1);
        return;
    }
    VEC_PUSH(&d->todo, (struct part){ part.a0, middle.x, part.b0, middle.y });
    VEC_PUSH(&d->todo, (struct part){ middle.x, part.a1, middle.y, part.b1 });
}

static void search_differences(struct diff *d)
{
    AUTO_FREE ptrdiff_t *room = NULL;
    size_t width = 2 * (size_t)TEXTDIFF_COST_MAX + 4;

    room = mem_zalloc(mem_product(2 * width, sizeof(*room)));
    d->down = room;
    d->up = room + width;
    d->zero = TEXTDIFF_COST_MAX + 1;
    VEC_PUSH(&d->todo, (struct part){ 0, (ptrdiff_t)d->a.lines.n, 0, (ptrdiff_t)d->b.lines.n });
    while (d->todo.n > 0)
        compare_diff_part(d, d->todo.p[--d->todo.n]);
    vec_done(&d->todo);
}

/* --- printing -------------------------------------------------------------------- */

static void print_diff_line(struct buf *out, char sign, struct str line)
{
    buf_add_char(out, sign);
    buf_add_str(out, line);
    if (line.n == 0 || line.p[line.n - 1] != '\n')
        buf_add_text(out, "\n\\ No newline at end of file\n");
}

/* As diff does: a range of one line has no count, an empty one names the line before it. */
static void print_range(struct buf *out, char sign, size_t from, size_t count)
{
    buf_printf(out, " %c%zu", sign, count == 0 ? from : from + 1);
    if (count != 1)
        buf_printf(out, ",%zu", count);
}

struct hunk {
    size_t a0, b0, a1, b1;
};

static bool is_change(const struct diff *d, size_t i, size_t j)
{
    return (i < d->a.lines.n && d->a.marked.p[i]) || (j < d->b.lines.n && d->b.marked.p[j]);
}

/* Past the changed lines at i and j. */
static void skip_change(const struct diff *d, size_t *i, size_t *j)
{
    while (*i < d->a.lines.n && d->a.marked.p[*i])
        ++*i;
    while (*j < d->b.lines.n && d->b.marked.p[*j])
        ++*j;
}

/* The next hunk at or after i and j, which stand on lines that are equal or changed; false: none.
 * Changes that are close share one. */
static bool next_hunk(const struct diff *d, size_t i, size_t j, struct hunk *ret)
{
    size_t equal = 0, start = i;

    while (i < d->a.lines.n && j < d->b.lines.n && !is_change(d, i, j)) {
        i++;
        j++;
    }
    if (!is_change(d, i, j))
        return false;
    equal = i - start < TEXTDIFF_CONTEXT ? i - start : TEXTDIFF_CONTEXT;
    *ret = (struct hunk){ .a0 = i - equal, .b0 = j - equal };
    for (;;) {
        skip_change(d, &i, &j);
        for (equal = 0; equal <= 2 * TEXTDIFF_CONTEXT && i + equal < d->a.lines.n &&
                        !is_change(d, i + equal, j + equal);)
            equal++;
        if (equal > 2 * TEXTDIFF_CONTEXT || !is_change(d, i + equal, j + equal))
            break;
        i += equal;
        j += equal;
    }
    if (equal > TEXTDIFF_CONTEXT)
        equal = TEXTDIFF_CONTEXT;
    ret->a1 = i + equal;
    ret->b1 = j + equal;
    return true;
}

static void print_hunk(const struct diff *d, const struct hunk *hunk, struct buf *out)
{
    size_t i = hunk->a0, j = hunk->b0;

    buf_add_text(out, "@@");
    print_range(out, '-', hunk->a0, hunk->a1 - hunk->a0);
    print_range(out, '+', hunk->b0, hunk->b1 - hunk->b0);
    buf_add_text(out, " @@\n");
    while (i < hunk->a1 || j < hunk->b1) {
        if (i < hunk->a1 && d->a.marked.p[i])
            print_diff_line(out, '-', d->a.lines.p[i++]);
        else if (j < hunk->b1 && d->b.marked.p[j])
            print_diff_line(out, '+', d->b.lines.p[j++]);
        else {
            print_diff_line(out, ' ', d->a.lines.p[i++]);
            j++;
        }
    }
}

void textdiff(struct str old, struct str now, const char *old_name, const char *new_name,
              struct buf *out)
{
    struct map known = MAP_INIT;
    struct diff d = { 0 };
    struct hunk hunk = { 0 };

    if (str_eq(old, now))
        return;
    split_diff_lines(&d.a, old);
    split_diff_lines(&d.b, now);
    number_diff_lines(&d.a, &known);
    number_diff_lines(&d.b, &known);
    map_done(&known);
    search_differences(&d);
    buf_printf(out, "--- %s\n+++ %s\n", old_name, new_name);
    while (next_hunk(&d, hunk.a1, hunk.b1, &hunk))
        print_hunk(&d, &hunk, out);
    side_done(&d.a);
    side_done(&d.b);
}

bool textdiff_is_binary(struct str text)
{
    return text.n > 0 && memchr(text.p, '\0', text.n < BINARY_LOOK ? text.n : BINARY_LOOK);
}

/* Merge sort: stable, and a comparison may fail, which qsort cannot report. */
#include "language/jinja/sort.h"

#include "core/base/arena.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

/* Short lists are sorted without a second array. */
#define FEW_ITEMS 8

/* Two sorted runs, the second from `middle` on, into one. */
static int merge_sorted_runs(struct render *render, const struct sort_item *from,
                             struct sort_item *to, size_t middle, size_t count, bool descending)
{
    size_t left = 0, right = middle;

    for (size_t i = 0; i < count; i++) {
        bool take_right = left == middle;

        if (left < middle && right < count) {
            const struct value *a = &from[descending ? left : right].key;
            const struct value *b = &from[descending ? right : left].key;

            /* the right one goes first only when it is smaller: equal ones keep their order */
            if (op_compare(render, OP_LT, a, b, &take_right) < 0 || render_step(render, 1) < 0)
                return -1;
        }
        to[i] = from[take_right ? right++ : left++];
    }
    return 0;
}

/* A short list, by insertion. */
static int insert_each(struct render *render, struct sort_item *items, size_t count,
                       bool descending)
{
    for (size_t i = 1; i < count; i++) {
        const struct sort_item item = items[i];
        size_t at = i;

        for (bool before = true; at > 0; at--) {
            const struct value *other = &items[at - 1].key;

            if (op_compare(render, OP_LT, descending ? other : &item.key,
                           descending ? &item.key : other, &before) < 0 ||
                render_step(render, 1) < 0)
                return -1;
            if (!before)
                break;
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
    return 0;
}

static int merge_runs(struct render *render, struct sort_item *items, size_t count, bool descending)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct sort_item *from = items, *to = ARENA_ARRAY(&scratch, struct sort_item, count);

    /* by runs of doubling length, from one array into the other and back */
    for (size_t width = 1; width < count; width *= 2) {
        struct sort_item *done = to;

        for (size_t at = 0; at < count; at += 2 * width) {
            size_t here = count - at < 2 * width ? count - at : 2 * width;
            size_t middle = here < width ? here : width;

            if (merge_sorted_runs(render, from + at, to + at, middle, here, descending) < 0)
                return -1;
        }
        to = from;
        from = done;
    }
    for (size_t i = 0; i < count && from != items; i++)
        items[i] = from[i];
    return 0;
}

int sort_by_key(struct render *render, struct sort_item *items, size_t count, bool descending)
{
    return count <= FEW_ITEMS ? insert_each(render, items, count, descending)
                              : merge_runs(render, items, count, descending);
}

#include "language/jmespath/jmes_order.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "language/jmespath/jmes_eval.h"
#include "language/jmespath/jmes_lex.h"

struct ranked {
    struct value key, item;
    size_t at; /* equal keys keep their order */
};

static int compare_ranked_keys(const struct ranked *a, const struct ranked *b)
{
    int order;

    return value_compare(&a->key, &b->key, &order) < 0 ? 0 : order;
}

static int compare_ranked(const void *one, const void *other)
{
    const struct ranked *a = one, *b = other;
    int order = compare_ranked_keys(a, b);

    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Each item with its sort key: itself, or the result of `by` for it. */
static int rank_items(struct jmes_eval *eval, const struct value_list *list,
                      const struct jmes_node *by, struct ranked **ret)
{
    struct ranked *ranked = ARENA_ARRAY(eval->arena, struct ranked, list->count);
    bool numbers = true, texts = true;
    size_t at = eval->at;

    for (size_t i = 0; i < list->count; i++) {
        ranked[i] = (struct ranked){ list->items[i], list->items[i], i };
        if (by && jmes_eval_node(eval, by, &list->items[i], &ranked[i].key) < 0)
            return -1;
        numbers &= ranked[i].key.kind == VALUE_INT || ranked[i].key.kind == VALUE_DOUBLE;
        texts &= ranked[i].key.kind == VALUE_STR;
    }
    if (!numbers && !texts)
        return jmes_fail(eval->err, eval->text, at, "the keys must be all numbers or all strings");
    *ret = ranked;
    return 0;
}

int jmes_order_sort(struct jmes_eval *eval, const struct value_list *list,
                    const struct jmes_node *by, struct value *ret)
{
    struct value_list *made = value_list_new(eval->arena, list->count);
    struct ranked *ranked;

    if (rank_items(eval, list, by, &ranked) < 0)
        return -1;
    if (list->count > 1)
        qsort(ranked, list->count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < list->count; i++)
        value_list_push(eval->arena, made, ranked[i].item);
    *ret = value_list(made);
    return 0;
}

int jmes_order_pick(struct jmes_eval *eval, const struct value_list *list,
                    const struct jmes_node *by, int sign, struct value *ret)
{
    struct ranked *ranked, *best;

    *ret = value_null();
    if (list->count == 0)
        return 0;
    if (rank_items(eval, list, by, &ranked) < 0)
        return -1;
    best = ranked;
    for (size_t i = 1; i < list->count; i++)
        if (compare_ranked_keys(&ranked[i], best) == sign)
            best = &ranked[i];
    *ret = best->item;
    return 0;
}

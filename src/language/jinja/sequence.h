/*
 * sequence - iterables other than lists: ranges, map views and generators.
 *
 * A range is lazy: its length, items and members are computed. A view shows the current state of
 * its map. A generator gives its items once; it has no length and no items by number, like the
 * results of Python's `map`, `select` or `reversed`.
 *
 * Memory: the arena of the rendering.
 */
#ifndef LANGUAGE_JINJA_SEQUENCE_H
#define LANGUAGE_JINJA_SEQUENCE_H

#include "language/jinja/object.h"

struct range {
    struct object object;
    int64_t start, stop, step; /* step is never 0 */
    uint64_t length;
};

extern const struct object_type range_type;

/* range(start, stop, step); fails when step is zero. */
int range_new(struct render *render, int64_t start, int64_t stop, int64_t step, struct value *ret);
bool range_has(const struct range *range, const struct value *item);
/* range[start:stop:step], all three already clamped to it as in a slice. */
struct value range_part(struct render *render, const struct range *range, int64_t start,
                        int64_t stop, int64_t step);
/* Item number `i`, which must be less than the length. */
int64_t range_item(const struct range *range, uint64_t i);

enum view_kind { VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS };

/* `map` is a value of kind VALUE_MAP. */
struct value view_new(struct render *render, enum view_kind kind, const struct value *map);

/* The items of `list`, once. `type_name` is Python's name of the type: "generator",
 * "list_reverseiterator", "map"; it is borrowed. */
struct value generator_new(struct render *render, const char *type_name,
                           const struct value_list *list);

#endif

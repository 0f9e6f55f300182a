/*
 * sort - put values in order, as sorted() and list.sort() of templates do.
 *
 * The caller pairs each value with its key and calls sort_by_key. Equal keys keep
 * their order, also backwards. A comparison may fail (a number beside a text), and
 * each one counts as a step of the render; on failure the order is unspecified.
 */
#ifndef LANGUAGE_JINJA_SORT_H
#define LANGUAGE_JINJA_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/value.h"

struct render;

struct sort_item {
    struct value key, value;
};

/* Order `items` by their keys. Fails with the error in `render`, as comparing does. */
int sort_by_key(struct render *render, struct sort_item *items, size_t count, bool descending);

#endif

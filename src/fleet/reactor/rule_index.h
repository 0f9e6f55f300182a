/*
 * rule_index - finds the patterns that may match a key.
 *
 * Most patterns begin or end with literal text, like '_admin/deploy/web-*', or have a literal part
 * between slashes. They are indexed by the longer end, or by the first such part; glob_match does
 * the rest. So a key is compared only with patterns that share text with it.
 *
 *     rule_index_add... -> rule_index_find
 *
 * Pure. Memory: the arena; patterns are borrowed. Threads: any, once all were added.
 */
#ifndef FLEET_REACTOR_RULE_INDEX_H
#define FLEET_REACTOR_RULE_INDEX_H

#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;

struct rule_index_numbers {
    VEC(size_t) list;
};

/* Patterns by their literal text. */
struct rule_index_side {
    struct map numbers;  /* struct rule_index_numbers by literal text */
    VEC(size_t) lengths; /* of these texts, each once */
};

struct rule_index {
    struct arena *arena;
    struct rule_index_side begins, ends;
    struct rule_index_side parts; /* of patterns without literal ends */
};

void rule_index_init(struct rule_index *index, struct arena *arena);
/* `number` identifies the pattern; numbers must ascend. */
void rule_index_add(struct rule_index *index, struct str pattern, size_t number);
/* Patterns that may match, ascending, each once. */
void rule_index_find(const struct rule_index *index, struct arena *arena, struct str key,
                     struct rule_index_numbers *ret_numbers);

#endif

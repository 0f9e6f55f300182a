/*
 * rule_index - which of many patterns can match a key at all.
 *
 * Most patterns begin or end with letters, as '_admin/deploy/web-*' does, or have a whole part
 * between slashes. Each is found by the longer of its ends, or by the first such part; the rest is
 * left to glob_match. A key is compared with patterns that have something in common with it, and
 * not with all of them.
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

/* Patterns by letters of theirs. */
struct rule_index_side {
    struct map numbers;  /* struct rule_index_numbers by letters */
    VEC(size_t) lengths; /* of those letters, each once */
};

struct rule_index {
    struct arena *arena;
    struct rule_index_side begins, ends;
    struct rule_index_side parts; /* of patterns without letters at their ends */
};

void rule_index_init(struct rule_index *index, struct arena *arena);
/* `number` is what is found; numbers must rise. */
void rule_index_add(struct rule_index *index, struct str pattern, size_t number);
/* Those that may match, in rising order, each once. */
void rule_index_find(const struct rule_index *index, struct arena *arena, struct str key,
                     struct rule_index_numbers *ret_numbers);

#endif

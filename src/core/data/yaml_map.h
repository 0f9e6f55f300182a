/*
 * yaml_map - the pairs of one YAML map: duplicates reported, merge keys resolved.
 *
 *     yaml_map_init -> { yaml_map_add, yaml_map_merge }... -> yaml_map_finish
 *
 * Mistakes go to the diagnostics, each with its place, and the pair is left out.
 * Memory: the arena. Threads: one at a time.
 */
#ifndef CORE_DATA_YAML_MAP_H
#define CORE_DATA_YAML_MAP_H

#include "core/base/vec.h"
#include "core/data/value.h"

struct yaml_map {
    struct arena *arena;
    struct diags *diags;
    struct value_map *own;
    struct value merge_key;               /* `<<`, once it came; VALUE_NULL before */
    VEC(const struct value_map *) merges; /* weakest first */
};

void yaml_map_init(struct yaml_map *map, struct arena *arena, struct diags *diags);
/* Add a pair. A duplicate key is a mistake. */
void yaml_map_add(struct yaml_map *map, const struct value *key, const struct value *value);
/* Add the value of `<<`: a map, or a list of maps, the first of which is strongest. */
void yaml_map_merge(struct yaml_map *map, const struct value *key, const struct value *value);
/* Own pairs over the merged ones, each in the place of the pair that it overrides. */
struct value_map *yaml_map_finish(const struct yaml_map *map);

#endif

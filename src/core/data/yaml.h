/*
 * yaml - text to a value tree, with the place of every value.
 *
 * Anchors, aliases and merge keys are resolved while reading: an alias shares the
 * tree it stands for, and counts against the budget of nodes as if it had been
 * copied. Merge keys (`<<: *a`, `<<: [*a, {x: 1}]`) work in both dialects; the
 * map's own keys win, then the earlier of the merged maps. As in PyYAML merged
 * keys come first in the order, those of the last map of a list before all others.
 *
 * Core tags (!!str, !!int, !!binary...) are applied and not kept. Local tags (!lua,
 * !encrypted) that the options name are kept, see value_tag; a scalar that has one is always
 * text. Any other is a mistake. Text that was quoted or a block carries VALUE_QUOTED.
 *
 * Mistakes: a duplicate key, an unknown alias and the like do not end the reading,
 * so that all are reported at once; a syntax error does.
 *
 * Memory: the tree, and a copy of the text for carets, belong to the arena.
 * Threads: any, each with its own arena.
 */
#ifndef CORE_DATA_YAML_H
#define CORE_DATA_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct diags;
struct value;

/* The reading of plain scalars; core/data/scalar.h has the rules. */
enum yaml_dialect {
    YAML_DIALECT_1_1,  /* `yes` is true, `0644` is octal, `2024-01-31` is a time */
    YAML_DIALECT_1_2,  /* the core schema: `yes` is text, `0644` is 644, `0o644` is octal */
    YAML_DIALECT_SALT, /* 1.1 as Salt reads it: `0644` is 644, `2024-01-31` is text */
};
/* The dialect of a file of states or settings: Salt's when its name ends in ".sls", else 1.1. */
enum yaml_dialect yaml_dialect_of(const char *path);

/* Default limits. */
#define YAML_SIZE_MAX   ((size_t)10 << 20) /* bytes of a text */
#define YAML_DEPTH_MAX  128                /* lists and maps inside one another */
#define YAML_NODES_MAX  1000000           /* values of a text; those of aliases are counted again */
#define YAML_SCALAR_MAX ((size_t)4 << 20) /* bytes of one scalar */
/* The maximum depth, since readers of a tree recurse. */
#define YAML_DEPTH_CEILING 1000

/* For callers that keep tags as they are, or look at each one themselves. */
extern const char *const yaml_all_tags[];

/* All zero is the default. */
struct yaml_options {
    enum yaml_dialect dialect;
    /* 0: the limits above */
    size_t size_max, nodes_max, scalar_max;
    uint32_t depth_max;
    const char *const *tags; /* local tags that are kept, until NULL; NULL: none */
    bool lasting;            /* the text lives as long as the arena: values may point to it */
    bool unordered;          /* the order of keys does not count: maps are not marked as ordered */
};

/* Read the one document of `text`; an empty text is null. `file` is for messages and may be NULL;
 * so may `options`. Returns -1 when it added to `diags`. */
int yaml_parse(struct arena *arena, const char *file, struct str text,
               const struct yaml_options *options, struct value *ret, struct diags *diags);

/* Read all documents into a list. An empty text has none. */
int yaml_parse_all(struct arena *arena, const char *file, struct str text,
                   const struct yaml_options *options, struct value *ret_list, struct diags *diags);

#endif

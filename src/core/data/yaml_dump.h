/*
 * yaml_dump - a value tree in PyYAML's layout, for files that Salt used to write.
 *
 * Block style, keys sorted, lists not indented below their key, lines folded at 80 columns,
 * quotes where YAML 1.1 would read a word as something else. core/data/yaml_print.h is for
 * everything else.
 */
#ifndef CORE_DATA_YAML_DUMP_H
#define CORE_DATA_YAML_DUMP_H

#include <stdbool.h>

struct arena;
struct buf;
struct err;
struct value;

/* Lines, each with its line end; `arena` is scratch. Fails with ERR_UNSUPPORTED for values without
 * a YAML form, with ERR_LIMIT for more than YAML_DEPTH_MAX levels or a full buffer. */
int yaml_dump(struct arena *arena, struct buf *out, const struct value *v, struct err *err);
/* The same with the options of PyYAML. */
struct yaml_dump_style {
    int indent, width;
    bool flow, unsorted;
    bool ascii; /* other characters as "\xE9" */
    bool start; /* begin with "---" */
};
int yaml_dump_styled(struct arena *arena, struct buf *out, const struct value *v,
                     const struct yaml_dump_style *style, struct err *err);
/* The same in the style of Salt's filters: maps with a significant order (core/data/value.h) keep
 * it, and `flow` has braces and brackets instead of lines. Fails alike. */
int yaml_dump_ordered(struct arena *arena, struct buf *out, const struct value *v, bool flow,
                      struct err *err);

#endif

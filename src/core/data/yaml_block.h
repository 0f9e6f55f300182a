/*
 * yaml_block - the events of YAML as most people write it, read line by line.
 *
 * Block maps and lists, plain and quoted text that ends on its line, literal blocks
 * (`|`), short lists and maps in brackets (`[a, b]`) on one line and comments: that is
 * nearly every state file, and it takes a fraction of the time of libyaml. Anything
 * else (longer flow style, anchors, tags, directives, text over several lines, tabs,
 * several documents, and every mistake) is refused. The
 * caller then begins again with libyaml, which knows the whole language and where
 * the mistakes are. What is accepted has the events that libyaml gives for it, with
 * the same places; tests/fuzz/fuzz_yaml.c compares the two.
 *
 *     yaml_block_init -> yaml_block_next...
 *
 * Memory: text that is not in the source as it is (a block without its indentation,
 * an escape) belongs to the arena. Threads: one at a time.
 */
#ifndef CORE_DATA_YAML_BLOCK_H
#define CORE_DATA_YAML_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

#include "core/base/str.h"

struct arena;

/* Lists and maps inside one another; deeper nesting is refused. */
#define YAML_BLOCK_DEPTH_MAX 64
/* Items in brackets on one line, their ends included; a line with more is refused. */
#define YAML_BLOCK_FLOW_MAX 64
/* A line closes and opens at most all levels, and has a key and a value; an empty value may end
 * before it, and the document after it. */
#define YAML_BLOCK_ITEMS_MAX (2 * YAML_BLOCK_DEPTH_MAX + YAML_BLOCK_FLOW_MAX + 8)

struct yaml_block_item {
    yaml_event_type_t type;
    yaml_scalar_style_t style;
    struct str text;
    bool kept; /* the text is in the arena, and ends in NUL */
    uint32_t line, column;
};

struct yaml_block_level {
    size_t column;
    bool is_list;
    bool hangs; /* a list at the column of the map whose value it is */
};

struct yaml_block {
    struct arena *arena;
    struct str text;
    size_t next;    /* offset of the next row */
    struct str row; /* without its line end */
    uint32_t line;  /* line of the row, from 0 */
    size_t at;      /* in the row */
    bool ended;     /* there is no row left */
    bool marked;    /* the row "---" was there */
    struct yaml_block_level levels[YAML_BLOCK_DEPTH_MAX];
    size_t depth;
    bool awaits;                  /* a key or a dash without a value so far */
    struct yaml_block_item empty; /* its value, if none comes */
    struct yaml_block_item items[YAML_BLOCK_ITEMS_MAX];
    size_t first, count; /* items of the row that have not been fetched */
};

/* `text` ends in NUL, has passed yaml_text_check, and has no line ends but '\n'. */
void yaml_block_init(struct yaml_block *block, struct arena *arena, struct str text);

/* The next event; nothing in it needs freeing. `ret_kept` is true when its text is in the arena.
 * False: the text needs libyaml. */
bool yaml_block_next(struct yaml_block *block, yaml_event_t *ret, bool *ret_kept);

#endif

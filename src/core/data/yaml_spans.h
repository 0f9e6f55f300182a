/*
 * yaml_spans - the places of tagged scalars in a text, to replace them there.
 *
 *     db:
 *       password: !encrypted hunter2      start and end, value "hunter2", path "db.password"
 *
 * The span covers tag and scalar, and an anchor when it has one. Blanks and line ends after a
 * block scalar do not belong to it.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef CORE_DATA_YAML_SPANS_H
#define CORE_DATA_YAML_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;

struct yaml_span {
    size_t start, end;  /* bytes of the text */
    uint32_t line;      /* line of its start */
    const char *tag;    /* that of the caller */
    struct str value;   /* as a reader of YAML sees it */
    const char *path;   /* keys and numbers of items, with dots between */
    const char *anchor; /* NULL: none */
    bool is_value;      /* false: it is a key, or not a scalar; the rest is not set then */
};

struct yaml_spans {
    VEC(struct yaml_span) list; /* in the order of the text */
};

/* All nodes with one of `tags`, a list that ends with NULL. Fails with ERR_INVALID; the error has
 * the line but no text of the document. */
int yaml_find_tagged(struct arena *arena, struct str text, const char *const *tags,
                     struct yaml_spans *ret_spans, struct err *err);

#endif

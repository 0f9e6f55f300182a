/*
 * datapath - a value by its path in facts or settings.
 */
#ifndef MODULES_DATAPATH_H
#define MODULES_DATAPATH_H

#include "data/params.h"
#include "data/value.h"

/* Parts of the path are divided by ':' or by '.'. NULL when it leads nowhere. */
const struct value *datapath_find(const struct value *tree, const char *path);
/* The same; not there: `otherwise`, or an empty text. */
struct value datapath_get(const struct value *tree, const char *path,
                          const struct value *otherwise);
/* What every look-up by path takes. */
struct datapath_args {
    const char *key;
    const struct value *otherwise;
};
extern const struct param datapath_params[];

/* The keys of a map, in order. */
struct value datapath_keys(struct arena *arena, const struct value *tree);

#endif

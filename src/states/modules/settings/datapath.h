/*
 * datapath - a value by its path in facts or settings.
 */
#ifndef STATES_MODULES_SETTINGS_DATAPATH_H
#define STATES_MODULES_SETTINGS_DATAPATH_H

#include "core/data/params.h"
#include "core/data/value.h"

struct err;
struct state_run;

/* Parts of the path are separated by ':' or '.'. NULL: not found. */
const struct value *datapath_find(const struct value *tree, const char *path);
/* The same; if not found, `otherwise` or an empty text. */
struct value datapath_get(const struct value *tree, const char *path,
                          const struct value *otherwise);
/* The arguments of every look-up by path. */
struct datapath_args {
    const char *key;
    const struct value *otherwise;
};
extern const struct param datapath_params[];

struct datapath_keys_args {
    const char *key; /* NULL: all */
};
extern const struct param datapath_keys_params[];

/* Several of them: a map by their paths; an empty text for what is not there. */
struct datapath_items_args {
    struct param_strs keys;
};
extern const struct param datapath_items_params[];
struct value datapath_items(struct arena *arena, const struct value *tree,
                            const struct param_strs *paths);

/* Functions that settings and facts have under several names. */
int datapath_call_settings(struct state_run *run, const void *args, struct value *ret,
                           struct err *err);
int datapath_call_setting(struct state_run *run, const void *args, struct value *ret,
                          struct err *err);
int datapath_call_setting_items(struct state_run *run, const void *args, struct value *ret,
                                struct err *err);
int datapath_call_setting_keys(struct state_run *run, const void *args, struct value *ret,
                               struct err *err);

/* The keys of a map, in order. */
struct value datapath_keys(struct arena *arena, const struct value *tree);

#endif

/*
 * index - finds the machines of a target quickly among many.
 *
 *     index = target_index_new();
 *     target_index_put(index, STR("web1"), facts);       again when they change
 *     target_index_find(index, target, &arena, &found, err);
 *
 * A target is matched against all machines at once: each term splits a set of machines, as bits,
 * into matching and other ones. For facts and settings there is a column for each path in use: the
 * number of each machine's value. So a term is compared with each different value once, whatever
 * the number of machines. Frequently used paths keep their columns up to date; others are built on
 * demand by a walk through the facts of all machines. At most INDEX_COLUMNS_MAX are kept; the least
 * used one goes.
 *
 * The answers equal those of target_match for each machine. A machine with unknown settings is only
 * found when the result does not depend on them: neither I@role:web nor `not I@role:web` matches
 * it.
 *
 * Memory: heap; some 100 bytes for each machine, 4 for each of its columns, each different value
 * once. Facts and settings are borrowed until others are put or the machine is removed, its id
 * until it is removed. Threads: one at a time.
 */
#ifndef LANGUAGE_TARGET_INDEX_H
#define LANGUAGE_TARGET_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct target;
struct target_index;
struct value;

#define INDEX_COLUMNS_MAX 64

struct target_found {
    VEC(struct str) ids; /* as stored; in no order */
};

struct target_index *target_index_new(void);
/* NULL is fine. */
void target_index_free(struct target_index *index);

/* Fails with ERR_LIMIT for an id that is too long; `facts` is a map. */
int target_index_put(struct target_index *index, struct str id, const struct value *facts,
                     struct err *err);
/* Settings of a known machine; NULL: unknown, as at first. */
void target_index_put_settings(struct target_index *index, struct str id,
                               const struct value *settings);
/* An unknown one is fine. */
void target_index_remove(struct target_index *index, struct str id);
size_t target_index_count(const struct target_index *index);

/* The limits of a search. */
struct target_limit {
    bool (*is_over)(void *self); /* called before each machine; may end the search */
    void *self;
};

/* Fails as target_match does. */
int target_index_find(struct target_index *index, const struct target *target, struct arena *arena,
                      struct target_found *ret_found, struct err *err);

/* The same with limits; fails with ERR_BUSY when they are exceeded. NULL: none. */
int target_index_find_within(struct target_index *index, const struct target *target,
                             const struct target_limit *limit, struct arena *arena,
                             struct target_found *ret_found, struct err *err);

/* Its size in bytes, without facts and settings. */
size_t target_index_bytes(const struct target_index *index);

#endif

/*
 * tree_keys - the keys of a bucket, with the sums of their values.
 *
 * Memory: its own. Threads: one.
 */
#ifndef FLEET_MASTER_FILES_TREE_KEYS_H
#define FLEET_MASTER_FILES_TREE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/base/str.h"

struct tree_key {
    char sha256[SHA256_HEX_SIZE]; /* "": deleted */
    uint64_t revision;
    char key[];
};

struct tree_keys {
    struct map map; /* struct tree_key */
};

void tree_keys_done(struct tree_keys *keys);

/* Older revisions are ignored. */
void tree_keys_put(struct tree_keys *keys, struct str name, struct str value, uint64_t revision);
void tree_keys_remove(struct tree_keys *keys, struct str name, uint64_t revision);
/* Drop removed keys. */
void tree_keys_forget_removed(struct tree_keys *keys);

/* Has it a value with this sum? NULL: any. */
bool tree_keys_has(const struct tree_keys *keys, const char *name, const char *sha256);
/* Decimal digits; anything else ends them. */
uint64_t tree_keys_read_number(struct str text);
/* 0: no such key. */
uint64_t tree_keys_revision(const struct tree_keys *keys, const char *name);
/* Iterates over existing keys; NULL begins and ends. */
struct map_entry *tree_keys_next(const struct tree_keys *keys, const struct map_entry *entry);
#define TREE_KEYS_EACH(keys, entry)                                                                \
    for (struct map_entry *entry = tree_keys_next((keys), NULL); entry;                            \
         entry = tree_keys_next((keys), entry))
/* Iterates over existing files, the keys without a leading '_'; NULL begins and ends. */
struct map_entry *tree_keys_next_file(const struct tree_keys *keys, const struct map_entry *entry);

#endif

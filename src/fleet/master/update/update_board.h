/*
 * update_board - a live copy of the update buckets: nodes, published versions, rollouts.
 *
 * Entries are kept as stored, and decoded when needed.
 *
 *     update_board_new -> { update_board_find, UPDATE_BOARD_EACH }... -> stop -> free
 *
 * Memory: an entry is borrowed until the loop turns. Threads: the loop's.
 */
#ifndef FLEET_MASTER_UPDATE_UPDATE_BOARD_H
#define FLEET_MASTER_UPDATE_UPDATE_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "fleet/nats/js.h"
#include "fleet/wire/update.h"

struct arena;
struct err;
struct update_board;

enum update_list { UPDATE_LIST_NODES, UPDATE_LIST_MANIFESTS, UPDATE_LIST_ROLLOUTS };
#define UPDATE_LISTS (UPDATE_LIST_ROLLOUTS + 1)

/* Further new entries are ignored. */
#define UPDATE_BOARD_MAX 200000

struct update_entry {
    uint64_t revision;
    int64_t seen; /* clock_now */
    struct str bytes;
};

struct update_board_options {
    struct nats_js js;
    void (*changed)(void *self, enum update_list list, const char *key); /* may be NULL */
    void *self;
};

struct update_board *update_board_new(const struct update_board_options *options, struct err *err);
/* Before the connection ends. */
void update_board_stop(struct update_board *board);
/* NULL is fine. */
void update_board_free(struct update_board *board);

/* Have all existing entries been read? */
bool update_board_is_seeded(const struct update_board *board);

/* NULL: no such entry. */
const struct update_entry *update_board_find(const struct update_board *board,
                                             enum update_list list, const char *key);
/* Key -> struct update_entry. */
const struct map *update_board_map(const struct update_board *board, enum update_list list);

/* The node, if it reported within the bucket's TTL; otherwise false. */
bool update_board_node(const struct update_board *board, struct arena *arena,
                       enum update_component component, const char *id, struct update_node *ret);
/* The published manifest of a version for this node. False: none. */
bool update_board_manifest(const struct update_board *board, struct arena *arena,
                           const struct update_node *node, const char *version,
                           struct update_manifest *ret);

#endif

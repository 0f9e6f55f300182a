#include "fleet/master/update/update_board.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"

struct version_list {
    struct update_board *board;
    enum update_list number;
    struct map entries;
    struct nats_kv_watch *watch;
    bool is_seeded;
};

struct update_board {
    struct update_board_options options;
    struct version_list lists[UPDATE_LISTS];
};

static const enum store_bucket buckets[UPDATE_LISTS] = {
    [UPDATE_LIST_NODES] = STORE_UPDATE_STATUS,
    [UPDATE_LIST_MANIFESTS] = STORE_UPDATE_MANIFESTS,
    [UPDATE_LIST_ROLLOUTS] = STORE_UPDATE_ROLLOUTS,
};

/* The entry owns the map key, so remove the old one first. */
static void keep_board_entry(struct version_list *version_list, const struct nats_kv_entry *entry)
{
    struct update_entry *kept = mem_alloc(sizeof(*kept) + entry->key.n + entry->value.n);
    char *key = (char *)(kept + 1), *bytes = key + entry->key.n;

    memcpy(key, entry->key.p, entry->key.n);
    if (entry->value.n > 0)
        memcpy(bytes, entry->value.p, entry->value.n);
    *kept = (struct update_entry){ entry->revision, clock_now(), { bytes, entry->value.n } };
    free(map_remove(&version_list->entries, entry->key));
    (void)map_set(&version_list->entries, (struct str){ key, entry->key.n }, kept);
}

static void on_board_entry(void *self, const struct nats_kv_entry *entry)
{
    struct version_list *version_list = self;
    const struct update_board_options *options = &version_list->board->options;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (entry->change != NATS_KV_PUT)
        free(map_remove(&version_list->entries, entry->key));
    else if (map_count(&version_list->entries) < UPDATE_BOARD_MAX ||
             map_has(&version_list->entries, entry->key))
        keep_board_entry(version_list, entry);
    if (options->changed)
        options->changed(options->self, version_list->number, arena_str(&arena, entry->key).p);
}

static void on_board_caught_up(void *self)
{
    ((struct version_list *)self)->is_seeded = true;
}

static void on_board_watch_failed(void *self, const struct nats_error *error)
{
    struct version_list *version_list = self;

    if (error->fault != NATS_FAULT_CANCELED)
        log_warning("bucket cannot be watched bucket=%s error=%s",
                    store_bucket_name(buckets[version_list->number]), error->text);
}

static int open_version_list(struct update_board *board, enum update_list number, struct err *err)
{
    struct version_list *version_list = &board->lists[number];
    const struct nats_kv kv = { .js = board->options.js,
                                .bucket = store_bucket_name(buckets[number]) };

    version_list->board = board;
    version_list->number = number;
    version_list->watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .entry = on_board_entry,
                                                           .caught_up = on_board_caught_up,
                                                           .failed = on_board_watch_failed,
                                                           .self = version_list },
                          err);
    return version_list->watch ? 0 : -1;
}

struct update_board *update_board_new(const struct update_board_options *options, struct err *err)
{
    struct update_board *board = mem_zalloc(sizeof(*board));

    board->options = *options;
    for (enum update_list number = 0; number < UPDATE_LISTS; number++)
        if (open_version_list(board, number, err) < 0) {
            update_board_stop(board);
            update_board_free(board);
            return NULL;
        }
    return board;
}

void update_board_stop(struct update_board *board)
{
    for (size_t i = 0; i < UPDATE_LISTS; i++) {
        nats_kv_watch_free(board->lists[i].watch);
        board->lists[i].watch = NULL;
    }
}

void update_board_free(struct update_board *board)
{
    if (!board)
        return;
    for (size_t i = 0; i < UPDATE_LISTS; i++) {
        MAP_EACH (&board->lists[i].entries, entry)
            free(entry->value);
        map_done(&board->lists[i].entries);
    }
    free(board);
}

bool update_board_is_seeded(const struct update_board *board)
{
    for (size_t i = 0; i < UPDATE_LISTS; i++)
        if (!board->lists[i].is_seeded)
            return false;
    return true;
}

const struct map *update_board_map(const struct update_board *board, enum update_list version_list)
{
    return &board->lists[version_list].entries;
}

const struct update_entry *update_board_find(const struct update_board *board,
                                             enum update_list version_list, const char *key)
{
    return map_find(&board->lists[version_list].entries, str_from(key));
}

bool update_board_node(const struct update_board *board, struct arena *arena,
                       enum update_component component, const char *id, struct update_node *ret)
{
    const struct update_entry *entry =
        update_board_find(board, UPDATE_LIST_NODES,
                          arena_printf(arena, "%s.%s", update_component_name(component), id));
    struct err err;

    return entry && clock_now() - entry->seen < store_bucket_ttl(STORE_UPDATE_STATUS) &&
           record_decode(arena, &update_node_type, 1, arena_str(arena, entry->bytes), ret, &err) ==
               0 &&
           ret->component == component && strcmp(ret->id, id) == 0;
}

bool update_board_manifest(const struct update_board *board, struct arena *arena,
                           const struct update_node *node, const char *version,
                           struct update_manifest *ret)
{
    const struct update_entry *entry =
        update_board_find(board, UPDATE_LIST_MANIFESTS,
                          arena_printf(arena, "%s.%s.%s.%s", update_component_name(node->component),
                                       node->goos, node->goarch, version));
    struct err err;

    return entry && record_decode(arena, &update_manifest_type, 1, arena_str(arena, entry->bytes),
                                  ret, &err) == 0;
}

#include "fleet/master/files/tree_canary.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/master/files/tree_keys.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/wire/canary.h"

void tree_canary_make(struct arena *arena, const struct tree_set *set, const struct tree_keys *keys,
                      struct tree_set *ret)
{
    *ret = (struct tree_set){ .read = set->read };
    VEC_EACH (&set->files, file) {
        struct tree_set_file made = *file;

        if (!file->is_large && !tree_keys_has(keys, file->key, file->sha256)) {
            made.path = file->path[0] ? file->path : file->key;
            made.key = arena_printf(arena, CANARY_FILE "%s", file->sha256);
        }
        VEC_PUSH_IN(arena, &ret->files, made);
    }
}

bool tree_canary_is_file(struct str key)
{
    return str_starts(key, STR(CANARY_FILE));
}

static bool may_remove(const struct tree_keys *keys, struct str key, bool is_canary)
{
    const bool is_of_canary =
        tree_canary_is_file(key) || str_is(key, CANARY_MANIFEST) || str_is(key, CANARY_SIGNATURE);

    if (is_canary)
        return tree_canary_is_file(key);
    return is_of_canary ? !tree_keys_has(keys, CANARY_RECORD, NULL) : key.p[0] != '_';
}

void tree_canary_find_removed(const struct tree_keys *keys, const struct tree_set *set,
                              bool is_canary, struct tree_canary_removed *ret)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct map wanted = MAP_INIT_IN(&arena);

    VEC_EACH (&set->files, file)
        if (!file->is_large)
            (void)map_set(&wanted, str_from(file->key), file);
    ret->list.n = 0;
    TREE_KEYS_EACH(keys, entry)
    if (may_remove(keys, entry->key, is_canary) && !map_has(&wanted, entry->key))
        VEC_PUSH(&ret->list, entry->key.p);
}

uint64_t tree_canary_revision(struct str manifest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_files files;
    struct err err;

    return tree_files_parse(&arena, manifest, &files, &err) == 0 ? files.revision : 0;
}

#include "fleet/master/files/tree_sums.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/sys/fs.h"

struct remembered {
    dev_t device;
    ino_t inode;
    uint64_t bytes;
    int64_t mtime, ctime;
    struct tree_sum sum;
    char path[];
};

static void clear_map(struct map *map)
{
    MAP_EACH (map, entry)
        free(entry->value);
    map_done(map);
    *map = (struct map)MAP_INIT;
}

void tree_sums_done(struct tree_sums *sums)
{
    clear_map(&sums->known);
    clear_map(&sums->next);
}

void tree_sums_forget(struct tree_sums *sums)
{
    tree_sums_done(sums);
}

void tree_sums_begin(struct tree_sums *sums)
{
    clear_map(&sums->next);
}

static bool is_file_unchanged(const struct remembered *then, const struct fs_info *now)
{
    return then->device == now->device && then->inode == now->inode && then->bytes == now->size &&
           then->mtime == now->mtime && then->ctime == now->ctime;
}

bool tree_sums_find(struct tree_sums *sums, const char *path, const struct fs_info *now,
                    struct tree_sum *ret)
{
    struct remembered *found = map_find(&sums->known, str_from(path));

    if (!found || !is_file_unchanged(found, now))
        return false;
    *ret = found->sum;
    (void)map_remove(&sums->known, str_from(path));
    (void)map_set(&sums->next, str_from(found->path), found);
    return true;
}

void tree_sums_keep(struct tree_sums *sums, const char *path, const struct fs_info *info,
                    int64_t began, const struct tree_sum *sum)
{
    const int64_t changed = info->mtime > info->ctime ? info->mtime : info->ctime;
    struct remembered *made;

    if (changed > began - TREE_SUMS_SETTLED)
        return;
    made = mem_zalloc(sizeof(*made) + strlen(path) + 1);
    made->device = info->device;
    made->inode = info->inode;
    made->bytes = info->size;
    made->mtime = info->mtime;
    made->ctime = info->ctime;
    made->sum = *sum;
    memcpy(made->path, path, strlen(path));
    (void)map_set(&sums->next, str_from(made->path), made); /* a walk finds each path once */
}

void tree_sums_end(struct tree_sums *sums)
{
    clear_map(&sums->known);
    sums->known = sums->next;
    sums->next = (struct map)MAP_INIT;
}

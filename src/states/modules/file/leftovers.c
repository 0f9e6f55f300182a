#include "states/modules/file/leftovers.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/managed.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

struct search {
    struct state_run *run;
    struct arena *arena;
    size_t prefix; /* length of the folder's path, with the slash */
    leftovers_keep_fn *keep;
    void *self;
    struct leftovers *found;
    const char *last_kept; /* the latest path that is kept; NULL */
};

/* On leaving a folder: if nothing in it is kept, remove it as a whole. */
static void leave_leftover_folder(struct search *search, const char *path)
{
    struct leftovers *found = search->found;

    if (search->last_kept &&
        (path_is_inside(search->last_kept, path) || strcmp(search->last_kept, path) == 0))
        return;
    while (found->list.n > 0 && path_is_inside(found->list.p[found->list.n - 1], path))
        found->list.n--;
    VEC_PUSH_IN(search->arena, &found->list, arena_strdup(search->arena, path));
}

/* Managed by another state of the run, or a file that one of them is writing. */
static bool is_managed_elsewhere(const struct state_run *run, const char *path)
{
    return managed_has(run->managed, path) || managed_covers(run->managed, path, run->name) ||
           fs_is_temp_name(path_basename(path).p);
}

static int visit_leftover_path(void *self, enum tree_step step, const struct tree_entry *entry,
                               struct err *err)
{
    struct search *search = self;
    bool kept;

    if (entry->depth == 0)
        return 0;
    if (step == TREE_LEAVE) {
        leave_leftover_folder(search, entry->path);
        return 0;
    }
    kept = is_managed_elsewhere(search->run, entry->path);
    if (!kept && search->keep(search->self, entry->path + search->prefix, &kept, err) < 0)
        return -1;
    if (kept)
        search->last_kept = arena_strdup(search->arena, entry->path);
    else if (step == TREE_ENTRY)
        VEC_PUSH_IN(search->arena, &search->found->list, arena_strdup(search->arena, entry->path));
    return 0;
}

int leftovers_find(struct state_run *run, const char *folder, leftovers_keep_fn *keep, void *self,
                   struct leftovers *ret, struct err *err)
{
    struct search search = {
        .run = run,
        .arena = run->arena,
        .prefix = strlen(folder) + 1,
        .keep = keep,
        .self = self,
        .found = ret,
    };
    AUTO_SITE struct site site = SITE_INIT;

    *ret = (struct leftovers){ .known = MAP_INIT_IN(run->arena) };
    if (site_walk(&site, folder, 0, err) < 0)
        return -1;
    if (site.info.kind != FS_FOLDER)
        return 0;
    if (tree_walk_at(&site, visit_leftover_path, &search, err) < 0)
        return -1;
    VEC_EACH (&ret->list, path)
        map_set(&ret->known, str_from(*path), ret);
    return 0;
}

bool leftovers_has(const struct leftovers *leftovers, const char *path)
{
    return map_has(&leftovers->known, str_from(path));
}

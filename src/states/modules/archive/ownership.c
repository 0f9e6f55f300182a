#include "states/modules/archive/ownership.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/edit/lines.h"
#include "states/modules/archive/unpacked.h"
#include "states/state/module.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"
#include "states/undo/change.h"

struct ownership {
    struct state_run *run;
    const struct unpacked_wish *wish;
    const char *root; /* the folder */
    size_t skip;      /* bytes of a path below it that are not in the archive */
    struct map paths; /* archive paths, relative to the folder */
    struct map tops;
    bool acts;
    size_t found;
};

static bool has_other_owner(const struct unpacked_wish *wish, const struct fs_info *info)
{
    return (wish->options.uid != FS_KEEP && info->uid != wish->options.uid) ||
           (wish->options.gid != FS_KEEP && info->gid != wish->options.gid);
}

static int set_entry_owner(struct ownership *self, const struct tree_entry *entry, struct err *err)
{
    struct change_attr attr = CHANGE_KEEP;
    AUTO_SITE struct site site = SITE_INIT;

    attr.uid = self->wish->options.uid;
    attr.gid = self->wish->options.gid;
    tree_site(entry, &site);
    return change_attr_at(self->run, &site, &attr, err);
}

static int check_entry_owner(void *user, enum tree_step step, const struct tree_entry *entry,
                             struct err *err)
{
    struct ownership *self = user;
    const char *below = entry->path + self->skip;

    if (step == TREE_LEAVE || !has_other_owner(self->wish, &entry->info) ||
        !map_has(&self->paths, str_from(below)))
        return 0;
    if (self->found++ == 0 && !self->acts)
        state_differs(self->run, "%s has another owner or group", entry->path);
    return self->acts ? set_entry_owner(self, entry, err) : 0;
}

static void add_owned_path(struct ownership *self, struct str path)
{
    struct str rest = path;

    map_set(&self->paths, path, self);
    map_set(&self->tops, str_cut(&rest, '/'), self);
}

static int walk_top(struct ownership *self, struct str top, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;
    const char *path = path_join(self->run->arena, self->root, arena_str(self->run->arena, top).p);

    if (site_walk(&site, path, 0, err) < 0)
        return -1;
    return site.info.kind == FS_NONE ? 0 : tree_walk_at(&site, check_entry_owner, self, err);
}

static int walk_paths(struct ownership *self, struct err *err)
{
    struct str text;
    struct line line;

    if (self->wish->options.uid == FS_KEEP && self->wish->options.gid == FS_KEEP)
        return 0;
    if (unpacked_paths(self->run, self->wish, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line))
        add_owned_path(self, line.text);
    MAP_EACH (&self->tops, top)
        if (walk_top(self, top->key, err) < 0)
            return -1;
    return 0;
}

static struct ownership begin_ownership_walk(struct state_run *run,
                                             const struct unpacked_wish *wish, bool acts)
{
    const char *root = path_normalise(run->arena, wish->folder);

    return (struct ownership){
        .run = run,
        .wish = wish,
        .root = root,
        .skip = strcmp(root, "/") == 0 ? 1 : strlen(root) + 1,
        .paths = MAP_INIT_IN(run->arena),
        .tops = MAP_INIT_IN(run->arena),
        .acts = acts,
    };
}

int ownership_check(struct state_run *run, const struct unpacked_wish *wish, struct err *err)
{
    struct ownership self = begin_ownership_walk(run, wish, false);

    return walk_paths(&self, err);
}

int ownership_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err)
{
    struct ownership self = begin_ownership_walk(run, wish, true);

    if (walk_paths(&self, err) < 0)
        return -1;
    if (self.found == 0) {
        state_unchanged(run);
        return 0;
    }
    buf_clear(&run->text);
    state_say(run, "set owner and group of %zu paths in %s", self.found, wish->folder);
    return 0;
}

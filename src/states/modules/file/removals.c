#include "states/modules/file/removals.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/managed.h"
#include "states/state/module.h"
#include "states/undo/change.h"

/* Paths that are reported one by one. */
#define SENTENCES_MAX 50

void removals_add(struct state_run *run, struct removals *removals, const char *path)
{
    if (managed_has(run->managed, path) || managed_covers(run->managed, path, run->name))
        return;
    VEC_PUSH_IN(run->arena, &removals->list, arena_strdup(run->arena, path));
}

/* For "1 path" and "2 paths". */
static const char *choose_plural_end(const struct removals *removals)
{
    return removals->list.n == 1 ? "" : "s";
}

void removals_check(struct state_run *run, const struct removals *removals, const char *folder)
{
    if (removals->list.n == 0) {
        state_say(run, "nothing to remove in %s", folder);
        return;
    }
    state_differs(run, "%zu path%s in %s should be absent", removals->list.n,
                  choose_plural_end(removals), folder);
    state_made(run, "removed %zu path%s from %s", removals->list.n, choose_plural_end(removals),
               folder);
    for (size_t i = 0; i < removals->list.n && i < SENTENCES_MAX; i++)
        state_say(run, "%s", removals->list.p[i]);
}

int removals_apply(struct state_run *run, const struct removals *removals, const char *folder,
                   struct err *err)
{
    if (removals->list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    VEC_EACH (&removals->list, path)
        if (change_remove(run, *path, err) < 0)
            return -1;
    state_say(run, "removed %zu path%s from %s", removals->list.n, choose_plural_end(removals),
              folder);
    state_detail(run, "path", "%s", folder);
    state_detail(run, "removed", "%zu", removals->list.n);
    return 0;
}

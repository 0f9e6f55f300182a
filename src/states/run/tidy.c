#include "states/run/tidy.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/draft.h"
#include "core/sys/draft_log.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "states/undo/undo.h"

#define LOG_NAME  "drafts"
#define UNDO_NAME "undo"

/* Clean the data folder, its folders, and the folder of the last run, which may have been killed.
 * Errors are left to the next run. */
static void sweep_data(struct arena *arena, const char *data_dir)
{
    struct undo_places places;
    struct fs_names names;
    struct err ignored;

    if (fs_list(arena, data_dir, &names, &ignored) < 0)
        return;
    draft_sweep(data_dir);
    VEC_EACH (&names.list, name)
        if (strcmp(*name, UNDO_NAME) != 0)
            draft_sweep(path_join(arena, data_dir, *name));
    if (undo_list(arena, data_dir, &places, &ignored) == 0 && places.list.n > 0)
        draft_sweep(places.list.p[0].folder);
}

struct draft_log *tidy_begin(const char *data_dir)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    sweep_data(&arena, data_dir);
    return draft_log_open(path_join(&arena, data_dir, LOG_NAME));
}

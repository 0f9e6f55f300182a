#include "fleet/master/jobs/workroom.h"

#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define FOLDER_MODE 0700

static int take_folder(struct workroom *room, const char *folder, struct err *err)
{
    if (fs_mkdirs(folder, FOLDER_MODE, err) < 0 ||
        lock_take(&room->lock, path_join(&room->arena, folder, "lock"), LOCK_EXCLUSIVE, LOCK_TRY,
                  NULL, err) < 0)
        return -1;
    room->folder = folder;
    return 0;
}

const char *workroom_open(struct workroom *room, const char *all, struct err *err)
{
    int result = -1;

    for (int i = 1; !room->folder && i <= WORKROOM_MASTERS_MAX; i++) {
        result = take_folder(room, arena_printf(&room->arena, "%s/%d", all, i), err);
        if (result == 0 || err->code != ERR_BUSY)
            break;
    }
    return room->folder;
}

void workroom_done(struct workroom *room)
{
    lock_drop(&room->lock);
    arena_done(&room->arena);
    *room = (struct workroom)WORKROOM_INIT;
}

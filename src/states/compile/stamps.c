#include "states/compile/stamps.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"

void stamps_init(struct stamps *stamps, struct arena *arena, int64_t settled)
{
    *stamps = (struct stamps){ .arena = arena, .settled = settled };
}

void stamps_doubt(struct stamps *stamps)
{
    if (stamps)
        stamps->is_doubtful = true;
}

/* Compare everything that changes with the content of a file, but not atime, which reading changes.
 *  */
static bool is_same_stamp(const struct fs_info *a, const struct fs_info *b)
{
    if (a->kind != b->kind || a->kind == FS_NONE)
        return a->kind == b->kind;
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime == b->mtime && a->ctime == b->ctime;
}

void stamps_add(struct stamps *stamps, const char *path)
{
    struct stamp stamp;
    struct err ignored;

    if (!stamps || stamps->is_doubtful)
        return;
    if (stamps->list.n >= STAMPS_MAX || fs_stat(path, &stamp.info, &ignored) < 0 ||
        (stamp.info.kind != FS_NONE && stamp.info.ctime > clock_wall() - stamps->settled)) {
        stamps_doubt(stamps);
        return;
    }
    stamp.path = arena_strdup(stamps->arena, path);
    VEC_PUSH_IN(stamps->arena, &stamps->list, stamp);
}

bool stamps_can_last(const struct stamps *stamps)
{
    return !stamps->is_doubtful;
}

bool stamps_hold(const struct stamps *stamps)
{
    VEC_EACH (&stamps->list, stamp) {
        struct fs_info now;
        struct err ignored;

        if (fs_stat(stamp->path, &now, &ignored) < 0 || !is_same_stamp(&now, &stamp->info))
            return false;
    }
    return true;
}

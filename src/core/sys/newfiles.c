#include "core/sys/newfiles.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define FOLDER_MODE 0700

static int refuse_existing_files(struct arena *arena, const char *folder,
                                 const struct newfile *files, size_t count, const char *why,
                                 struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = path_join(arena, folder, files[i].name);
        struct fs_info info;

        if (fs_lstat(path, &info, err) < 0)
            return -1;
        if (info.kind != FS_NONE)
            return err_set(err, ERR_BUSY, "'%s' exists already: %s", path, why);
    }
    return 0;
}

void newfiles_remove(const char *folder, const struct newfile *files, size_t count)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err ignored;

    while (count-- > 0)
        (void)fs_unlink(path_join(&arena, folder, files[count].name), &ignored);
}

int newfiles_write(const char *folder, const struct newfile *files, size_t count, const char *why,
                   struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    size_t done = 0;

    if (refuse_existing_files(&arena, folder, files, count, why, err) < 0 ||
        fs_mkdirs(folder, FOLDER_MODE, err) < 0)
        return -1;
    while (done < count && fs_write(path_join(&arena, folder, files[done].name), files[done].text,
                                    files[done].mode, err) == 0)
        done++;
    if (done == count)
        return 0;
    newfiles_remove(folder, files, done);
    return -1;
}

/* --- what was there before ------------------------------------------------------------ */

/* A missing one is fine; an existing file is not replaced. */
static int rename_there(const char *from, const char *to, struct err *err)
{
    struct fs_info info, other;

    if (fs_lstat(from, &info, err) < 0 || fs_lstat(to, &other, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (other.kind != FS_NONE)
        return err_set(err, ERR_BUSY, "'%s' exists already", to);
    return fs_rename(from, to, err);
}

void newfiles_put_back(const char *folder, const struct newfile *files, size_t count,
                       const char *suffix)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err ignored;

    while (count-- > 0) {
        const char *path = path_join(&arena, folder, files[count].name);

        (void)rename_there(arena_printf(&arena, "%s%s", path, suffix), path, &ignored);
    }
}

int newfiles_set_aside(const char *folder, const struct newfile *files, size_t count,
                       const char *suffix, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < count; i++) {
        const char *path = path_join(&arena, folder, files[i].name);

        if (rename_there(path, arena_printf(&arena, "%s%s", path, suffix), err) < 0) {
            newfiles_put_back(folder, files, i, suffix);
            return -1;
        }
    }
    return 0;
}

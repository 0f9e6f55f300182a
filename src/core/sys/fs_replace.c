#include "core/sys/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"

int fs_replace(const char *path, struct str content, const struct fs_replace_options *options,
               struct err *err)
{
    struct draft draft;
    int rc = -1;

    if (draft_open(&draft, path, options, err) < 0)
        return -1;
    if (draft_add(&draft, content, err) == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc;
}

int fs_keep(const char *path, struct str content, const struct fs_replace_options *options,
            struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err ignored; /* an unreadable file is written */
    struct str old;

    if (fs_read(&arena, path, content.n + 1, &old, &ignored) == 0 && old.p && str_eq(old, content))
        return 0;
    return fs_replace(path, content, options, err);
}

int fs_write(const char *path, struct str content, mode_t mode, struct err *err)
{
    const struct fs_replace_options options = {
        .attr = { .mode = mode, .uid = FS_KEEP, .gid = FS_KEEP },
        .fresh = true,
    };

    return fs_replace(path, content, &options, err);
}

/* A new copy gets the mode of its source; a replaced file keeps its own. */
static int default_mode(int from, const char *path, struct fs_replace_options *options,
                        struct err *err)
{
    struct fs_info old;
    struct stat st;

    if (options->attr.mode != FS_KEEP)
        return 0;
    if ((options->follow ? fs_stat : fs_lstat)(path, &old, err) < 0)
        return -1;
    if (old.kind != FS_FILE && fstat(from, &st) == 0)
        options->attr.mode = st.st_mode & 0777;
    return 0;
}

int fs_copy(const char *from, const char *path, const struct fs_replace_options *options,
            struct err *err)
{
    struct fs_replace_options chosen = { .attr = FS_ATTR_KEEP };
    AUTO_FD int source = open(from, O_RDONLY | O_CLOEXEC);
    struct draft draft;
    int rc = -1;

    if (source < 0)
        return err_sys(err, errno, "copy '%s'", from);
    if (options)
        chosen = *options;
    if (default_mode(source, path, &chosen, err) < 0)
        return -1;
    if (draft_open(&draft, path, &chosen, err) < 0)
        return -1;
    if (draft_copy(&draft, source, err) == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc;
}

#include "fleet/master/files/tree_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define FOLDER_MODE 0755
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The parent folder of a path. */
struct parent {
    int fd;
    struct str name; /* the last part, of the path */
};

/* One step down; `makes` creates a missing folder. */
static int open_subfolder(int above, const char *name, bool makes)
{
    const int fd = openat(above, name, OPEN_FOLDER);

    if (fd >= 0 || errno != ENOENT || !makes)
        return fd;
    if ((mkdirat(above, name, FOLDER_MODE) < 0 && errno != EEXIST) || fsync(above) < 0)
        return -1;
    return openat(above, name, OPEN_FOLDER);
}

static int open_parent(const char *folder, const char *path, bool makes, struct parent *ret,
                       struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = str_from(path), part = str_cut(&rest, '/');
    AUTO_FD int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (at < 0)
        return err_sys(err, errno, "open folder '%s'", folder);
    for (; rest.p; part = str_cut(&rest, '/')) {
        const int next = open_subfolder(at, arena_strndup(&arena, part.p, part.n), makes);

        if (next < 0)
            return err_sys(err, errno, "open folder '%s/%.*s'", folder,
                           (int)(part.p + part.n - path), path);
        (void)close(at);
        at = next;
    }
    *ret = (struct parent){ fd_take(&at), part };
    return 0;
}

/* A file being written. */
struct placing {
    struct parent parent;
    struct site site;
    struct draft draft;
};

static void end_placing(struct placing *placing)
{
    draft_done(&placing->draft);
    site_done(&placing->site);
    (void)close(placing->parent.fd);
}

static int open_file_draft(struct placing *placing, mode_t mode, struct err *err)
{
    struct fs_replace_options options = { .attr = FS_ATTR_KEEP };

    if (site_look(&placing->site, err) < 0)
        return -1;
    if (placing->site.info.kind == FS_FOLDER)
        return err_set(err, ERR_INVALID, "'%s' is a folder", placing->site.path);
    if (placing->site.info.kind != FS_FILE)
        options.attr.mode = mode;
    return draft_open_at(&placing->draft, &placing->site, &options, err);
}

/* On failure, nothing to clean up. */
static int begin_placing(struct placing *placing, const char *folder, const char *path, mode_t mode,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fs_info above = { .kind = FS_FOLDER }, none = { .kind = FS_NONE };

    if (open_parent(folder, path, true, &placing->parent, err) < 0)
        return -1;
    site_enter(&placing->site, placing->parent.fd, &above, placing->parent.name.p,
               path_join(&arena, folder, path), &none);
    if (open_file_draft(placing, mode, err) == 0)
        return 0;
    site_done(&placing->site);
    (void)close(placing->parent.fd);
    return -1;
}

int tree_place_text(const char *folder, const char *path, struct str content, mode_t mode,
                    struct err *err)
{
    struct placing placing;
    int rc;

    if (begin_placing(&placing, folder, path, mode, err) < 0)
        return -1;
    rc = draft_add(&placing.draft, content, err);
    if (rc == 0)
        rc = draft_commit(&placing.draft, err);
    end_placing(&placing);
    return rc;
}

int tree_place_copy(const char *folder, const char *path, const char *from, mode_t mode,
                    struct err *err)
{
    AUTO_FD int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct placing placing;
    int rc;

    if (source < 0)
        return err_sys(err, errno, "copy '%s'", from);
    if (begin_placing(&placing, folder, path, mode, err) < 0)
        return -1;
    rc = draft_copy(&placing.draft, source, err);
    if (rc == 0)
        rc = draft_commit(&placing.draft, err);
    end_placing(&placing);
    return rc;
}

/* Remove empty parent folders, bottom up. */
static void remove_empty_folders(const char *folder, const char *path)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *at = arena_strdup(&arena, path), *slash;
    struct parent parent;
    struct err err;
    bool is_gone = true;

    while (is_gone && (slash = strrchr(at, '/'))) {
        *slash = '\0';
        if (open_parent(folder, at, false, &parent, &err) < 0)
            return;
        is_gone = unlinkat(parent.fd, parent.name.p, AT_REMOVEDIR) == 0;
        (void)close(parent.fd);
    }
}

int tree_place_remove(const char *folder, const char *path, struct err *err)
{
    struct parent parent;
    int rc = 0;

    if (open_parent(folder, path, false, &parent, err) < 0)
        return err->errnum == ENOENT ? 0 : -1;
    if ((unlinkat(parent.fd, parent.name.p, 0) < 0 && errno != ENOENT) || fsync(parent.fd) < 0)
        rc = err_sys(err, errno, "remove '%s/%s'", folder, path);
    (void)close(parent.fd);
    if (rc == 0)
        remove_empty_folders(folder, path);
    return rc;
}

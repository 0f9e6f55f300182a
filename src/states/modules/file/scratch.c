#include "states/modules/file/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

#define DEFAULT_FOLDER "/tmp"
#define COPY_PIECE     ((size_t)64 << 10)

static int copy_scratch_file(int fd, const char *path, struct err *err)
{
    AUTO_FREE char *piece = mem_alloc(COPY_PIECE);
    AUTO_FD int from = -1;
    struct fs_info info;
    size_t n;

    if (fs_open(path, &from, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return err_set(err, ERR_BUSY, "source '%s' was replaced by another process", path);
    do {
        if (cancel_check(err) < 0 || fd_read(from, piece, COPY_PIECE, &n, err) < 0 ||
            fd_write(fd, piece, n, err) < 0)
            return -1;
    } while (n > 0);
    return 0;
}

static int fill_file(int fd, const struct scratch_options *options,
                     const struct source_content *content, struct err *err)
{
    if (content->file ? copy_scratch_file(fd, content->file, err) < 0
                      : fd_write(fd, content->text.p, content->text.n, err) < 0)
        return -1;
    if ((options->uid != (uid_t)-1 || options->gid != (gid_t)-1) &&
        fchown(fd, options->uid, options->gid) < 0)
        return err_sys(err, errno, "set the owner");
    if (fchmod(fd, options->mode) < 0)
        return err_sys(err, errno, "set the mode");
    return 0;
}

/* An unguessable name in the requested folder. */
static char *make_path(struct state_run *run, const struct scratch_options *options)
{
    const char *folder = options->folder ? options->folder : getenv("TMPDIR");
    char name[FS_TEMP_NAME_SIZE];

    fs_temp_name(name);
    return arena_printf(run->arena, "%s/%s%s", folder && folder[0] == '/' ? folder : DEFAULT_FOLDER,
                        name + 1, options->suffix ? options->suffix : "");
}

int scratch_make(struct state_run *run, const struct scratch_options *options, struct str content,
                 struct scratch *ret, struct err *err)
{
    const struct source_content held = { .text = content, .size = content.n };

    return scratch_copy(run, options, &held, ret, err);
}

int scratch_copy(struct state_run *run, const struct scratch_options *options,
                 const struct source_content *content, struct scratch *ret, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;
    char *path = make_path(run, options);
    AUTO_FD int fd = -1;

    ret->path = NULL;
    if (site_walk(&site, path, 0, err) < 0 || site_create(&site, &fd, err) < 0)
        return -1;
    if (fill_file(fd, options, content, err) < 0) {
        struct err ignored; /* the first error is the one to report */

        (void)site_unlink(&site, &ignored);
        return err_wrap(err, "write '%s'", path);
    }
    ret->path = path;
    return 0;
}

void scratch_remove(const char *path)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct err ignored; /* it may already be gone */

    if (site_walk(&site, path, 0, &ignored) == 0)
        (void)site_unlink(&site, &ignored);
}

void scratch_done(struct scratch *scratch)
{
    if (scratch->path)
        scratch_remove(scratch->path);
    scratch->path = NULL;
}

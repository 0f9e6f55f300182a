#include "modules/file/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "state/module.h"
#include "sys/fd.h"

#define DEFAULT_FOLDER "/tmp"

static int fill(int fd, const struct scratch_options *options, struct str content, struct err *err)
{
    if (fd_write(fd, content.p, content.n, err) < 0)
        return -1;
    if ((options->uid != (uid_t)-1 || options->gid != (gid_t)-1) &&
        fchown(fd, options->uid, options->gid) < 0)
        return err_sys(err, errno, "set the owner");
    if (fchmod(fd, options->mode) < 0)
        return err_sys(err, errno, "set the mode");
    return 0;
}

int scratch_make(struct state_run *run, const struct scratch_options *options, struct str content,
                 struct scratch *ret, struct err *err)
{
    const char *suffix = options->suffix ? options->suffix : "";
    const char *folder = options->folder ? options->folder : getenv("TMPDIR");
    char *path = arena_printf(run->arena, "%s/zester-XXXXXX%s",
                              folder && folder[0] == '/' ? folder : DEFAULT_FOLDER, suffix);
    AUTO_FD int fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);

    ret->path = NULL;
    if (fd < 0)
        return err_sys(err, errno, "make the file '%s'", path);
    if (fill(fd, options, content, err) < 0) {
        (void)unlink(path); /* the first error is the one worth telling */
        return err_wrap(err, "write '%s'", path);
    }
    ret->path = path;
    return 0;
}

void scratch_done(struct scratch *scratch)
{
    if (scratch->path)
        (void)unlink(scratch->path); /* somebody else may have removed it */
    scratch->path = NULL;
}

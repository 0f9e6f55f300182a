#include "modules/file/wanted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "modules/file/backup.h"
#include "modules/file/parent.h"
#include "undo/change.h"
#include "state/module.h"
#include "sys/fd.h"
#include "sys/fs.h"

#define PIECE_SIZE 16384

struct found {
    bool exists;
    bool is_link; /* that is to be replaced */
    bool same;    /* the content */
    struct fs_info info;
};

/* The sizes agree: read no more than that, so that a small file is one read. */
static int compare(int fd, const char *path, struct str content, bool *ret_same, struct err *err)
{
    char piece[PIECE_SIZE];

    *ret_same = true;
    for (size_t at = 0, n; *ret_same && at < content.n; at += n) {
        const size_t left = content.n - at;
        const size_t want = left < sizeof(piece) ? left : sizeof(piece);

        if (fd_read(fd, piece, want, &n, err) < 0)
            return err_wrap(err, "read '%s'", path);
        *ret_same = n == want && memcmp(piece, content.p + at, n) == 0;
    }
    return 0;
}

static int look_inside(const struct wanted *wanted, int fd, struct found *ret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "look at '%s'", wanted->path);
    fs_info_from(&st, &ret->info);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s exists but is a %s, not a file", wanted->path,
                       fs_kind_name(ret->info.kind));
    ret->exists = true;
    ret->same = true;
    if (!wanted->has_content || wanted->keep_content)
        return 0;
    ret->same = (size_t)st.st_size == wanted->content.n;
    if (!ret->same || wanted->content.n == 0)
        return 0;
    return compare(fd, wanted->path, wanted->content, &ret->same, err);
}

static int look(const struct wanted *wanted, struct found *ret, struct err *err)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    AUTO_FD int fd = open(wanted->path, flags | (wanted->replace_link ? O_NOFOLLOW : 0));

    *ret = (struct found){ 0 };
    if (fd >= 0)
        return look_inside(wanted, fd, ret, err);
    if (errno == ENOENT || errno == ENOTDIR)
        return 0;
    if (errno == ELOOP && wanted->replace_link) {
        ret->exists = ret->is_link = true;
        return 0;
    }
    if (errno == ENXIO)
        return err_set(err, ERR_INVALID, "%s exists but is not a file", wanted->path);
    return err_sys(err, errno, "open '%s'", wanted->path);
}

/* --- saying ------------------------------------------------------------------------- */

static int show_content(struct state_run *run, const struct wanted *wanted,
                        const struct found *found, struct err *err)
{
    struct str old = { NULL, 0 };

    if (wanted->hide || (found->exists && found->info.size > WANTED_SHOWN_MAX))
        return 0;
    if (!found->exists && wanted->content.n == 0)
        return 0; /* a new, empty file: all is said */
    if (found->exists && !found->is_link &&
        fs_read(run->arena, wanted->path, WANTED_SHOWN_MAX, &old, err) < 0)
        return -1;
    state_diff_content(run, wanted->path, old, wanted->has_content ? wanted->content : STR(""));
    return 0;
}

static int check_parent(struct state_run *run, const struct wanted *wanted, struct err *err)
{
    if (wanted->own_folder)
        return 0;
    return wanted->replace_link ? parent_check(run, wanted->path, wanted->makedirs, err)
                                : parent_check_file(run, wanted->path, wanted->makedirs, err);
}

int wanted_check(struct state_run *run, const struct wanted *wanted, struct err *err)
{
    struct found found;

    if (look(wanted, &found, err) < 0)
        return -1;
    if (!found.exists && wanted->keep_absence) {
        state_say(run, "file %s does not exist and create is false", wanted->path);
        return 0;
    }
    if (!found.exists) {
        if (check_parent(run, wanted, err) < 0)
            return -1;
        state_differs(run, "file %s does not exist", wanted->path);
        return show_content(run, wanted, &found, err);
    }
    if (found.is_link) {
        state_differs(run, "%s is a link, not a file", wanted->path);
        return show_content(run, wanted, &found, err);
    }
    if (!found.same) {
        state_differs(run, "content differs for %s", wanted->path);
        if (show_content(run, wanted, &found, err) < 0)
            return -1;
    }
    attrs_check(run, wanted->path, &wanted->attrs, &found.info);
    return 0;
}

/* --- doing --------------------------------------------------------------------------- */

static int write_new(struct state_run *run, const struct wanted *wanted, const struct found *found,
                     struct err *err)
{
    const struct str content = wanted->has_content ? wanted->content : STR("");

    const int made =
        wanted->replace_link
            ? parent_make(run, wanted->path, wanted->makedirs, wanted->folders, err)
            : parent_make_file(run, wanted->path, wanted->makedirs, wanted->folders, err);

    if (made < 0)
        return -1;
    if (found->is_link && change_remove(run, wanted->path, err) < 0)
        return -1;
    return change_write(run, wanted->path, content, &wanted->attrs.want, err);
}

int wanted_writes(const struct wanted *wanted, bool *ret_writes, struct err *err)
{
    struct found found;

    if (look(wanted, &found, err) < 0)
        return -1;
    *ret_writes = !found.same && !(wanted->keep_absence && !found.exists);
    return 0;
}

int wanted_apply(struct state_run *run, const struct wanted *wanted, enum wanted_done *ret_done,
                 struct err *err)
{
    struct found found;

    if (look(wanted, &found, err) < 0)
        return -1;
    *ret_done = WANTED_NOTHING;
    if (!found.exists && wanted->keep_absence)
        return 0;
    if (!found.exists || found.is_link) {
        *ret_done = WANTED_CREATED;
        return write_new(run, wanted, &found, err);
    }
    if (!found.same) {
        *ret_done = WANTED_REPLACED;
        if (backup_make(run, wanted->path, wanted->backup, err) < 0)
            return -1;
        return change_write(run, wanted->path, wanted->content, &wanted->attrs.want, err);
    }
    if (attrs_differ(&wanted->attrs, &found.info))
        *ret_done = WANTED_ATTRIBUTES;
    return attrs_apply(run, wanted->path, &wanted->attrs, &found.info, false, err);
}

int wanted_report(struct state_run *run, const struct wanted *wanted, enum wanted_done done,
                  struct err *err)
{
    struct fs_info info;

    if (done == WANTED_NOTHING) {
        state_unchanged(run);
        return 0;
    }
    if (fs_stat(wanted->path, &info, err) < 0)
        return -1;
    if (done == WANTED_ATTRIBUTES)
        state_say(run, "set mode and owner of %s (mode %o)", wanted->path, (unsigned)info.mode);
    else
        state_say(run, "wrote %zu bytes to %s (mode %o)", wanted->content.n, wanted->path,
                  (unsigned)info.mode);
    state_detail(run, "path", "%s", wanted->path);
    if (done != WANTED_ATTRIBUTES)
        state_detail(run, "bytes", "%zu", wanted->content.n);
    state_detail(run, "mode", "%04o", (unsigned)info.mode);
    return 0;
}

/* file.lsattr - the attributes of a file that chattr sets. */
#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fd.h"
#include "core/sys/site.h"

#define ARGS struct lsattr_args

/* Not in linux/fs.h, but shown by lsattr. */
#define FLAG_EXTENTS 0x00080000U

struct lsattr_args {
    const char *path;
};

/* clang-format off */
static const struct param lsattr_params[] = {
    PARAM("path", PATH, ARGS, path, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

/* In the order in which lsattr prints them. */
static const struct {
    unsigned flag;
    const char *letter;
} letters[] = {
    { FS_SECRM_FL, "s" },        { FS_UNRM_FL, "u" },      { FS_SYNC_FL, "S" },
    { FS_DIRSYNC_FL, "D" },      { FS_IMMUTABLE_FL, "i" }, { FS_APPEND_FL, "a" },
    { FS_NODUMP_FL, "d" },       { FS_NOATIME_FL, "A" },   { FS_COMPR_FL, "c" },
    { FS_JOURNAL_DATA_FL, "j" }, { FS_NOTAIL_FL, "t" },    { FS_TOPDIR_FL, "T" },
    { FLAG_EXTENTS, "e" },       { FS_NOCOW_FL, "C" },     { FS_PROJINHERIT_FL, "P" },
};

/* As in Salt: { path: [letters] } for a file, an empty list for a folder. */
static int lsattr_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const char *path = ((const struct lsattr_args *)args)->path;
    struct value_list *list = value_list_new(run->arena, 4);
    AUTO_SITE struct site site = SITE_INIT;
    AUTO_FD int fd = -1;
    unsigned flags = 0;

    if (site_walk(&site, path, SITE_FOLLOW, err) < 0 || site_open(&site, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
    *ret = value_list(list);
    if (site.info.kind == FS_FOLDER)
        return 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return err_sys(err, errno, "read the attributes of %s", path);
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (flags & letters[i].flag)
            value_list_push(run->arena, list, value_text(letters[i].letter));
    *ret = value_map(value_map_new(run->arena, 1));
    value_map_set(run->arena, ret->map, value_text(path), value_list(list));
    return 0;
}

const struct module module_file_lsattr = {
    .name = "file.lsattr",
    .summary = "the attributes of a file that chattr sets",
    .params = lsattr_params,
    .args_size = sizeof(struct lsattr_args),
    .call = lsattr_call,
};

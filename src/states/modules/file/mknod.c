/* file.mknod - creates a fifo or device. */
#include <sys/sysmacros.h>

#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/parent.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"
#include "states/undo/change.h"

#define ARGS      struct mknod_args
#define MAJOR_MAX 0xfff
#define MINOR_MAX 0xfffff

struct mknod_args {
    const char *name, *user, *group;
    const struct value *mode;
    int64_t major, minor;
    int type;
};

/* clang-format off */
static const struct param mknod_params[] = {
    PARAM("name", PATH, ARGS, name, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("ntype", CHOICE, ARGS, type, "its type: p (fifo), c (character device) or b (block device)", .choices = "p|c|b", .flags = PARAM_REQUIRED),
    PARAM("major", INT, ARGS, major, "major number of a device", PARAM_RANGE(0, MAJOR_MAX)),
    PARAM("minor", INT, ARGS, minor, "minor number of a device", PARAM_RANGE(0, MINOR_MAX)),
    PARAM("user", STR, ARGS, user, "owner: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group: a name or number"),
    PARAM("mode", ANY, ARGS, mode, "permissions", .default_text = "0600"),
    { 0 },
};
/* clang-format on */

static int mknod_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct mknod_args *want = args;

    (void)where;
    return attrs_validate(want->mode, false, diags);
}

static struct fs_info describe_mknod_node(const struct mknod_args *want)
{
    static const enum fs_kind kinds[] = { FS_FIFO, FS_CHAR, FS_BLOCK };
    const enum fs_kind kind = kinds[want->type];

    return (struct fs_info){
        .kind = kind,
        .node = kind == FS_FIFO ? 0 : makedev((unsigned)want->major, (unsigned)want->minor),
    };
}

/* Something else at the path is never replaced: it may be in use. */
static int find_node(const struct mknod_args *want, struct site *ret, struct err *err)
{
    const struct fs_info node = describe_mknod_node(want);

    if (site_walk(ret, want->name, 0, err) < 0)
        return -1;
    if (ret->info.kind == FS_NONE)
        return 0;
    if (ret->info.kind != node.kind)
        return err_set(err, ERR_INVALID, "%s exists and is a %s, not a %s", want->name,
                       fs_kind_name(ret->info.kind), fs_kind_name(node.kind));
    if (node.kind != FS_FIFO && ret->info.node != node.node)
        return err_set(err, ERR_INVALID, "%s exists with the numbers %u, %u", want->name,
                       major(ret->info.node), minor(ret->info.node));
    return 0;
}

static int mknod_check(struct state_run *run, const void *args, struct err *err)
{
    const struct mknod_args *want = args;
    AUTO_SITE struct site site = SITE_INIT;
    struct attrs attrs;

    if (attrs_read(run, want->mode, want->user, want->group, &attrs, err) < 0 ||
        find_node(want, &site, err) < 0)
        return -1;
    if (site.info.kind != FS_NONE) {
        attrs_check(run, want->name, &attrs, &site.info);
        return 0;
    }
    if (parent_check(run, want->name, false, err) < 0)
        return -1;
    state_differs(run, "%s %s does not exist", fs_kind_name(describe_mknod_node(want).kind),
                  want->name);
    state_made(run, "created %s %s", fs_kind_name(describe_mknod_node(want).kind), want->name);
    return 0;
}

static int mknod_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct mknod_args *want = args;
    const struct fs_info node = describe_mknod_node(want);
    AUTO_SITE struct site site = SITE_INIT;
    struct attrs attrs;

    if (attrs_read(run, want->mode, want->user, want->group, &attrs, err) < 0 ||
        find_node(want, &site, err) < 0)
        return -1;
    if (site.info.kind != FS_NONE && !attrs_differ(&attrs, &site.info)) {
        state_unchanged(run);
        return 0;
    }
    if (site.info.kind == FS_NONE &&
        (change_mknod(run, want->name, &node, err) < 0 || site_look(&site, err) < 0))
        return -1;
    if (attrs_apply(run, &site, &attrs, err) < 0)
        return -1;
    state_say(run, "%s %s exists", fs_kind_name(node.kind), want->name);
    state_detail(run, "path", "%s", want->name);
    return 0;
}

const struct module module_file_mknod = {
    .name = "file.mknod",
    .summary = "create a fifo or device",
    .details = "Something else at the path is an error, and is left alone.",
    .example = "name: ROOT/fifo\nntype: p\nmode: \"0640\"\n",
    .params = mknod_params,
    .args_size = sizeof(struct mknod_args),
    .validate = mknod_validate,
    .check = mknod_check,
    .apply = mknod_apply,
};

/* mount.mounted - mounts a file system, now and at boot. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/fstab.h"
#include "states/modules/file/editor.h"
#include "states/modules/mount/mounts.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"

#define ARGS struct mounted_args

struct mounted_args {
    const char *name, *device, *fstype, *config;
    struct param_strs opts, hidden_opts;
    int64_t dump, pass;
    bool persist, mount, mkmnt;
};

/* clang-format off */
static const struct param mounted_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("device", STR, ARGS, device, "the device: /dev/..., UUID=..., LABEL=..., host:/path, tmpfs", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("fstype", STR, ARGS, fstype, "type of the file system", .default_text = "ext4"),
    PARAM("opts", STRS, ARGS, opts, "options: a list, or comma-separated text", .default_text = "defaults", .aliases = "options"),
    PARAM("dump", INT, ARGS, dump, "fifth field of fstab (dump)", PARAM_RANGE(0, 9)),
    PARAM("pass_num", INT, ARGS, pass, "sixth field of fstab (order of checks)", .aliases = "pass", PARAM_RANGE(0, 9)),
    PARAM("persist", BOOL, ARGS, persist, "keep it in fstab", .default_text = "true"),
    PARAM("mount", BOOL, ARGS, mount, "mount it now", .default_text = "true"),
    PARAM("mkmnt", BOOL, ARGS, mkmnt, "create the folder if it does not exist"),
    PARAM("hidden_opts", STRS, ARGS, hidden_opts, "options that are not compared with the current mount", .aliases = "extra_mount_invisible_options"),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/fstab"),
    PARAM_REFUSED("user", "mount(8) decides who may mount; write user or users into opts"),
    PARAM_REFUSED("extra_mount_translate_options", "options are compared as the kernel shows them"),
    PARAM_REFUSED("match_on", "an entry of fstab is found by its folder", .default_text = "auto"),
    PARAM_REFUSED("device_name_regex", "a mount is found by its folder"),
    PARAM_IDLE("extra_mount_invisible_keys", "options that the kernel does not show are not compared"),
    PARAM_IDLE("extra_mount_ignore_fs_keys", "options that the kernel does not show are not compared"),
    PARAM_IDLE("bind_mount_copy_active_opts", "a bind mount is compared by its own options"),
    { 0 },
};
/* clang-format on */

static int mounted_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct mounted_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags);

    if (validate_text("device", want->device, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (validate_text("fstype", want->fstype, VALIDATE_WORD, where, diags) < 0)
        result = -1;
    if (validate_texts("opts", want->opts, VALIDATE_WORD, where, diags) < 0)
        result = -1;
    if (!want->mount && !want->persist)
        result = value_diag(diags, value_point(where, "mount"),
                            "'mount' and 'persist' are both false: nothing to do");
    return result;
}

static const char *join_with_commas(struct state_run *run, struct param_strs words)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < words.n; i++)
        buf_printf(&out, "%s%s", i > 0 ? "," : "", words.p[i]);
    return buf_copy(&out, run->arena).p;
}

static const char *join_mount_options(struct state_run *run, const struct mounted_args *want)
{
    return want->opts.n == 0 ? "defaults" : join_with_commas(run, want->opts);
}

static int plan_mounted_entry(struct state_run *run, const void *args,
                              const struct editor_file *file, struct editor_plan *plan,
                              struct err *err)
{
    const struct mounted_args *want = args;
    const struct fstab_entry entry = { want->device, want->name,
                                       want->fstype, join_mount_options(run, want),
                                       want->dump,   want->pass };
    struct fstab_entry now;

    fstab_set(file->text, &entry, &plan->text);
    plan->pending =
        fstab_find(run->arena, file->text, want->name, &now)
            ? arena_printf(run->arena, "%s fstab entry does not match desired config", want->name)
            : arena_printf(run->arena, "%s is not in fstab", want->name);
    plan->done = "updated fstab entry";
    return edit_finish(&plan->text, err);
}

static struct editor make_mounted_editor(const struct mounted_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_mounted_entry };
}

/* --- planning ------------------------------------------------------------------------------- */

enum step { STEP_NONE, STEP_MOUNT, STEP_REMOUNT, STEP_REPLACE };

static bool is_bind(const char *options)
{
    return mounts_has_option(options, "bind") || mounts_has_option(options, "rbind");
}

static bool is_type_mounted(const struct mounted_args *want, const struct mounts_entry *now,
                            const char *options)
{
    return is_bind(options) || strcmp(want->fstype, "auto") == 0 ||
           strcmp(want->fstype, "none") == 0 || strcmp(want->fstype, now->type) == 0 ||
           (strcmp(want->fstype, "nfs") == 0 && strcmp(now->type, "nfs4") == 0) ||
           str_starts(str_from(now->type), STR("fuse"));
}

static enum step find_mount_step(struct state_run *run, const struct mounted_args *want,
                                 const struct mounts_entry *now, const char **ret_why)
{
    const char *options = join_mount_options(run, want);
    const char *option;

    *ret_why = NULL;
    if (!want->mount)
        return STEP_NONE;
    if (!now) {
        *ret_why = arena_printf(run->arena, "%s is not mounted", want->name);
        return STEP_MOUNT;
    }
    if (!mounts_is_device(run, now, want->device) || !is_type_mounted(want, now, options)) {
        *ret_why = arena_printf(run->arena, "%s (%s) is mounted at %s, not %s (%s)", now->device,
                                now->type, want->name, want->device, want->fstype);
        return STEP_REPLACE;
    }
    option = mounts_differing(run, now, options, join_with_commas(run, want->hidden_opts));
    if (!option)
        return STEP_NONE;
    *ret_why = arena_printf(run->arena, "%s is mounted with other options: '%s' differs (%s)",
                            want->name, option, now->options);
    return STEP_REMOUNT;
}

static int check_mount_point(struct state_run *run, const struct mounted_args *want,
                             struct err *err)
{
    struct fs_info info;

    if (!want->mount)
        return 0;
    if (fs_stat(want->name, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        state_differs(run,
                      want->mkmnt ? "folder %s does not exist"
                                  : "folder %s does not exist and mkmnt is false",
                      want->name);
    return 0;
}

static int mounted_check(struct state_run *run, const void *args, struct err *err)
{
    const struct mounted_args *want = args;
    const struct editor editor = make_mounted_editor(want);
    struct mounts_list list;
    const char *why;

    if (mounts_read(run, &list, err) < 0 || check_mount_point(run, want, err) < 0)
        return -1;
    if (find_mount_step(run, want, mounts_find(&list, want->name), &why) != STEP_NONE)
        state_differs(run, "%s", why);
    if (want->persist && editor_check(run, &editor, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run,
                  want->mount ? "%s already mounted with desired configuration"
                              : "%s is in fstab with desired configuration",
                  want->name);
    return 0;
}

/* --- applying -------------------------------------------------------------------------------- */

static int make_mount_point(struct state_run *run, const struct mounted_args *want, struct err *err)
{
    const struct change_attr attr = CHANGE_KEEP;
    struct fs_info info;

    if (fs_stat(want->name, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE)
        return 0;
    if (!want->mkmnt)
        return err_set(err, ERR_NOT_FOUND,
                       "folder %s does not exist (set mkmnt: true to create it)", want->name);
    if (change_make_parents(run, want->name, err) < 0)
        return -1;
    return change_mkdir(run, want->name, &attr, err);
}

/* Replace another mount, which is restored if this one cannot be mounted. */
static int replace_mount(struct state_run *run, const struct mounts_entry *now,
                         const struct mounts_entry *entry, struct err *err)
{
    struct err ignored; /* the first error is the one to report */

    if (mounts_unmount(run, entry->folder, err) < 0)
        return -1;
    if (mounts_mount(run, entry, err) == 0)
        return 0;
    (void)mounts_mount_again(run, now, &ignored);
    return -1;
}

static int do_mount_step(struct state_run *run, const struct mounted_args *want, enum step step,
                         const struct mounts_entry *now, struct err *err)
{
    const char *options = join_mount_options(run, want);
    const struct mounts_entry entry = { .folder = want->name,
                                        .device = want->device,
                                        .type = is_bind(options) ? "none" : want->fstype,
                                        .options = options };

    if (state_note(run, "step", value_int(step), err) < 0)
        return -1;
    if (step == STEP_REMOUNT)
        return mounts_remount(run, want->device, want->name, options, err);
    if ((step == STEP_REPLACE ? replace_mount(run, now, &entry, err)
                              : mounts_mount(run, &entry, err)) < 0)
        return -1;
    /* a bind mount takes no options: they need a second call */
    if (is_bind(options) && strcmp(options, "bind") != 0 && strcmp(options, "rbind") != 0)
        return mounts_remount(run, want->device, want->name, options, err);
    return 0;
}

/* `ret_done` is what was done; NULL: nothing. */
static int mount_device(struct state_run *run, const struct mounted_args *want,
                        const char **ret_done, struct err *err)
{
    struct mounts_list list;
    struct mounts_entry recipe = { 0 }; /* entry of the current mount */
    const struct mounts_entry *now;
    enum step step;
    const char *why;

    if (mounts_read(run, &list, err) < 0)
        return -1;
    now = mounts_find(&list, want->name);
    step = find_mount_step(run, want, now, &why);
    *ret_done = NULL;
    if (step == STEP_NONE)
        return 0;
    if (make_mount_point(run, want, err) < 0 || (now && mounts_note(run, &list, now, err) < 0))
        return -1;
    if (now)
        recipe = mounts_recipe(run, &list, now);
    if (do_mount_step(run, want, step, &recipe, err) < 0)
        return -1;
    *ret_done =
        arena_printf(run->arena, "%s %s (%s) at %s", step == STEP_REMOUNT ? "remounted" : "mounted",
                     want->device, want->fstype, want->name);
    return 0;
}

static int mounted_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct mounted_args *want = args;
    const struct editor editor = make_mounted_editor(want);
    const char *done;

    /* A failed mount is not added to fstab: the next boot would fail. */
    if (mount_device(run, want, &done, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (want->persist && editor_apply(run, &editor, args, err) < 0)
        return -1;
    if (done)
        state_say(run, "%s", done);
    run->unchanged = !done && (run->unchanged || !want->persist);
    state_detail(run, "device", "%s", want->device);
    state_detail(run, "mountpoint", "%s", want->name);
    state_detail(run, "fstype", "%s", want->fstype);
    state_detail(run, "options", "%s", join_mount_options(run, want));
    state_detail_value(run, "persisted", value_bool(want->persist));
    return 0;
}

static int mounted_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct mounted_args *want = args;
    const struct value *step = state_noted(run, "step");
    const struct mounts_entry back = mounts_noted(run, want->name);
    const struct mounts_entry *now;
    struct mounts_list list;

    if (!step || step->kind != VALUE_INT) {
        state_unchanged(run);
        return 0;
    }
    if (step->i == STEP_REMOUNT) {
        state_say(run, "remounted %s as it was", want->name);
        return mounts_remount_again(run, &back, err);
    }
    if (mounts_read(run, &list, err) < 0)
        return -1;
    now = mounts_find(&list, want->name);
    if (!now || !mounts_is_device(run, now, want->device)) {
        state_unchanged(run); /* it was not mounted, or something else has been mounted since */
        return 0;
    }
    if (mounts_unmount(run, want->name, err) < 0)
        return -1;
    state_say(run, "unmounted %s (revert)", want->name);
    return step->i == STEP_REPLACE ? mounts_mount_again(run, &back, err) : 0;
}

const struct module module_mount_mounted = {
    .name = "mount.mounted",
    .summary = "mount a file system, now and at boot",
    .details = "The current mount is compared too: different options are remounted, a different "
               "device is replaced.",
    .example = "name: /srv/data\ndevice: UUID=3e6be9de-8139-11d1-9106-a43f08d823a6\nfstype: ext4\n"
               "opts: defaults,noatime\nmount: false\nconfig: ROOT/fstab\n",
    .params = mounted_params,
    .flags = MODULE_TREE,
    .args_size = sizeof(struct mounted_args),
    .lock = "mount",
    .validate = mounted_validate,
    .check = mounted_check,
    .apply = mounted_apply,
    .revert = mounted_revert,
};

/* mount.unmounted - unmounts what is mounted at a folder. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/fstab.h"
#include "states/modules/file/editor.h"
#include "states/modules/mount/mounts.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct unmounted_args

struct unmounted_args {
    const char *name, *device, *config;
    bool persist;
};

/* clang-format off */
static const struct param unmounted_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("device", STR, ARGS, device, "only if this device is mounted there, and listed for it in fstab", .flags = PARAM_FILLED),
    PARAM("persist", BOOL, ARGS, persist, "remove it from fstab too"),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/fstab"),
    PARAM_REFUSED("user", "mounts are taken away by root"),
    { 0 },
};
/* clang-format on */

static int unmounted_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct unmounted_args *want = args;

    return validate_text("name", want->name, VALIDATE_LINE, where, diags);
}

/* Does the device of the entry match the given one, if any? */
static bool is_device_meant(struct state_run *run, const struct unmounted_args *want,
                            struct str text)
{
    struct fstab_entry entry;

    if (!want->device || !fstab_find(run->arena, text, want->name, &entry))
        return true;
    return mounts_is_device(
        run, &(struct mounts_entry){ .folder = want->name, .device = entry.device }, want->device);
}

static int plan_unmounted_entry(struct state_run *run, const void *args,
                                const struct editor_file *file, struct editor_plan *plan,
                                struct err *err)
{
    const struct unmounted_args *want = args;

    if (is_device_meant(run, want, file->text))
        fstab_remove(file->text, want->name, &plan->text);
    else
        buf_add_str(&plan->text, file->text);
    plan->pending = arena_printf(run->arena, "%s is in fstab", want->name);
    plan->done = "removed fstab entry";
    return edit_finish(&plan->text, err);
}

static struct editor make_unmounted_editor(const struct unmounted_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_unmounted_entry };
}

static int find_unwanted_mount(struct state_run *run, const struct unmounted_args *want,
                               struct mounts_list *list, const struct mounts_entry **ret,
                               struct err *err)
{
    if (mounts_read(run, list, err) < 0)
        return -1;
    *ret = mounts_find(list, want->name);
    if (*ret && want->device && !mounts_is_device(run, *ret, want->device))
        *ret = NULL;
    return 0;
}

static int unmounted_check(struct state_run *run, const void *args, struct err *err)
{
    const struct unmounted_args *want = args;
    const struct editor editor = make_unmounted_editor(want);
    const struct mounts_entry *now;
    struct mounts_list list;

    if (find_unwanted_mount(run, want, &list, &now, err) < 0)
        return -1;
    if (now)
        state_differs(run, "%s is mounted at %s", now->device, want->name);
    if (want->persist && editor_check(run, &editor, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "%s is not mounted", want->name);
    return 0;
}

static int unmounted_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct unmounted_args *want = args;
    const struct editor editor = make_unmounted_editor(want);
    const struct mounts_entry *now;
    struct mounts_list list;

    buf_clear(&run->text);
    if (find_unwanted_mount(run, want, &list, &now, err) < 0 ||
        (want->persist && editor_apply(run, &editor, args, err) < 0))
        return -1;
    run->unchanged = !now && (run->unchanged || !want->persist);
    if (!now)
        return 0;
    if (mounts_note(run, &list, now, err) < 0 || mounts_unmount(run, want->name, err) < 0)
        return -1;
    state_say(run, "unmounted %s", want->name);
    state_detail(run, "mountpoint", "%s", want->name);
    state_detail(run, "device", "%s", now->device);
    return 0;
}

static int unmounted_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct unmounted_args *want = args;
    const struct value *was = state_noted(run, "was");
    struct mounts_entry back;
    const struct mounts_entry *now;
    struct mounts_list list;

    if (find_unwanted_mount(run, want, &list, &now, err) < 0)
        return -1;
    if (!was || now) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "mounted %s again (revert)", want->name);
    back = mounts_noted(run, want->name);
    return mounts_mount_again(run, &back, err);
}

const struct module module_mount_unmounted = {
    .name = "mount.unmounted",
    .summary = "unmount a folder",
    .example = "name: /srv/old\npersist: true\n",
    .params = unmounted_params,
    .flags = MODULE_REMOVES,
    .args_size = sizeof(struct unmounted_args),
    .lock = "mount",
    .validate = unmounted_validate,
    .check = unmounted_check,
    .apply = unmounted_apply,
    .revert = unmounted_revert,
};

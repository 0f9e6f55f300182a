/* mount.fstab_absent - no entry of fstab for this device and folder. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/fstab.h"
#include "states/modules/file/editor.h"
#include "states/modules/mount/fstabs.h"
#include "states/state/module.h"

#define ARGS struct absent_args

struct absent_args {
    struct fstabs_args where;
};

static const struct param absent_params[] = {
    FSTABS_PARAMS(ARGS, where),
    { 0 },
};

static int plan_fstab_removal(struct state_run *run, const void *args,
                              const struct editor_file *file, struct editor_plan *plan,
                              struct err *err)
{
    const struct fstabs_args *want = &((const struct absent_args *)args)->where;
    struct fstab_entry like = { .folder = want->folder }, now;

    if (fstabs_device(run, want, &like.device, err) < 0)
        return -1;
    if (fstab_find_like(run->arena, file->text, &like, &now) &&
        strcmp(now.device, like.device) == 0)
        fstab_remove_like(file->text, &like, &plan->text);
    else
        buf_add_str(&plan->text, file->text);
    plan->pending =
        arena_printf(run->arena, "entry of %s in %s should be absent", want->folder, want->config);
    plan->done =
        arena_printf(run->arena, "removed entry of %s from %s", want->folder, want->config);
    return edit_finish(&plan->text, err);
}

static int fstab_absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    return fstabs_validate(&((const struct absent_args *)args)->where, where, diags);
}

static struct editor make_fstab_removal_editor(const struct absent_args *want)
{
    return (struct editor){ .path = want->where.config, .plan = plan_fstab_removal };
}

EDITOR_STATE(make_fstab_removal_editor)

const struct module module_mount_fstab_absent = {
    .name = "mount.fstab_absent",
    .summary = "no entry of fstab for this device and folder",
    .details = "What is mounted stays mounted.",
    .example = "name: tmpfs\nfs_file: /scratch\nconfig: ROOT/fstab-old\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = "mount",
    .validate = fstab_absent_validate,
    EDITOR_STATE_FIELDS,
};

/* mount.fstab_present - an entry of fstab. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/fstab.h"
#include "states/modules/file/editor.h"
#include "states/modules/mount/fstabs.h"
#include "states/modules/mount/mounts.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    struct fstabs_args where;
    const char *type;
    struct param_strs options;
    int64_t freq, pass;
    bool mount, not_change;
};

/* clang-format off */
static const struct param present_params[] = {
    FSTABS_PARAMS(ARGS, where),
    PARAM("fs_vfstype", STR, ARGS, type, "type of the file system", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("fs_mntops", STRS, ARGS, options, "options: a list, or comma-separated text", .default_text = "defaults"),
    PARAM("fs_freq", INT, ARGS, freq, "fifth field", PARAM_RANGE(0, 9)),
    PARAM("fs_passno", INT, ARGS, pass, "sixth field: the order of checks", PARAM_RANGE(0, 9)),
    PARAM("mount", BOOL, ARGS, mount, "mount it when the entry is new, and nothing is mounted there", .default_text = "true"),
    PARAM("not_change", BOOL, ARGS, not_change, "leave an existing entry alone"),
    PARAM_IDLE("fs_mount", "AIX only"),
    PARAM_REFUSED("match_on", "an entry is found by its folder", .default_text = "auto"),
    { 0 },
};
/* clang-format on */

static int fstab_present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = fstabs_validate(&want->where, where, diags);

    if (validate_text("fs_vfstype", want->type, VALIDATE_WORD, where, diags) < 0 ||
        validate_texts("fs_mntops", want->options, VALIDATE_WORD, where, diags) < 0)
        result = -1;
    return result;
}

static int find_fstab_entry(struct state_run *run, const struct present_args *want,
                            struct fstab_entry *ret, struct err *err)
{
    AUTO_BUF struct buf options = BUF_INIT(BUF_NO_LIMIT);
    const char *device;

    if (fstabs_device(run, &want->where, &device, err) < 0)
        return -1;
    for (size_t i = 0; i < want->options.n; i++)
        buf_printf(&options, "%s%s", i == 0 ? "" : ",", want->options.p[i]);
    *ret = (struct fstab_entry){
        .device = device,
        .folder = want->where.folder,
        .type = want->type,
        .options = arena_strdup(run->arena, buf_text(&options)),
        .dump = want->freq,
        .pass = want->pass,
    };
    return 0;
}

static bool is_entry_same(const struct fstab_entry *a, const struct fstab_entry *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->type, b->type) == 0 &&
           strcmp(a->options, b->options) == 0 && a->dump == b->dump && a->pass == b->pass;
}

static int plan_fstab_entry(struct state_run *run, const void *args, const struct editor_file *file,
                            struct editor_plan *plan, struct err *err)
{
    const struct present_args *want = args;
    struct fstab_entry entry, now;
    bool found;

    if (find_fstab_entry(run, want, &entry, err) < 0)
        return -1;
    found = fstab_find_like(run->arena, file->text, &entry, &now);
    if (found && (want->not_change || is_entry_same(&now, &entry)))
        buf_add_str(&plan->text, file->text);
    else
        fstab_set(file->text, &entry, &plan->text);
    plan->create = true;
    plan->pending = arena_printf(run->arena, "entry of %s in %s %s", entry.folder,
                                 want->where.config, found ? "differs" : "is missing");
    plan->done = arena_printf(run->arena, "%s entry of %s in %s", found ? "changed" : "added",
                              entry.folder, want->where.config);
    plan->remark =
        arena_printf(run->arena, "entry of %s is in %s", entry.folder, want->where.config);
    return edit_finish(&plan->text, err);
}

static struct editor make_fstab_editor(const struct present_args *want)
{
    return (struct editor){ .path = want->where.config, .plan = plan_fstab_entry };
}

/* An entry without a folder needs no mount. */
static int is_mounted(struct state_run *run, const struct present_args *want, bool *ret,
                      struct err *err)
{
    struct mounts_list all = { .list = VEC_INIT };

    if (mounts_read(run, &all, err) < 0)
        return -1;
    *ret = want->where.folder[0] != '/' || mounts_find(&all, want->where.folder);
    return 0;
}

static int fstab_present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct editor editor = make_fstab_editor(want);
    bool mounted;

    if (editor_check(run, &editor, args, err) < 0 || is_mounted(run, want, &mounted, err) < 0)
        return -1;
    if (run->differs && want->mount && !mounted) {
        state_differs(run, "%s is not mounted", want->where.folder);
        state_made(run, "mounted %s", want->where.folder);
    }
    return 0;
}

static int mount_fstab_entry(struct state_run *run, const struct present_args *want,
                             struct err *err)
{
    struct mounts_entry mount = { .folder = want->where.folder };
    struct fstab_entry entry;

    if (find_fstab_entry(run, want, &entry, err) < 0 ||
        state_note(run, "mounted", value_bool(true), err) < 0)
        return -1;
    mount.device = entry.device;
    mount.type = entry.type;
    mount.options = entry.options;
    return mounts_mount(run, &mount, err);
}

static int fstab_present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct editor editor = make_fstab_editor(want);
    bool mounted;

    if (is_mounted(run, want, &mounted, err) < 0 || editor_apply(run, &editor, args, err) < 0)
        return -1;
    return run->unchanged || mounted || !want->mount ? 0 : mount_fstab_entry(run, want, err);
}

static int fstab_present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    bool mounted;

    if (is_mounted(run, want, &mounted, err) < 0)
        return -1;
    if (!state_noted(run, "mounted") || !mounted) {
        state_unchanged(run); /* the file comes back by itself */
        return 0;
    }
    return mounts_unmount(run, want->where.folder, err);
}

const struct module module_mount_fstab_present = {
    .name = "mount.fstab_present",
    .summary = "an entry of fstab",
    .example =
        "name: tmpfs\nfs_file: /scratch\nfs_vfstype: tmpfs\nmount: false\nconfig: ROOT/fstab\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = "mount",
    .validate = fstab_present_validate,
    .check = fstab_present_check,
    .apply = fstab_present_apply,
    .revert = fstab_present_revert,
};

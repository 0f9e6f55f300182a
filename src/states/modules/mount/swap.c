/* mount.swap - activates a swap device or file, now and at boot. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/fstab.h"
#include "states/modules/file/editor.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/mount/mounts.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"

#define ARGS struct swap_args

struct swap_args {
    const char *name, *config;
    bool persist;
};

/* clang-format off */
static const struct param swap_params[] = {
    PARAM("name", STR, ARGS, name, "the device or file: /swapfile, /dev/sdb2, UUID=..., LABEL=...", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("persist", BOOL, ARGS, persist, "keep it in fstab", .default_text = "true"),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/fstab"),
    { 0 },
};
/* clang-format on */

static int swap_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct swap_args *want = args;

    if (want->name[0] == '-')
        return validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags);
    return validate_text("name", want->name, VALIDATE_LINE, where, diags);
}

/* --- fstab ------------------------------------------------------------------------------------ */

/* An existing entry is left alone: its options may be more specific. */
static int swap_plan(struct state_run *run, const void *args, const struct editor_file *file,
                     struct editor_plan *plan, struct err *err)
{
    const struct swap_args *want = args;
    const struct fstab_entry entry = { want->name, "none", "swap", "defaults", 0, 0 };

    if (mounts_has_swap(run, file->text, want->name))
        buf_add_str(&plan->text, file->text);
    else
        fstab_set(file->text, &entry, &plan->text);
    plan->pending = arena_printf(run->arena, "swap %s is not in fstab", want->name);
    plan->done = "updated fstab entry";
    return edit_finish(&plan->text, err);
}

static struct editor make_swap_editor(const struct swap_args *want)
{
    return (struct editor){ .path = want->config, .plan = swap_plan };
}

/* --- swapping --------------------------------------------------------------------------------- */

static int check_device(struct state_run *run, const struct swap_args *want, struct err *err)
{
    struct fs_info info;

    if (want->name[0] != '/')
        return 0;
    if (fs_stat(want->name, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        state_say(run, "%s does not exist; an earlier state must create it (apply fails otherwise)",
                  want->name);
    return 0;
}

static int swap_check(struct state_run *run, const void *args, struct err *err)
{
    const struct swap_args *want = args;
    const struct editor editor = make_swap_editor(want);
    bool active;

    if (mounts_is_swap(run, want->name, &active, err) < 0)
        return -1;
    if (!active) {
        state_differs(run, "swap %s is not active", want->name);
        if (check_device(run, want, err) < 0)
            return -1;
    }
    if (want->persist && editor_check(run, &editor, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "swap %s is already active", want->name);
    return 0;
}

static int swap_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct swap_args *want = args;
    const struct editor editor = make_swap_editor(want);
    const struct tool tool = run_tool(run);
    bool active;

    /* A swap device that cannot be activated is not added to fstab. */
    if (mounts_is_swap(run, want->name, &active, err) < 0)
        return -1;
    if (!active && (state_note(run, "activated", value_bool(true), err) < 0 ||
                    tool_run(&tool, TOOL("swapon", "--", want->name), NULL, NULL, err) < 0))
        return -1;
    buf_clear(&run->text);
    if (want->persist && editor_apply(run, &editor, args, err) < 0)
        return -1;
    run->unchanged = active && (run->unchanged || !want->persist);
    if (!active)
        state_say(run, "activated swap %s", want->name);
    state_detail(run, "device", "%s", want->name);
    state_detail_value(run, "persisted", value_bool(want->persist));
    return 0;
}

static int swap_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct swap_args *want = args;
    const struct tool tool = run_tool(run);
    bool active;

    if (mounts_is_swap(run, want->name, &active, err) < 0)
        return -1;
    if (!state_noted(run, "activated") || !active) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "deactivated swap %s (revert)", want->name);
    return tool_run(&tool, TOOL("swapoff", "--", want->name), NULL, NULL, err);
}

const struct module module_mount_swap = {
    .name = "mount.swap",
    .summary = "activate a swap device or file, now and at boot",
    .details = "It must be prepared with mkswap. An existing entry in fstab is left alone.",
    .example = "name: /swapfile\n",
    .params = swap_params,
    .args_size = sizeof(struct swap_args),
    .lock = "mount",
    .validate = swap_validate,
    .check = swap_check,
    .apply = swap_apply,
    .revert = swap_revert,
};

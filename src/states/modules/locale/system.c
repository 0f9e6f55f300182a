/* locale.system - sets the system locale. */
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"

#define ARGS struct system_args

#define DEBIAN "/etc/default/locale"
#define OTHERS "/etc/locale.conf"

struct system_args {
    const char *name, *config;
};

/* clang-format off */
static const struct param system_params[] = {
    PARAM("name", STR, ARGS, name, "the locale: de_DE.UTF-8", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("config", PATH, ARGS, config, "the file (default: /etc/default/locale if that folder exists, else /etc/locale.conf)"),
    { 0 },
};
/* clang-format on */

static int system_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct system_args *want = args;

    return validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags);
}

static int plan_system_locale(struct state_run *run, const void *args,
                              const struct editor_file *file, struct editor_plan *plan,
                              struct err *err)
{
    const struct system_args *want = args;
    const struct edit_pair pair = { STR("LANG"), str_from(want->name) };
    const struct edit_keyvalue edit = {
        .pairs = &pair, .n = 1, .separator = STR("="), .append = true
    };
    struct edit_keyvalue_found found;

    plan->pending = arena_printf(run->arena, "LANG is not %s in %s", want->name, file->path);
    plan->done = arena_printf(run->arena, "LANG is %s in %s", want->name, file->path);
    plan->remark = plan->done;
    return edit_keyvalue(file->text, &edit, &plan->text, &found, err);
}

static int find_locale_editor(const struct system_args *want, struct editor *ret, struct err *err)
{
    struct fs_info info;

    *ret = (struct editor){ .path = want->config, .plan = plan_system_locale };
    if (want->config)
        return 0;
    if (fs_stat("/etc/default", &info, err) < 0)
        return -1;
    ret->path = info.kind == FS_FOLDER ? DEBIAN : OTHERS;
    return 0;
}

static int system_check(struct state_run *run, const void *args, struct err *err)
{
    struct editor editor;

    if (find_locale_editor(args, &editor, err) < 0)
        return -1;
    return editor_check(run, &editor, args, err);
}

static int system_apply(struct state_run *run, const void *args, struct err *err)
{
    struct editor editor;

    if (find_locale_editor(args, &editor, err) < 0)
        return -1;
    return editor_apply(run, &editor, args, err);
}

const struct module module_locale_system = {
    .name = "locale.system",
    .summary = "the system locale",
    .example = "name: C.UTF-8\nconfig: ROOT/locale\n",
    .params = system_params,
    .args_size = sizeof(struct system_args),
    .validate = system_validate,
    .check = system_check,
    .apply = system_apply,
};

/* file.uncomment - uncomments lines that match. */
#include "core/edit/edit.h"
#include "states/modules/file/commenting.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

#define ARGS struct commenting_args

static const struct param uncomment_params[] = {
    COMMENTING_PARAMS(ARGS),
    { 0 },
};

static int uncomment_validate(const void *args, const struct value *where, struct diags *diags)
{
    return commenting_validate(args, where, diags);
}

static int plan_uncomment(struct state_run *run, const void *args, const struct editor_file *file,
                          struct editor_plan *plan, struct err *err)
{
    static const struct commenting how = { edit_uncomment, "file.uncomment", "uncommented" };

    return commenting_plan(run, &how, args, file, plan, err);
}

static struct editor make_uncomment_editor(const struct commenting_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = plan_uncomment,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_uncomment_editor)

const struct module module_file_uncomment = {
    .name = "file.uncomment",
    .summary = "uncomment lines that match",
    .example = "name: ROOT/hosts.conf\nregex: ^hidden\n",
    .params = uncomment_params,
    .args_size = sizeof(struct commenting_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = uncomment_validate,
    EDITOR_STATE_FIELDS,
};

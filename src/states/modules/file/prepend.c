/* file.prepend - prepends lines that are missing. */
#include "core/edit/edit.h"
#include "states/modules/file/chunks.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

#define ARGS struct chunks_args

static const struct param prepend_params[] = {
    CHUNKS_PARAMS(ARGS),
    PARAM("header", BOOL, ARGS, header, "require them to be the first lines of the file"),
    { 0 },
};

static int prepend_validate(const void *args, const struct value *where, struct diags *diags)
{
    return chunks_validate(args, where, diags);
}

static int plan_prepended_text(struct state_run *run, const void *args,
                               const struct editor_file *file, struct editor_plan *plan,
                               struct err *err)
{
    return chunks_plan(run, args, edit_prepend, "prepended", file, plan, err);
}

static struct editor make_prepend_editor(const struct chunks_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = plan_prepended_text,
        .makedirs = want->makedirs,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_prepend_editor)

const struct module module_file_prepend = {
    .name = "file.prepend",
    .summary = "prepend lines that are missing",
    .details = "Whole lines are compared: 'foo' is not found in '#foobar'. A text of several lines "
               "is matched as one block of consecutive lines.",
    .example = "name: ROOT/lines\ntext:\n  - first line\n  - second line\n",
    .params = prepend_params,
    .args_size = sizeof(struct chunks_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = prepend_validate,
    EDITOR_STATE_FIELDS,
};

/* file.append - appends lines that are missing. */
#include "core/edit/edit.h"
#include "states/modules/file/chunks.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

#define ARGS struct chunks_args

static const struct param append_params[] = {
    CHUNKS_PARAMS(ARGS),
    { 0 },
};

static int append_validate(const void *args, const struct value *where, struct diags *diags)
{
    return chunks_validate(args, where, diags);
}

static int append_plan(struct state_run *run, const void *args, const struct editor_file *file,
                       struct editor_plan *plan, struct err *err)
{
    return chunks_plan(run, args, edit_append, "appended", file, plan, err);
}

static struct editor make_append_editor(const struct chunks_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = append_plan,
        .makedirs = want->makedirs,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_append_editor)

const struct module module_file_append = {
    .name = "file.append",
    .summary = "append lines that are missing",
    .details = "Whole lines are compared: 'foo' is not found in '#foobar'. A text of several lines "
               "is matched as one block of consecutive lines.",
    .example = "name: ROOT/lines\ntext:\n  - first line\n  - second line\n",
    .params = append_params,
    .args_size = sizeof(struct chunks_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = append_validate,
    EDITOR_STATE_FIELDS,
};

/* ini.sections_present - adds sections to an ini file. */
#include "base/diag.h"
#include "base/err.h"
#include "modules/ini/inifile.h"

/* clang-format off */
static const struct param sections_present_params[] = {
    INIFILE_PARAMS(ANY, "names of sections", .kind_text = "list of strings"),
    { 0 },
};
/* clang-format on */

static int sections_present_plan(struct state_run *run, const void *args,
                                 const struct editor_file *file, struct editor_plan *plan,
                                 struct err *err)
{
    const struct inifile_args *want = args;
    struct diags diags = DIAGS_INIT(run->arena);
    struct inifile_draft draft = { run->arena, inifile_format(want), file->text, 0 };
    struct inifile_wishes wishes;

    if (inifile_read_sections(run->arena, want, &wishes, &diags) < 0)
        return diags_to_err(&diags, err);
    VEC_EACH (&wishes.list, wish) {
        if (ini_has_section(draft.text, &draft.format, wish->section))
            continue;
        ini_add_section(draft.text, wish->section, &plan->text);
        if (inifile_step(&draft, &plan->text, err) < 0)
            return err_wrap(err, "%s", want->name);
    }
    buf_add_str(&plan->text, draft.text);
    plan->pending = arena_printf(run->arena, "%zu section%s missing from %s", draft.changes,
                                 draft.changes == 1 ? " is" : "s are", want->name);
    plan->done = arena_printf(run->arena, "added %zu section%s to %s", draft.changes,
                              draft.changes == 1 ? "" : "s", want->name);
    plan->remark = arena_printf(run->arena, "%s has all of the sections", want->name);
    return 0;
}

static struct editor editor_of(const struct inifile_args *want)
{
    return (struct editor){ .path = want->name, .plan = sections_present_plan };
}

EDITOR_STATE(editor_of)

const struct module module_ini_sections_present = {
    .name = "ini.sections_present",
    .summary = "add sections to an ini file, empty if new",
    .example = "name: ROOT/settings.ini\nsections: [server, client]\n",
    .params = sections_present_params,
    .args_size = sizeof(struct inifile_args),
    .flags = MODULE_LOCAL,
    .validate = inifile_validate_sections,
    EDITOR_STATE_FIELDS,
};

/* ini.sections_present - adds sections to an ini file. */
#include "states/modules/ini/inifile.h"

/* clang-format off */
static const struct param sections_present_params[] = {
    INIFILE_PARAMS(ANY, "names of sections", .kind_text = "list of strings"),
    { 0 },
};
/* clang-format on */

static int add_sections(struct inifile_draft *draft, const struct inifile_args *args,
                        const struct inifile_wishes *wishes, struct buf *out, struct err *err)
{
    (void)args;
    VEC_EACH (&wishes->list, wish) {
        if (ini_has_section(draft->text, &draft->format, wish->section))
            continue;
        ini_add_section(draft->text, wish->section, out);
        if (inifile_step(draft, out, err) < 0)
            return -1;
    }
    return 0;
}

static const struct inifile_goal goal = {
    .content = INIFILE_SECTIONS,
    .edit = add_sections,
    .noun = "section",
    .one_differs = "is missing from",
    .many_differ = "are missing from",
    .did = "added",
    .where = "to",
    .remark = "",
    .remark_end = " has all of the sections",
};

INIFILE_STATE(goal)

const struct module module_ini_sections_present = {
    .name = "ini.sections_present",
    .summary = "add sections to an ini file, empty if new",
    .example = "name: ROOT/settings.ini\nsections: [server, client]\n",
    .params = sections_present_params,
    INIFILE_STATE_FIELDS,
};

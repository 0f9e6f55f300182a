/* ini.sections_absent - removes sections from an ini file. */
#include "states/modules/ini/inifile.h"

/* clang-format off */
static const struct param sections_absent_params[] = {
    INIFILE_PARAMS(ANY, "names of sections", .kind_text = "list of strings"),
    { 0 },
};
/* clang-format on */

static int remove_sections(struct inifile_draft *draft, const struct inifile_args *args,
                           const struct inifile_wishes *wishes, struct buf *out, struct err *err)
{
    (void)args;
    VEC_EACH (&wishes->list, wish) {
        if (!ini_has_section(draft->text, &draft->format, wish->section))
            continue;
        ini_remove_section(draft->text, &draft->format, wish->section, out);
        if (inifile_step(draft, out, err) < 0)
            return -1;
    }
    return 0;
}

static const struct inifile_goal goal = {
    .content = INIFILE_SECTIONS,
    .edit = remove_sections,
    .noun = "section",
    .one_differs = "is still in",
    .many_differ = "are still in",
    .did = "removed",
    .where = "from",
    .remark = "",
    .remark_end = " has none of the sections",
};

INIFILE_STATE(goal)

const struct module module_ini_sections_absent = {
    .name = "ini.sections_absent",
    .summary = "remove sections from an ini file",
    .example = "name: ROOT/settings.ini\nsections: [server]\n",
    .params = sections_absent_params,
    INIFILE_STATE_FIELDS,
};

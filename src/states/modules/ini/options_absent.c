/* ini.options_absent - removes options from an ini file. */
#include "states/modules/ini/inifile.h"

/* clang-format off */
static const struct param options_absent_params[] = {
    INIFILE_PARAMS(MAP, "sections, each with a list of keys; a key outside any section stands alone"),
    { 0 },
};
/* clang-format on */

static int remove_options(struct inifile_draft *draft, const struct inifile_args *args,
                          const struct inifile_wishes *wishes, struct buf *out, struct err *err)
{
    (void)args;
    VEC_EACH (&wishes->list, wish) {
        ini_remove(draft->text, &draft->format, wish->section, wish->key, out);
        if (inifile_step(draft, out, err) < 0)
            return -1;
    }
    return 0;
}

static const struct inifile_goal goal = {
    .content = INIFILE_KEYS,
    .edit = remove_options,
    .noun = "option",
    .one_differs = "is still in",
    .many_differ = "are still in",
    .did = "removed",
    .where = "from",
    .remark = "",
    .remark_end = " has none of the options",
};

INIFILE_STATE(goal)

const struct module module_ini_options_absent = {
    .name = "ini.options_absent",
    .summary = "remove options from an ini file",
    .example = "name: ROOT/settings.ini\nsections:\n  server:\n    - debug\n",
    .params = options_absent_params,
    INIFILE_STATE_FIELDS,
};

/* ini.options_present - sets options of an ini file. */
#include "states/modules/ini/inifile.h"

/* clang-format off */
static const struct param options_present_params[] = {
    INIFILE_PARAMS(MAP, "sections, each with its options and values; a key outside any section has a value directly"),
    PARAM("strict", BOOL, struct inifile_args, strict, "remove all other options of these sections"),
    PARAM("no_spaces", BOOL, struct inifile_args, no_spaces, "write no blanks around the separator"),
    { 0 },
};
/* clang-format on */

static bool is_wished(const struct inifile_wishes *wishes, const struct ini_item *item)
{
    VEC_EACH (&wishes->list, wish)
        if (wish->kind == INI_OPTION && wish->section.p && str_eq(wish->section, item->section) &&
            str_eq(wish->key, item->key))
            return true;
    return false;
}

/* Other options of the section. */
static int remove_other_options(struct inifile_draft *draft, struct str section,
                                const struct inifile_wishes *wishes, struct buf *out,
                                struct err *err)
{
    struct ini_walk walk = { .rest = draft->text, .format = &draft->format };
    struct ini_item item;

    while (ini_next(&walk, &item))
        if (item.kind != INI_OPTION || !item.section.p || !str_eq(item.section, section) ||
            is_wished(wishes, &item))
            buf_add_str(out, item.text);
    return inifile_step(draft, out, err);
}

static int edit_options(struct inifile_draft *draft, const struct inifile_args *want,
                        const struct inifile_wishes *wishes, struct buf *out, struct err *err)
{
    VEC_EACH (&wishes->list, wish) {
        if (wish->kind != INI_OPTION)
            continue;
        ini_set(draft->text, &draft->format, wish, out);
        if (inifile_step(draft, out, err) < 0)
            return -1;
    }
    VEC_EACH (&wishes->list, wish)
        if (want->strict && wish->kind == INI_HEADER &&
            remove_other_options(draft, wish->section, wishes, out, err) < 0)
            return -1;
    return 0;
}

static const struct inifile_goal goal = {
    .content = INIFILE_VALUES,
    .edit = edit_options,
    .noun = "option",
    .one_differs = "differs in",
    .many_differ = "differ in",
    .did = "set",
    .where = "in",
    .remark = "all options of ",
    .remark_end = " are set",
};

INIFILE_STATE(goal)

const struct module module_ini_options_present = {
    .name = "ini.options_present",
    .summary = "set options of an ini file",
    .details = "Comments, order and spacing of all other lines stay. A new option comes after the "
               "last one of its section, a new section at the end, and a missing file is created. "
               "A null value is a key without a value.",
    .example = "name: ROOT/app.ini\nsections:\n  server:\n    port: 80\n    host: localhost\n",
    .params = options_present_params,
    INIFILE_STATE_FIELDS,
};

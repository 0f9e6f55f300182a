/* ini.get_option - returns the value of an option. */
#include "core/base/err.h"
#include "core/edit/ini.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS     struct get_option_args
#define FILE_MAX ((size_t)16 << 20)

struct get_option_args {
    const char *file;
    struct str section, option, separator;
};

/* clang-format off */
static const struct param get_option_params[] = {
    PARAM("file_name", PATH, ARGS, file, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("section", TEXT, ARGS, section, "the section; empty: outside of any", .flags = PARAM_REQUIRED),
    PARAM("option", TEXT, ARGS, option, "the key", .flags = PARAM_REQUIRED),
    PARAM("separator", TEXT, ARGS, separator, "the separator of key and value; a blank means any blanks", .default_text = "="),
    { 0 },
};
/* clang-format on */

static int get_option_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const struct get_option_args *want = args;
    const struct ini_format format = { .separator = want->separator };
    const struct str outside = { NULL, 0 };
    struct ini_item item;
    struct str text;

    if (fs_read(run->arena, want->file, FILE_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->file);
    *ret = value_null();
    if (ini_find(text, &format, want->section.n > 0 ? want->section : outside, want->option, &item))
        *ret = value_str(item.value.p ? item.value : STR(""));
    return 0;
}

const struct module module_ini_get_option = {
    .name = "ini.get_option",
    .summary = "the value of an option, or none",
    .example = "file_name: /etc/php.ini\nsection: PHP\noption: memory_limit\n",
    .params = get_option_params,
    .args_size = sizeof(struct get_option_args),
    .call = get_option_call,
};

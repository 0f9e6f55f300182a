/* file.check_managed - whether a file has the given content, owner and mode. */
#include "core/base/buf.h"
#include "states/modules/file/prospect.h"
#include "states/state/module.h"

#define ARGS struct prospect_args

/* clang-format off */
static const struct param check_managed_params[] = {
    PROSPECT_SOURCE(ARGS),
    PROSPECT_OWNER(ARGS),
    PROSPECT_TEMPLATE(ARGS),
    PROSPECT_ENVIRONMENT(ARGS),
    PROSPECT_CONTENTS(ARGS),
    PROSPECT_SELINUX,
    PARAM("follow_symlinks", BOOL, ARGS, follow, "compare the target of a link"),
    { 0 },
};
/* clang-format on */

/* As in Salt: a list of true or null, and the reason. */
static int check_managed_call(struct state_run *run, const void *args, struct value *ret,
                              struct err *err)
{
    const struct prospect_args *want = args;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value changes;

    if (prospect_find(run, want, &changes, err) < 0)
        return -1;
    if (changes.map->count == 0)
        buf_printf(&text, "The file %s is in the correct state", want->name);
    else
        buf_add_text(&text, "The following values are set to be changed:\n");
    for (size_t i = 0; i < changes.map->count; i++)
        buf_printf(&text, "%.*s: %.*s\n", STR_ARG(changes.map->pairs[i].key.s),
                   STR_ARG(changes.map->pairs[i].value.s));
    *ret = value_list(value_list_new(run->arena, 2));
    value_list_push(run->arena, ret->list,
                    changes.map->count == 0 ? value_bool(true) : value_null());
    value_list_push(run->arena, ret->list, value_str(buf_copy(&text, run->arena)));
    return 0;
}

const struct module module_file_check_managed = {
    .name = "file.check_managed",
    .summary = "whether a file has the given content, owner and mode, and the differences",
    .params = check_managed_params,
    .args_size = sizeof(ARGS),
    .call = check_managed_call,
};

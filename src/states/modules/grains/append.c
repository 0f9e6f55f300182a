/* grains.append - a fact of the administrator is a list that has an item. */
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param append_params[] = {
    GRAIN_NAME,
    GRAIN_VALUE,
    PARAM("convert", BOOL, struct grain_args, convert, "convert a scalar to a list"),
    GRAIN_DELIMITER,
    { 0 },
};
/* clang-format on */

static int decide_append(struct state_run *run, const struct grain_args *want,
                         const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                         struct err *err)
{
    if (!now)
        return err_set(err, ERR_NOT_FOUND, "grain '%s' does not exist", want->name);
    if (now->kind != VALUE_LIST && !want->convert)
        return err_set(err, ERR_INVALID, "grain '%s' is %s, not a list; set 'convert'", want->name,
                       value_describe(now));
    *ret = now->kind == VALUE_LIST ? value_copy(run->arena, now)
                                   : value_list(value_list_new(run->arena, 2));
    if (now->kind != VALUE_LIST)
        value_list_push(run->arena, ret->list, *now);
    else if (grain_has(now, want->value))
        return 0;
    value_list_push(run->arena, ret->list, *want->value);
    *ret_fate = GRAIN_IS_SET;
    return 0;
}

GRAIN_STATE(decide_append)

const struct module module_grains_append = {
    .name = "grains.append",
    .summary = "add an item to a fact that is a list",
    .example = "name: roles\nvalue: web\n",
    GRAIN_STATE_FIELDS(append_params),
};

/* grains.list_present - items are in a list of facts, which is made when it is missing. */
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param list_present_params[] = {
    GRAIN_NAME,
    GRAIN_VALUES,
    GRAIN_DELIMITER,
    { 0 },
};
/* clang-format on */

static void add_grain_item(struct state_run *run, struct value *list, const struct value *item)
{
    if (!grain_has(list, item))
        value_list_push(run->arena, list->list, *item);
}

static int decide_list_present(struct state_run *run, const struct grain_args *want,
                               const struct value *now, struct value *ret,
                               enum grain_fate *ret_fate, struct err *err)
{
    if (now && now->kind != VALUE_LIST)
        return err_set(err, ERR_INVALID, "grain '%s' is %s, not a list", want->name,
                       value_describe(now));
    *ret = now ? value_copy(run->arena, now) : value_list(value_list_new(run->arena, 1));
    grain_each(run, want, add_grain_item, ret);
    if (!now || ret->list->count != now->list->count)
        *ret_fate = GRAIN_IS_SET;
    return 0;
}

GRAIN_STATE(decide_list_present)

const struct module module_grains_list_present = {
    .name = "grains.list_present",
    .summary = "add items to a fact that is a list",
    .example = "name: roles\nvalue: [web, db]\n",
    GRAIN_STATE_FIELDS(list_present_params),
};

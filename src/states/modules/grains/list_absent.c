/* grains.list_absent - items are not in a list of facts. */
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param list_absent_params[] = {
    GRAIN_NAME,
    GRAIN_VALUES,
    GRAIN_DELIMITER,
    { 0 },
};
/* clang-format on */

static void drop_item(struct state_run *run, struct value *list, const struct value *item)
{
    struct value_list *left = value_list_new(run->arena, list->list->count);

    for (size_t i = 0; i < list->list->count; i++)
        if (!value_equal(&list->list->items[i], item))
            value_list_push(run->arena, left, list->list->items[i]);
    *list = value_list(left);
}

static int decide_list_absent(struct state_run *run, const struct grain_args *want,
                              const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                              struct err *err)
{
    if (!now)
        return 0;
    if (now->kind != VALUE_LIST)
        return err_set(err, ERR_INVALID, "grain '%s' is %s, not a list", want->name,
                       value_describe(now));
    *ret = *now;
    grain_each(run, want, drop_item, ret);
    if (ret->list->count != now->list->count)
        *ret_fate = GRAIN_IS_SET;
    return 0;
}

GRAIN_STATE(decide_list_absent)

const struct module module_grains_list_absent = {
    .name = "grains.list_absent",
    .summary = "remove items from a fact that is a list",
    .example = "name: roles\nvalue: web\n",
    GRAIN_STATE_FIELDS(list_absent_params),
};

/* grains.absent - a fact of the administrator has no value, or is not there. */
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param absent_params[] = {
    GRAIN_NAME,
    PARAM("destructive", BOOL, struct grain_args, destructive, "remove it, instead of setting it to null"),
    GRAIN_DELIMITER,
    GRAIN_FORCE,
    { 0 },
};
/* clang-format on */

static int decide_absent(struct state_run *run, const struct grain_args *want,
                         const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                         struct err *err)
{
    (void)run;
    if (!now || (!want->destructive && now->kind == VALUE_NULL))
        return 0;
    if (grain_check_force(want, now, err) < 0)
        return -1;
    *ret = value_null();
    *ret_fate = want->destructive ? GRAIN_IS_REMOVED : GRAIN_IS_SET;
    return 0;
}

GRAIN_STATE(decide_absent)

const struct module module_grains_absent = {
    .name = "grains.absent",
    .summary = "set a fact to null, or remove it",
    .details = "What is detected cannot be removed, only hidden by null.",
    .example = "name: roles\nforce: true\n",
    GRAIN_STATE_FIELDS(absent_params),
};

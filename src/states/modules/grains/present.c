/* grains.present - a fact of the administrator has a value. */
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param present_params[] = {
    GRAIN_NAME,
    GRAIN_VALUE,
    GRAIN_DELIMITER,
    GRAIN_FORCE,
    { 0 },
};
/* clang-format on */

static int decide_present(struct state_run *run, const struct grain_args *want,
                          const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                          struct err *err)
{
    (void)run;
    if (now && value_equal(now, want->value))
        return 0;
    if (grain_check_force(want, now, err) < 0)
        return -1;
    *ret = *want->value;
    *ret_fate = GRAIN_IS_SET;
    return 0;
}

GRAIN_STATE(decide_present)

const struct module module_grains_present = {
    .name = "grains.present",
    .summary = "give a fact a value",
    .details = "Stored where facts.set stores it; later states of the run see it.",
    .example = "name: roles\nvalue: [web]\n",
    GRAIN_STATE_FIELDS(present_params),
};

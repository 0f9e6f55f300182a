/* grains.exists - fails when there is no such fact. */
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/grains/grain.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param exists_params[] = {
    GRAIN_NAME,
    GRAIN_DELIMITER,
    { 0 },
};
/* clang-format on */

static int decide_exists(struct state_run *run, const struct grain_args *want,
                         const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                         struct err *err)
{
    (void)run;
    (void)ret;
    (void)ret_fate;
    return now ? 0 : err_set(err, ERR_NOT_FOUND, "grain '%s' does not exist", want->name);
}

GRAIN_STATE(decide_exists)

const struct module module_grains_exists = {
    .name = "grains.exists",
    .summary = "fail when there is no such fact",
    .example = "name: os\n",
    GRAIN_STATE_FIELDS(exists_params),
};

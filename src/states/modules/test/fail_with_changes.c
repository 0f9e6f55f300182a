/* test.fail_with_changes - a state that differs and cannot be applied. */
#include "states/modules/test/outcome.h"

static const struct param outcome_params[] = OUTCOME_PARAMS("failure with changes");

const struct module module_test_fail_with_changes = {
    .name = "test.fail_with_changes",
    .summary = "report a change, then fail",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_ALWAYS | MODULE_LOCAL,
    .check = outcome_differs,
    .apply = outcome_fails,
};

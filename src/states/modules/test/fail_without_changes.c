/* test.fail_without_changes - a state that cannot even be checked. */
#include "states/modules/test/outcome.h"

static const struct param outcome_params[] = OUTCOME_PARAMS("failure without changes");

const struct module module_test_fail_without_changes = {
    .name = "test.fail_without_changes",
    .summary = "fail without a change",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_LOCAL,
    .check = outcome_fails,
    .apply = outcome_fails,
};

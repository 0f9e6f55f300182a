/* test.succeed_with_changes - a state that always reports a change. */
#include "states/modules/test/outcome.h"

static const struct param outcome_params[] = OUTCOME_PARAMS("success with changes");

static int report_test_changes(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)err;
    state_detail(run, "comment", "%s", want->comment);
    return 0;
}

const struct module module_test_succeed_with_changes = {
    .name = "test.succeed_with_changes",
    .summary = "succeed and report a change",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_ALWAYS | MODULE_LOCAL,
    .check = outcome_differs,
    .apply = report_test_changes,
};

/* test.succeed_without_changes - a state that is always unchanged and reports a message. */
#include "states/modules/test/outcome.h"

static const struct param outcome_params[] = OUTCOME_PARAMS("success without changes");

static int succeed_without_changes_check(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)err;
    state_say(run, "%s", want->comment);
    return 0;
}

static int report_no_changes(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    (void)err;
    state_unchanged(run);
    return 0;
}

const struct module module_test_succeed_without_changes = {
    .name = "test.succeed_without_changes",
    .summary = "succeed and report no change",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_LOCAL,
    .check = succeed_without_changes_check,
    .apply = report_no_changes,
};

/* test.fail_with_changes - a state that differs and cannot be applied. */
#include "base/err.h"
#include "state/module.h"

#define ARGS struct outcome_args

struct outcome_args {
    const char *comment;
};

static const struct param outcome_params[] = {
    PARAM("comment", STR, ARGS, comment, "its message", .default_text = "failure with changes"),
    { 0 },
};

static int outcome_check(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)err;
    state_differs(run, "%s", want->comment);
    return 0;
}

static int outcome_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)run;
    return err_set(err, ERR_INVALID, "%s", want->comment);
}

const struct module module_test_fail_with_changes = {
    .name = "test.fail_with_changes",
    .summary = "report a change, then fail",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_ALWAYS | MODULE_LOCAL,
    .check = outcome_check,
    .apply = outcome_apply,
};

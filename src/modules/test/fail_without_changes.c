/* test.fail_without_changes - a state that cannot even be checked. */
#include "base/err.h"
#include "state/module.h"

#define ARGS struct outcome_args

struct outcome_args {
    const char *comment;
};

static const struct param outcome_params[] = {
    PARAM("comment", STR, ARGS, comment, "its message", .default_text = "failure without changes"),
    { 0 },
};

static int outcome_check(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)run;
    return err_set(err, ERR_INVALID, "%s", want->comment);
}

static int outcome_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)run;
    return err_set(err, ERR_INVALID, "%s", want->comment);
}

const struct module module_test_fail_without_changes = {
    .name = "test.fail_without_changes",
    .summary = "fail without a change",
    .example = "comment: hello\n",
    .params = outcome_params,
    .args_size = sizeof(struct outcome_args),
    .flags = MODULE_LOCAL,
    .check = outcome_check,
    .apply = outcome_apply,
};

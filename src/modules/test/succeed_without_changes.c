/* test.succeed_without_changes - a state that is always unchanged and reports a message. */
#include "base/err.h"
#include "state/module.h"

#define ARGS struct outcome_args

struct outcome_args {
    const char *comment;
};

static const struct param outcome_params[] = {
    PARAM("comment", STR, ARGS, comment, "its message", .default_text = "success without changes"),
    { 0 },
};

static int outcome_check(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)err;
    state_say(run, "%s", want->comment);
    return 0;
}

static int outcome_apply(struct state_run *run, const void *args, struct err *err)
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
    .check = outcome_check,
    .apply = outcome_apply,
};

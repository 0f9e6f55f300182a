/* test.show_notification - shows a message. */
#include "states/state/module.h"

#define ARGS struct notification_args

struct notification_args {
    const char *text;
};

static const struct param notification_params[] = {
    PARAM("text", STR, ARGS, text, "its message", .flags = PARAM_REQUIRED),
    { 0 },
};

static int show_notification_check(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    state_say(run, "%s", ((const struct notification_args *)args)->text);
    return 0;
}

static int show_notification_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run);
    return show_notification_check(run, args, err);
}

const struct module module_test_show_notification = {
    .name = "test.show_notification",
    .summary = "show a message and change nothing",
    .example = "text: hello\n",
    .params = notification_params,
    .args_size = sizeof(struct notification_args),
    .flags = MODULE_LOCAL,
    .check = show_notification_check,
    .apply = show_notification_apply,
};

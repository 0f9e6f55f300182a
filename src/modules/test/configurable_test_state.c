/* test.configurable_test_state - a state with a configurable result. */
#include "base/err.h"
#include "state/module.h"

#define ARGS struct configurable_args

struct configurable_args {
    bool result, changes;
    const char *comment;
    struct param_strs warnings;
    bool allow_test_mode_failure;
};

static const struct param configurable_params[] = {
    PARAM("result", BOOL, ARGS, result, "whether it succeeds", .default_text = "true"),
    PARAM("changes", BOOL, ARGS, changes, "whether it changes", .default_text = "true"),
    PARAM("comment", STR, ARGS, comment,
          "its message (default: 'configured change' or 'configured failure')"),
    PARAM("warnings", STRS, ARGS, warnings, "more that it says"),
    PARAM("allow_test_mode_failure", BOOL, ARGS, allow_test_mode_failure,
          "a dry run fails, too, when the state does"),
    { 0 },
};

static const char *comment_of(const struct configurable_args *want)
{
    return want->comment  ? want->comment
           : want->result ? "configured change"
                          : "configured failure";
}

static int configurable_check(struct state_run *run, const void *args, struct err *err)
{
    const struct configurable_args *want = args;

    if (!want->result && want->allow_test_mode_failure && run->test)
        return err_set(err, ERR_INVALID, "%s", comment_of(want));
    if (want->changes)
        state_differs(run, "%s", want->result ? comment_of(want) : "configured change");
    else if (!want->result)
        return err_set(err, ERR_INVALID, "%s", comment_of(want));
    else if (want->comment)
        state_say(run, "%s", want->comment);
    for (size_t i = 0; i < want->warnings.n; i++)
        state_say(run, "warning: %s", want->warnings.p[i]);
    return 0;
}

static int configurable_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct configurable_args *want = args;

    if (!want->result)
        return err_set(err, ERR_INVALID, "%s", comment_of(want));
    if (!want->changes)
        state_unchanged(run);
    return 0;
}

const struct module module_test_configurable_test_state = {
    .name = "test.configurable_test_state",
    .summary = "succeed or fail, with or without a change",
    .example = "result: true\nchanges: true\n",
    .params = configurable_params,
    .args_size = sizeof(struct configurable_args),
    .flags = MODULE_LOCAL,
    .check = configurable_check,
    .apply = configurable_apply,
};

/* test.configurable_test_state - a state with a configurable result. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/chance.h"

#define ARGS struct configurable_args

/* As the words of the parameters. */
enum test_wish { WISH_NO, WISH_YES, WISH_RANDOM };
#define WISHES "false|true|random"

struct configurable_args {
    enum test_wish result, changes;
    const char *comment;
    struct param_strs warnings;
    bool allow_test_mode_failure;
};

static const struct param configurable_params[] = {
    PARAM("result", CHOICE, ARGS, result, "whether it succeeds", .choices = WISHES,
          .flags = PARAM_ANY_CASE, .default_text = "true"),
    PARAM("changes", CHOICE, ARGS, changes, "whether it changes", .choices = WISHES,
          .flags = PARAM_ANY_CASE, .default_text = "true"),
    PARAM("comment", STR, ARGS, comment,
          "its message (default: 'configured change' or 'configured failure')"),
    PARAM("warnings", STRS, ARGS, warnings, "more that it says"),
    PARAM("allow_test_mode_failure", BOOL, ARGS, allow_test_mode_failure,
          "a dry run fails, too, when the state does"),
    { 0 },
};

static bool choose_test_result(enum test_wish wish)
{
    return wish == WISH_RANDOM ? chance_number() % 2 == 0 : wish == WISH_YES;
}

static int fail_as_asked(const struct configurable_args *want, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s", want->comment ? want->comment : "configured failure");
}

static int configurable_test_state_check(struct state_run *run, const void *args, struct err *err)
{
    const struct configurable_args *want = args;

    if (run->test && want->allow_test_mode_failure && !choose_test_result(want->result))
        return fail_as_asked(want, err);
    if (choose_test_result(want->changes))
        state_differs(run, "%s",
                      want->comment && want->result != WISH_NO ? want->comment
                                                               : "configured change");
    else if (!choose_test_result(want->result))
        return fail_as_asked(want, err);
    else if (want->comment)
        state_say(run, "%s", want->comment);
    for (size_t i = 0; i < want->warnings.n; i++)
        state_say(run, "warning: %s", want->warnings.p[i]);
    return 0;
}

static int configurable_test_state_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct configurable_args *want = args;

    if (!choose_test_result(want->result))
        return fail_as_asked(want, err);
    if (want->changes == WISH_NO)
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
    .check = configurable_test_state_check,
    .apply = configurable_test_state_apply,
};

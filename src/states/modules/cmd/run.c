/* cmd.run - runs a command. */
#include "core/base/err.h"
#include "states/modules/cmd/command.h"
#include "states/modules/cmd/stateful.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct run_args

struct run_args {
    const char *command;
    const struct value *args;
    struct command_args how;
    const struct value *stateful;
};

/* clang-format off */
static const struct param run_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    PARAM("args", ANY, ARGS, args, "arguments as a list: the command is run without a shell"),
    COMMAND_PARAMS(ARGS, how),
    PARAM("stateful", ANY, ARGS, stateful, STATEFUL_DOC "; a list with 'test_name: COMMAND' names a command that reports it in a dry run", .kind_text = "bool or list"),
    { 0 },
};
/* clang-format on */

static int run_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct run_args *want = args;
    int result = command_validate(&want->how, diags);

    (void)where;
    result |= stateful_validate(want->stateful, diags);
    if (want->args && want->args->kind != VALUE_NULL && !command_is_words(want->args)) {
        result = value_diag(diags, want->args, "'args' must be a list, got %s",
                            value_describe(want->args));
        diag_hint(diags,
                  "use a list to run without a shell, else put the arguments into the command");
    }
    return result;
}

static struct shell_command find_run_command(struct state_run *run, const struct run_args *want)
{
    const bool has_args = want->args && want->args->kind == VALUE_LIST;

    return (struct shell_command){
        .text = want->command,
        .argv = has_args ? command_words(run, want->command, want->args) : NULL,
    };
}

/* Would it change something? The command of dry runs knows. */
static int ask_command(struct state_run *run, const struct run_args *want, bool *ret_changes,
                       struct err *err)
{
    const struct shell_command command = { .text = stateful_test_name(want->stateful) };
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    return stateful_foretell(run, result.out, ret_changes, err);
}

static int run_check(struct state_run *run, const void *args, struct err *err)
{
    const struct run_args *want = args;
    bool changes = true;

    if (run->test && stateful_test_name(want->stateful) &&
        ask_command(run, want, &changes, err) < 0)
        return -1;
    if (changes)
        state_differs(run, "command \"%s\" will run", want->command);
    return 0;
}

static int run_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct run_args *want = args;
    const struct shell_command command = find_run_command(run, want);
    struct process_result result;

    buf_clear(&run->text); /* it runs now: drop 'will run' */
    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    state_say(run, "executed \"%s\" (exit %d)", want->command, result.status.code);
    return stateful_is_on(want->stateful) ? stateful_read(run, result.out, err) : 0;
}

static int run_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct run_args *want = args;
    const struct shell_command command = find_run_command(run, want);
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    *ret = value_str(arena_str(run->arena, str_trim(result.out)));
    return 0;
}

const struct module module_cmd_run = {
    .name = "cmd.run",
    .summary = "run a command",
    .details =
        "It runs whenever the state does; limit it with `creates`, `unless`, `onlyif` or "
        "`onchanges`. As a function it returns the output of the command. A program that the "
        "command leaves in the background goes on; what it writes once the command has ended "
        "is read and thrown away.",
    .example = "command: echo made > ROOT/made\n",
    .params = run_params,
    .args_size = sizeof(struct run_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO,
    .validate = run_validate,
    .check = run_check,
    .apply = run_apply,
    .call = run_call,
};

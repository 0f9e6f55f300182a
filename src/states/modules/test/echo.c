/* test.echo - returns its argument. */
#include "states/state/module.h"

#define ARGS struct echo_args

struct echo_args {
    struct str text;
};

static const struct param echo_params[] = {
    PARAM("text", TEXT, ARGS, text, "the text to return", .flags = PARAM_REQUIRED | PARAM_PRIMARY,
          .aliases = "name,id"),
    { 0 },
};

static int echo_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct echo_args *want = args;

    (void)err;
    *ret = value_str(arena_str(run->arena, want->text));
    return 0;
}

const struct module module_test_echo = {
    .name = "test.echo",
    .summary = "return a text",
    .params = echo_params,
    .args_size = sizeof(struct echo_args),
    .call = echo_call,
};

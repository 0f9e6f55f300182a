/* module.run - another module by name: a state in its place, or a function that is called. */
#include "base/err.h"
#include "state/module.h"

#define ARGS struct run_args

struct run_args {
    const char *function;
    const struct value *arguments;
};

static const struct param run_params[] = {
    PARAM("function", STR, ARGS, function, "the function to call", .flags = PARAM_REQUIRED),
    PARAM("arguments", MAP, ARGS, arguments, "its arguments"),
    { 0 },
};

/* The function and its arguments, decoded by its own table. */
static const struct module *read_target(struct arena *arena, const struct run_args *want,
                                        void **ret_args, struct diags *diags)
{
    const struct module *target = module_find(str_from(want->function));
    const struct params_policy policy = { .owner = want->function };
    const struct value empty = value_null();

    if (!target || !target->call) {
        (void)diag_add(diags, (struct place){ 0 }, "no function '%s'", want->function);
        return NULL;
    }
    *ret_args = arena_zalloc(arena, target->args_size + 1);
    if (params_decode(arena, target->params, &policy, want->arguments ? want->arguments : &empty,
                      *ret_args, diags) < 0)
        return NULL;
    return target;
}

static int run_validate(const void *args, const struct value *where, struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    void *decoded;

    (void)where;
    return read_target(&arena, args, &decoded, diags) ? 0 : -1;
}

static int run_check(struct state_run *run, const void *args, struct err *err)
{
    const struct run_args *want = args;

    (void)err;
    state_differs(run, "would call %s", want->function);
    return 0;
}

static int run_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct run_args *want = args;
    struct diags diags = DIAGS_INIT(run->arena);
    struct value result = value_null();
    void *decoded;
    const struct module *target = read_target(run->arena, want, &decoded, &diags);

    if (!target)
        return diags_to_err(&diags, err);
    if (target->call(run, decoded, &result, err) < 0)
        return err_wrap(err, "%s", want->function);
    buf_clear(&run->text);
    state_say(run, "called %s", want->function);
    state_detail(run, "function", "%s", want->function);
    state_detail_value(run, "result", result);
    return 0;
}

const struct module module_module_run = {
    .name = "module.run",
    .summary = "run another module: a state in its place, or a function",
    .details =
        "A target that is a state is checked, applied and reverted as that state:\n"
        "\n"
        "    refresh:\n"
        "      module.run:\n"
        "        - name: cmd.run\n"
        "        - command: apt-get update\n"
        "    touch:\n"
        "      module.run:\n"
        "        - file.touch:\n"
        "            path: /run/flag\n"
        "\n"
        "An argument that is called 'name' is written 'm_name' beside 'name'. Arguments may be "
        "given by place: '- service.restart: [nginx]'. The ID may be the target too.\n\n"
        "A target that is a function is called each time; its answer is in the details.\n",
    .example = "name: test.echo\ntext: hello\n",
    .params = run_params,
    .args_size = sizeof(struct run_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO,
    .validate = run_validate,
    .check = run_check,
    .apply = run_apply,
};

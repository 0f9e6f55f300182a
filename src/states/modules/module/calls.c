#include "states/modules/module/calls.h"

#include "core/base/err.h"
#include "states/state/module.h"

#define ARGS struct calls_args

const struct param calls_params[] = {
    PARAM("function", STR, ARGS, function, "the function to call"),
    PARAM("arguments", MAP, ARGS, arguments, "its arguments"),
    PARAM("calls", LIST, ARGS, calls, "several calls, each a map with 'function' and 'arguments'"),
    { 0 },
};

/* The function and its arguments, decoded by the function's own table. */
static const struct module *read_call_target(struct arena *arena, const char *function,
                                             const struct value *arguments, void **ret_args,
                                             struct diags *diags)
{
    const struct module *target = module_find(str_from(function));
    const struct params_policy policy = { .owner = function };
    const struct value empty = value_null();

    if (!target || !target->call) {
        (void)diag_add(diags, (struct place){ 0 }, "no function '%s'", function);
        return NULL;
    }
    *ret_args = arena_zalloc(arena, target->args_size + 1);
    if (params_decode(arena, target->params, &policy, arguments ? arguments : &empty, *ret_args,
                      diags) < 0)
        return NULL;
    return target;
}

/* The single call, or those of the list in order. */
static size_t count_calls(const struct calls_args *want)
{
    return want->calls ? want->calls->list->count : want->function != NULL;
}

static void get_call(const struct calls_args *want, size_t i, const char **ret_function,
                     const struct value **ret_arguments)
{
    const struct value *function;

    *ret_function = want->function;
    *ret_arguments = want->arguments;
    if (!want->calls)
        return;
    function = value_get(&want->calls->list->items[i], "function");
    *ret_function = value_is(function, VALUE_STR) ? function->s.p : "";
    *ret_arguments = value_get(&want->calls->list->items[i], "arguments");
}

int calls_validate(const void *args, const struct value *where, struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct calls_args *want = args;
    int result = 0;
    void *decoded;

    if (count_calls(want) == 0)
        return value_diag(diags, where, "'function' is missing");
    for (size_t i = 0; i < count_calls(want); i++) {
        const struct value *arguments;
        const char *function;

        get_call(want, i, &function, &arguments);
        if (!read_call_target(&arena, function, arguments, &decoded, diags))
            result = -1;
    }
    return result;
}

void calls_say(struct state_run *run, const void *args)
{
    const struct calls_args *want = args;

    for (size_t i = 0; i < count_calls(want); i++) {
        const struct value *arguments;
        const char *function;

        get_call(want, i, &function, &arguments);
        state_differs(run, "would call %s", function);
    }
}

static int call_one(struct state_run *run, const char *function, const struct value *arguments,
                    struct value *ret, struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena);
    void *decoded;
    const struct module *target =
        read_call_target(run->arena, function, arguments, &decoded, &diags);

    if (!target)
        return diags_to_err(&diags, err);
    if (target->call(run, decoded, ret, err) < 0)
        return err_wrap(err, "%s", function);
    if (run->salt && ret->kind == VALUE_BOOL && !ret->b)
        return err_set(err, ERR_INVALID, "%s: returned false", function);
    return 0;
}

/* The results: that of a single call as it is, those of several by name. */
int calls_run(struct state_run *run, const void *args, struct err *err)
{
    const struct calls_args *want = args;
    struct value_map *answers = value_map_new(run->arena, 4);
    const size_t count = count_calls(want);

    buf_clear(&run->text); /* drop the announced calls */
    for (size_t i = 0; i < count; i++) {
        struct value result = value_null();
        const struct value *arguments;
        const char *function;

        get_call(want, i, &function, &arguments);
        if (call_one(run, function, arguments, &result, err) < 0)
            return -1;
        state_say(run, "called %s", function);
        value_map_set(run->arena, answers, value_text(function), result);
        if (count > 1)
            continue;
        state_detail(run, "function", "%s", function);
        state_detail_value(run, "result", result);
    }
    if (count > 1)
        state_detail_value(run, "result", value_map(answers));
    return 0;
}

/* Only a watch makes it run, and then apply is forced without a check. */
int calls_check_watched(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    if (run->forced)
        calls_say(run, args);
    return 0;
}

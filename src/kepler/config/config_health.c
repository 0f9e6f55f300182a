/* `healthcheck:` - a program that checks whether a service is healthy, and when to run it. */
#include "core/base/diag.h"
#include "language/lua/expr.h"
#include "kepler/config/config_read.h"

#define MS      INT64_C(1000000)
#define DAY_MAX (INT64_C(86400) * 1000 * MS)

struct health_args {
    struct config_program_args program;
    const struct value *test;
    int64_t interval, timeout, start_period, retries;
};

#define ARGS struct health_args
const struct param config_health_params[] = {
    PARAM("test", ANY, ARGS, test, "as in Compose: a list, [CMD, ...], [CMD-SHELL, text] or text",
          .kind_text = "list or text"),
    PARAM("command", ANY, ARGS, program.command, "program and arguments",
          .kind_text = "list of strings"),
    PARAM("run", ANY, ARGS, program.run, "text for the shell", .kind_text = "text"),
    PARAM("interval", DURATION, ARGS, interval, "time from the end of one check to the next",
          .default_text = "30s", PARAM_RANGE(MS, DAY_MAX)),
    PARAM("timeout", DURATION, ARGS, timeout, "of one check", .default_text = "30s",
          PARAM_RANGE(MS, DAY_MAX)),
    PARAM("retries", INT, ARGS, retries, "failures in a row that make it unhealthy",
          .default_text = "3", PARAM_RANGE(1, 1000000)),
    PARAM("start_period", DURATION, ARGS, start_period, "before the first check",
          .default_text = "0s", PARAM_RANGE(0, DAY_MAX)),
    PARAM("user", ANY, ARGS, program.user, "the user that runs the check", .kind_text = "string"),
    PARAM("groups", ANY, ARGS, program.groups, "exactly these groups",
          .kind_text = "list of strings"),
    PARAM("user_identity", TRISTATE, ARGS, program.user_identity, "set HOME, USER, LOGNAME, SHELL"),
    PARAM("no_new_privileges", TRISTATE, ARGS, program.no_new_privileges, "no set-id programs"),
    { 0 },
};
#undef ARGS

/* The items of a list from `from` on. */
static const struct value *tail_of(struct arena *arena, const struct value *v, size_t from)
{
    struct value_list *list = value_list_new(arena, v->list->count);
    struct value *made = ARENA_NEW(arena, struct value);

    for (size_t i = from; i < v->list->count; i++)
        value_list_push(arena, list, v->list->items[i]);
    *made = value_at(value_list(list), v);
    return made;
}

/* Compose's `test` becomes `command` or `run`; NONE switches the check off. */
static int read_health_test(struct arena *arena, const struct value *test,
                            struct config_program_args *program, bool *ret_none,
                            struct diags *diags)
{
    const struct value *first;

    if (test->kind == VALUE_STR) {
        program->run = test;
        return 0;
    }
    if (test->kind != VALUE_LIST || test->list->count == 0)
        return value_diag(diags, test, "'test' must be a list of strings or text, got %s",
                          test->kind == VALUE_LIST ? "an empty list" : value_describe(test));
    first = &test->list->items[0];
    if (first->kind == VALUE_STR && str_is(first->s, "NONE") && test->list->count == 1) {
        *ret_none = true;
    } else if (first->kind == VALUE_STR && str_is(first->s, "CMD-SHELL")) {
        if (test->list->count != 2)
            return value_diag(diags, test, "'test' requires one text after CMD-SHELL");
        program->run = &test->list->items[1];
    } else if (first->kind == VALUE_STR && str_is(first->s, "CMD")) {
        program->command = tail_of(arena, test, 1);
    } else {
        program->command = test;
    }
    return 0;
}

/* The program fields of a check stay values; only the times may not be known yet. */
static const struct value *plain_times(struct arena *arena, const struct value *v,
                                       struct health_args *args)
{
    args->test = config_given(value_get(v, "test"));
    args->program.command = value_get(v, "command");
    args->program.run = value_get(v, "run");
    args->program.user = value_get(v, "user");
    args->program.groups = value_get(v, "groups");
    return config_static(arena, v);
}

int config_health_read(struct arena *arena, const struct value *v,
                       const struct config_program_defaults *defaults, const char *owner,
                       struct config_health *ret, struct diags *diags)
{
    const char *whose = arena_printf(arena, "'healthcheck' of %s", owner);
    struct params_policy policy = config_policy(whose);
    struct config_program_defaults own = *defaults;
    struct health_args args = { 0 }, dynamic = { 0 };
    bool none = false;
    int result = 0;

    *ret = (struct config_health){ .given = v != NULL };
    if (!v)
        return 0;
    ret->computed = expr_is_dynamic(v) ? v : NULL;
    if (expr_is_whole(v))
        return 0; /* known when it is evaluated */
    own.may_be_empty = true;
    if (params_decode(arena, config_health_params, &policy, plain_times(arena, v, &dynamic), &args,
                      diags) < 0)
        result = -1;
    if (v->kind != VALUE_MAP)
        return -1;
    dynamic.program.user_identity = args.program.user_identity;
    dynamic.program.no_new_privileges = args.program.no_new_privileges;
    if (dynamic.test &&
        (config_given(dynamic.program.command) || config_given(dynamic.program.run)))
        return value_diag(diags, dynamic.test,
                          "%s: 'test', 'command' and 'run' are mutually exclusive", whose);
    if (dynamic.test && read_health_test(arena, dynamic.test, &dynamic.program, &none, diags) < 0)
        return -1;
    ret->given = !none;
    if (!none &&
        config_program_read(arena, &dynamic.program, &own, whose, v, &ret->program, diags) < 0)
        result = -1;
    ret->interval = args.interval;
    ret->timeout = args.timeout;
    ret->start_period = args.start_period;
    ret->retries = args.retries;
    return result;
}
